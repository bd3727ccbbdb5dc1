"""A program of its own: calls a provider through its own SDK, and tells what that raised.

It reads from stdin `sdk`, `timeout_s` and `cases` (name -> {"url", "streamed"}) and prints, as
JSON, for each case the classes of what was raised, or what was returned. It imports nothing of
ours.
"""

import importlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor

MESSAGES = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}}
TOOL = {"name": "order", "parameters": SCHEMA}


def openai_chat(url, timeout_s, streamed):
    openai = importlib.import_module("openai")
    client = openai.OpenAI(api_key="k", base_url=f"{url}/v1", timeout=timeout_s, max_retries=0)
    tools = [{"type": "function", "function": TOOL}]
    asked = {"model": "m", "messages": MESSAGES, "tools": tools}
    if not streamed:
        return client.chat.completions.create(**asked).model_dump()
    chunks = list(client.chat.completions.create(**asked, stream=True))
    return {"chunks": [chunk.model_dump() for chunk in chunks]}


def openai_responses(url, timeout_s, streamed):
    openai = importlib.import_module("openai")
    client = openai.OpenAI(api_key="k", base_url=f"{url}/v1", timeout=timeout_s, max_retries=0)
    asked = {"model": "m", "input": "hi", "tools": [{"type": "function", **TOOL}]}
    if not streamed:
        return client.responses.create(**asked).model_dump()
    with client.responses.stream(**asked) as stream:
        return stream.get_final_response().model_dump()


def anthropic(url, timeout_s, streamed):
    sdk = importlib.import_module("anthropic")
    client = sdk.Anthropic(api_key="k", base_url=url, timeout=timeout_s, max_retries=0)
    tools = [{"name": "order", "input_schema": SCHEMA}]
    asked = {"model": "m", "max_tokens": 9, "messages": MESSAGES, "tools": tools}
    if not streamed:
        return client.messages.create(**asked).model_dump()
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message().model_dump()


def gemini(url, timeout_s, streamed):
    genai = importlib.import_module("google.genai")
    types = importlib.import_module("google.genai.types")
    options = types.HttpOptions(base_url=url, timeout=round(timeout_s * 1000))
    client = genai.Client(api_key="k", http_options=options)
    declared = types.FunctionDeclaration(name="order", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declared])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    asked = {"model": "m", "contents": "hi", "config": config}
    if not streamed:
        return client.models.generate_content(**asked).model_dump(mode="json")
    chunks = list(client.models.generate_content_stream(**asked))
    return {"chunks": [chunk.model_dump(mode="json") for chunk in chunks]}


def litellm(model, base):
    def call(url, timeout_s, streamed):
        library = importlib.import_module("litellm")
        tools = [{"type": "function", "function": TOOL}]
        answer = library.completion(
            model=model, messages=MESSAGES, tools=tools, api_key="k", api_base=f"{url}{base}",
            timeout=timeout_s, num_retries=0, max_retries=0, stream=streamed,
        )  # fmt: skip
        if streamed:
            return {"chunks": [chunk.model_dump() for chunk in answer]}
        return answer.model_dump()

    return call


SDKS = {
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "litellm_openai": litellm("openai/m", "/v1"),
    "litellm_anthropic": litellm("anthropic/m", ""),
    "litellm_gemini": litellm("gemini/m", "/v1beta"),
}
NEEDS = {"openai_chat": "openai", "openai_responses": "openai", "gemini": "google.genai"}


def met(call, case, timeout_s):
    """What a call came to: the classes of what it raised (most special first), or an answer."""
    try:
        found = call(case["url"], timeout_s, case["streamed"])
    except ImportError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is asked for
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        classes = [kind.__name__ for kind in type(error).__mro__]
        return {"raised": classes, "status": status, "text": str(error)[:300]}
    return {"answer": json.dumps(found, default=str)}


def main():
    asked = json.load(sys.stdin)
    name = asked["sdk"]
    needed = NEEDS.get(name, name.split("_", maxsplit=1)[0])
    try:
        importlib.import_module(needed)
    except ImportError:
        sys.stdout.write(json.dumps({"missing": needed}))
        return
    call, cases = SDKS[name], asked["cases"]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda case: met(call, case, asked["timeout_s"]), cases.values())
        told = dict(zip(cases, found, strict=True))
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
