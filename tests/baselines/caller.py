"""A program of its own: calls a provider through a library, case by case.

It reads what to do from stdin (`kind`, `url`, `cases`, `timeout_s`) and prints when each call was
given up (monotonic seconds), as JSON, or what it would need. It imports nothing of ours.
"""

import importlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

MESSAGES = [{"role": "user", "content": "x"}]


def by_sdk(url, timeout_s):
    openai = importlib.import_module("openai")
    client = openai.OpenAI(api_key="k", base_url=f"{url}/v1", timeout=timeout_s)
    return lambda: client.chat.completions.create(model="m", messages=MESSAGES)


def by_router(url, timeout_s):
    litellm = importlib.import_module("litellm")
    own = {"model": "openai/m", "api_base": f"{url}/v1", "api_key": "k", "timeout": timeout_s}
    router = litellm.Router([{"model_name": "g", "litellm_params": own}], num_retries=2)
    return lambda: router.completion(model="g", messages=MESSAGES)


def by_completion(model):
    def prepare(url, timeout_s):
        litellm = importlib.import_module("litellm")
        importlib.import_module("tenacity")  # litellm needs it, and does not ask for it
        own = {"api_base": f"{url}/v1", "api_key": "k", "timeout": timeout_s}
        return lambda: litellm.completion(model=model, messages=MESSAGES, num_retries=2, **own)

    return prepare


KINDS = {
    "sdk": by_sdk,
    "router": by_router,
    "completion-openai": by_completion("openai/m"),
    "completion-anthropic": by_completion("anthropic/claude-3-5-haiku-20241022"),
}


def ended(call):
    try:
        call()
    except Exception:  # noqa: BLE001 - whatever it raises, it has given up
        return time.monotonic()
    raise AssertionError("the provider never answers")


def main():
    asked = json.load(sys.stdin)
    prepare = KINDS[asked["kind"]]
    try:
        calls = [
            prepare(f"{asked['url']}/{asked['kind']}/{number}", asked["timeout_s"])
            for number in range(len(asked["cases"]))
        ]
    except ImportError as error:
        sys.stdout.write(json.dumps({"missing": error.name}))
        return
    with ThreadPoolExecutor(8) as pool:
        times = list(pool.map(ended, calls))
    sys.stdout.write(json.dumps(dict(zip(asked["cases"], times, strict=True))))


if __name__ == "__main__":
    main()
