"""Every arm of the house plan can be had by name, and docs/arms.md tells of every strategy."""

import re
from pathlib import Path

import pytest

from hfr_bench import plugins

ARMS = (
    "no_retry",
    "fixed_retry",
    "exp_retry",
    "degrade_only",
    "hfr",
    "suite_default",
    "sdk_default",
    "tenacity",
    "litellm_router",
    "litellm_completion",
    "tiered",
    "exp_retry+reconcile",
    "exp_retry+verifier",
    "always_escalate",
    "random_legal",
    "blind_resend",
    "oracle_recovery",
)
DOCS = Path(__file__).resolve().parents[2] / "docs" / "arms.md"


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_is_registered_under_its_own_name(name: str) -> None:
    assert name in plugins.offered("strategies")
    assert getattr(plugins.find("strategies", name), "name", name) == name


def test_every_strategy_is_told_of() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(ARMS) <= set(rows)
    assert set(plugins.offered("strategies")) <= set(rows), "docs/arms.md lacks a strategy"
