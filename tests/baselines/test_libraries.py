"""Our rules against the real libraries, over HTTP: hit by hit, wait by wait.

Skipped where a library is not installed (see conftest): they are no dependencies of ours. All but
the SDK's take most of a minute, which they wait: `make test-slow`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from hfr_bench.baselines.litellm import LitellmCompletion, LitellmRouter
from hfr_bench.baselines.sdk import SdkDefault
from hfr_bench.recovery.kit import Kit

from .conftest import agrees, expected

OURS: dict[str, tuple[type, dict[str, Any]]] = {
    "sdk": (SdkDefault, {}),
    "router": (LitellmRouter, {}),
    "completion-openai": (LitellmCompletion, {"through_sdk": True}),
    "completion-anthropic": (LitellmCompletion, {}),
}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "sdk" else pytest.mark.slow) for kind in OURS]
)
def test_a_rule_does_what_its_library_does(kind: str, library: Callable[[str], Any]) -> None:
    strategy, config = OURS[kind]
    wrong = {}
    for case, heard in library(kind).items():
        rule = expected(lambda number: strategy(config, Kit(chance_key=(number,))), case)
        if why := agrees(heard, rule):
            wrong[case] = why
    assert not wrong
