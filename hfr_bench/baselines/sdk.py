"""`sdk_default`: what the openai SDK does by itself when nobody configures anything."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.baselines._rules import SDK_LONGEST_S, sdk_retries, sdk_wait_us
from hfr_bench.faults.draw import uniform
from hfr_bench.model.attempt import Attempted, Decision
from hfr_bench.model.terms import Action, Channel
from hfr_bench.recovery.plain import Plain


class SdkDefault(Plain):
    """The openai SDK's own retries of model calls; tools are not its business (openai 3.57).

    Two retries after no answer, 408, 409, 429 or 5xx, or as `x-should-retry` says. Waits: the
    stated one up to `longest_wait_s` (a longer one is not waited for: the call fails), else 0.5 s
    * 2^n up to 8 s, less up to 25 %. Releases up to 2.x honoured up to 60 s and fell back to their
    own wait beyond. A failed tool call goes to the agent (REPLAN) at once, which is what the usual
    agent loop around an SDK does: it writes the error into the conversation.
    """

    name = "sdk_default"
    defaults: Mapping[str, Any] = {"max_retries": 2, "longest_wait_s": SDK_LONGEST_S}

    def on_failure(self, event: Attempted) -> Decision:
        view, seen = event.view, event.observation
        if view.intent.channel is Channel.TOOL:
            return Decision(Action.REPLAN, "the error is shown to the agent")
        taken, longest_s = view.attempts - 1, self._config["longest_wait_s"]
        if taken >= self._config["max_retries"] or not sdk_retries(seen, longest_s):
            return Decision(Action.FAIL, "the SDK raises")
        u = uniform("jitter", *self._kit.chance_key, view.step, view.attempts)
        wait_us = sdk_wait_us(seen, taken, longest_s, u)
        return Decision(Action.RETRY, "the SDK's retry", delay_us=wait_us, debit=1)
