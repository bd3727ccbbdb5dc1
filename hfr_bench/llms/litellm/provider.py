"""One completion by litellm, once: what it says as an OpenAI answer, what it raises sorted out.

litellm is imported here only (two CPU-seconds, 150 MB), in the process that serves.
"""

import os
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from hfr_bench.errors import BadInputError
from hfr_bench.model.price import tokens

# Each of these would be fetched from the network at import or at the first call.
_OFFLINE = ("MODEL_COST_MAP", "ANTHROPIC_BETA_HEADERS", "BLOG_POSTS", "POLICY_TEMPLATES",
            "AUTOROUTER_PRESETS")  # fmt: skip
_SECRET = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.I)
_SHORTEST = 8

PARAMETERS = frozenset((
    "frequency_penalty", "logit_bias", "max_completion_tokens", "max_tokens",
    "parallel_tool_calls", "presence_penalty", "reasoning_effort", "response_format", "seed",
    "stop", "temperature", "tool_choice", "tools", "top_p",
))  # fmt: skip
"""What a request may set; anything else (above all keys and addresses) is not the agent's."""


class Answer(NamedTuple):
    """What goes back over the wire. `tokens`: prompt and completion; None = not said."""

    status: int
    body: dict[str, Any]
    tokens: tuple[int, int] | None = None


class OrganicError(Exception):
    """The provider failed, and nobody injected it. Its text holds nothing of the provider's.

    `again`: worth another try. `after_s`: what its Retry-After asks for.
    """

    def __init__(self, what: str, *, again: bool, after_s: float = 0.0) -> None:
        super().__init__(what)
        self.again = again
        self.after_s = after_s


class Provider:
    """litellm with everything of its own switched off: retries, cache, callbacks, downloads."""

    def __init__(self, fixed: Mapping[str, Any]) -> None:
        for name in _OFFLINE:
            os.environ[f"LITELLM_LOCAL_{name}"] = "True"
        self._litellm: Any = import_module("litellm")
        quiet: dict[str, Any] = {"suppress_debug_info": True, "num_retries": 0, "cache": None}
        quiet |= {name: [] for name in ("callbacks", "success_callback", "failure_callback")}
        for name, value in quiet.items():
            setattr(self._litellm, name, value)
        self._fixed = dict(fixed)

    def check(self, models: tuple[str, ...]) -> None:
        """Raises BadInputError naming a missing variable, or a model without a known provider."""
        for model in models:
            try:
                self._litellm.get_llm_provider(model)
            except self._litellm.exceptions.BadRequestError as error:
                raise BadInputError(
                    f"model.config.models: litellm knows no provider for {model!r}; names look "
                    "like openai/gpt-… or anthropic/claude-…"
                ) from error
            missing = self._litellm.validate_environment(model)["missing_keys"]
            if missing and not self._fixed.get("api_key"):
                raise BadInputError(f"{model}: set {' and '.join(missing)} in the environment")

    def complete(self, request: Mapping[str, Any], timeout_s: float) -> Answer:
        """One try, of no retries. Raises OrganicError for what is not the arm's to see."""
        asked = {key: request[key] for key in PARAMETERS & request.keys()}
        try:
            made = self._litellm.completion(
                model=request["model"],
                messages=request["messages"],
                timeout=timeout_s,
                num_retries=0,
                max_retries=0,
                caching=False,
                **(asked | self._fixed),
            )
        except Exception as error:  # noqa: BLE001 - litellm's have no root of their own
            return _refusal(error)
        return _completion(made.model_dump())


def _completion(made: Mapping[str, Any]) -> Answer:
    """Plain OpenAI: what litellm adds for a provider would go back to it with the next request."""
    choice = made["choices"][0]
    said = choice["message"]
    message: dict[str, Any] = {"role": "assistant", "content": said.get("content")}
    if calls := said.get("tool_calls"):
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {key: call["function"][key] for key in ("name", "arguments")},
            }
            for call in calls
        ]
    usage = made.get("usage") or {}
    said = tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"))
    body = {
        "id": made.get("id"),
        "object": "chat.completion",
        "created": made.get("created"),
        "model": made.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": choice["finish_reason"]}],
    }
    if said is not None:
        body["usage"] = {
            "prompt_tokens": said[0],
            "completion_tokens": said[1],
            "total_tokens": sum(said),
        }
    return Answer(200, body, said)


def _refusal(error: Exception) -> Answer:
    """A request that is wrong by itself is answered; all else is organic."""
    status = getattr(error, "status_code", None)
    name = type(error).__name__
    if status in (400, 413, 422):
        detail = {"message": scrub(str(error)), "type": "invalid_request_error",
                  "param": None, "code": getattr(error, "code", None)}  # fmt: skip
        return Answer(status, {"error": detail})
    what = f"{name}, HTTP {status}" if isinstance(status, int) else name
    if status in (401, 403, 404):
        what += "; check the key and the model's name"
        raise OrganicError(what, again=False) from None
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    raise OrganicError(what, again=True, after_s=_seconds(headers.get("retry-after"))) from None


def _seconds(text: str | None) -> float:
    """Retry-After in seconds; its other form, a date, is left to the back-off."""
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0


def scrub(text: str) -> str:
    """The text without any secret of the environment."""
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value.strip()) >= _SHORTEST:
            text = text.replace(value.strip(), f"[${name}]")
    return text
