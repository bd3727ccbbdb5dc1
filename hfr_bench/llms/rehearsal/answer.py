"""A request to the stand-in and its answer, as bytes: no socket, no time, no chance but draws."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from hfr_bench.llms.rehearsal.prices import Tier
from hfr_bench.llms.rehearsal.script import Script
from hfr_bench.llms.rehearsal.turn import Draw, Turn, draws, take

NEEDED = ("suite", "task", "seed", "point", "occurrence", "attempt")
_JITTER = 0.2


class Reply(NamedTuple):
    """What goes out. `latency_us` None: nothing was worked on, nothing is announced."""

    status: int
    body: bytes
    latency_us: int | None = None


class Desk:
    """Answers chat completions for the tasks it was given. Stateless between requests."""

    def __init__(
        self, tiers: Mapping[str, Tier], scripts: Mapping[tuple[str, str], Script]
    ) -> None:
        self._tiers = tiers
        self._scripts = scripts

    def answer(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """The completion that belongs to these coordinates and messages, or an error."""
        if missing := [name for name in NEEDED if not headers.get(f"x-hfr-{name}")]:
            lacks = ", ".join(f"x-hfr-{name}" for name in missing)
            return refuse(400, "missing_coordinates", f"the request lacks the headers {lacks}")
        try:
            request = json.loads(body)
            model, messages = request["model"], request["messages"]
            if not isinstance(model, str) or not all(isinstance(m, dict) for m in messages):
                raise TypeError("model must be a string, messages a list of objects")
        except (ValueError, LookupError, TypeError) as error:
            return refuse(400, "invalid_json", f"not a chat completion request: {error!r}")
        tier = self._tiers.get(model)
        if tier is None:
            offered = ", ".join(self._tiers)
            return refuse(404, "model_not_found", f"no model {model!r}; there are: {offered}")
        named = [headers[f"x-hfr-{name}"] for name in NEEDED]
        script = self._scripts.get((named[0], named[1]))
        if script is None:
            return refuse(404, "unknown_task", f"no task {named[1]!r} of suite {named[0]!r} here")
        draw = draws(*named[:-1], model)  # all but the attempt
        turn = take(script, messages, tier.success_rate, draw)
        digest = hashlib.sha256("\0".join(named).encode() + b"\0" + body).hexdigest()
        return Reply(200, _completion(turn, model, digest, len(body)), _latency(tier, draw))


def refuse(status: int, code: str, message: str) -> Reply:
    """An error in the provider's shape."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Reply(status, json.dumps({"error": error}).encode())


def _latency(tier: Tier, draw: Draw) -> int:
    return round(tier.latency_us * (1 + _JITTER * (2 * draw("latency") - 1)))


def _completion(turn: Turn, model: str, digest: str, asked: int) -> bytes:
    """A turn as a chat completion. Tokens are estimated at four characters each."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    said = turn.text
    if turn.step is not None:
        said = json.dumps(turn.arguments, ensure_ascii=False)
        function = {"name": turn.tool, "arguments": said}
        name = f"call_{turn.step}_{turn.tried}"
        message["tool_calls"] = [{"id": name, "type": "function", "function": function}]
    tokens_in, tokens_out = asked // 4, max(1, len(said) // 4)
    finish = "stop" if turn.step is None else "tool_calls"
    completion = {
        "id": f"chatcmpl-{digest[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }
    return json.dumps(completion, ensure_ascii=False).encode()
