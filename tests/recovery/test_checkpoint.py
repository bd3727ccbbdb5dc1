"""When a checkpoint is due, how it is sealed, and what drift is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.errors import HfrError
from hfr_bench.model.attempt import Decision, LedgerMove
from hfr_bench.model.ledger import Checkpoint, CheckpointPoint
from hfr_bench.model.record import json_digest
from hfr_bench.model.terms import Action, LedgerState
from hfr_bench.recovery.checkpoint import CheckpointCorruptError, drift, due, open_sealed, seal

S, P = LedgerState, CheckpointPoint


def decision(action: Action, *to: LedgerState) -> Decision:
    return Decision(action, moves=tuple(LedgerMove("k", "s", state, "pay") for state in to))


@pytest.mark.parametrize(
    ("decided", "point"),
    [
        (decision(Action.DISPATCH), None),
        (decision(Action.RETRY), None),
        (decision(Action.ACCEPT), None),
        (decision(Action.RECONCILE, S.UNKNOWN), None),
        (decision(Action.RETRY, S.FAILED), None),
        (decision(Action.DISPATCH, S.PREPARED), P.PREPARED),
        (decision(Action.RETRY, S.RECONCILED_ABSENT, S.PREPARED), P.PREPARED),
        (decision(Action.ACCEPT, S.COMMITTED), P.COMMITTED),
        (decision(Action.ACCEPT, S.RECONCILED_COMMITTED), P.COMMITTED),
        (decision(Action.COMPRESS), P.DEGRADED),
        (decision(Action.DEGRADE_MODEL), P.DEGRADED),
        (decision(Action.DEGRADE_TOOL, S.FAILED), P.DEGRADED),
        (decision(Action.DEGRADE_SCOPE), P.DEGRADED),
        (decision(Action.ESCALATE), P.ESCALATING),
        (decision(Action.ESCALATE, S.COMMITTED), P.ESCALATING),
    ],
)
def test_the_five_moments(decided: Decision, point: CheckpointPoint | None) -> None:
    assert due(decided) is point


def test_there_are_five() -> None:
    assert len(P) == 5


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
states = st.dictionaries(st.text(max_size=5), json_values, max_size=4)


def made(**fields: Any) -> Checkpoint:
    return Checkpoint(**{"trial_id": "t", "seq": 1, "at_us": 5, **fields})


@given(states, states)
def test_what_is_sealed_comes_back_the_same(strategy: dict[str, Any], agent: dict[str, Any]):
    checkpoint = made(strategy_state=strategy, agent_state=agent, point=P.DEGRADED)
    line = seal(checkpoint)
    assert line.isascii()
    assert line.count("\n") == 1
    assert open_sealed(line) == open_sealed(line.encode()) == checkpoint


def test_the_seal_does_not_depend_on_the_order_of_keys() -> None:
    assert seal(made(strategy_state={"a": 1, "b": 2})) == seal(
        made(strategy_state={"b": 2, "a": 1})
    )


SEALED = seal(made(strategy_state={"left": 3, "ledger": {"k": "UNKNOWN"}}, config_digest="abc"))


@given(st.integers(0, len(SEALED) - 2), st.integers(0, 127))
def test_a_changed_character_is_noticed_or_changes_nothing(at: int, code: int) -> None:
    altered = SEALED[:at] + chr(code) + SEALED[at + 1 :]
    try:
        found = open_sealed(altered)
    except CheckpointCorruptError:
        return
    assert found == open_sealed(SEALED)


@given(st.integers(0, len(SEALED) - 2))
def test_a_torn_line_is_noticed(length: int) -> None:
    with pytest.raises(CheckpointCorruptError):
        open_sealed(SEALED[:length])


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "7", "[" * 100_000, b"\xff\xfe\x00"])
def test_what_is_no_checkpoint_is_said_to_be_none(text: str | bytes) -> None:
    with pytest.raises(CheckpointCorruptError, match="not a sealed checkpoint"):
        open_sealed(text)


def test_an_altered_state_names_both_sums_and_another_format_itself() -> None:
    altered = json.loads(SEALED)
    altered["checkpoint"]["strategy_state"]["left"] = 4
    with pytest.raises(CheckpointCorruptError, match=r"checksum \w{12}…, not \w{12}…: altered"):
        open_sealed(json.dumps(altered))
    altered["format"] = 2
    with pytest.raises(CheckpointCorruptError, match="checkpoint format 2, not 1"):
        open_sealed(json.dumps(altered))


def test_a_sealed_thing_of_another_kind_is_refused() -> None:
    content = {"trial_id": "t", "seq": 1, "at_us": 5, "of_another_version": True}
    sealed = json.loads(SEALED) | {"checkpoint": content}
    sealed["sha256"] = json_digest(content)
    with pytest.raises(CheckpointCorruptError, match="not a checkpoint of this version"):
        open_sealed(json.dumps(sealed))


def test_a_state_that_is_not_json_cannot_be_sealed() -> None:
    for state in ({"x": float("nan")}, {"x": [float("inf")]}, {"x": object()}, {"x": {1, 2}}):
        with pytest.raises(ValueError, match="checkpoint 1 of trial t: its state is not JSON"):
            seal(made(strategy_state=state))


def test_the_error_is_one_of_ours_and_a_value_error() -> None:
    assert issubclass(CheckpointCorruptError, HfrError)
    assert issubclass(CheckpointCorruptError, ValueError)


def test_drift_is_told_in_words() -> None:
    old = made(config_digest="aaaaaaaaaaaaaaaa", version="1.0")
    assert drift(old, "aaaaaaaaaaaaaaaa", "1.0") is None
    assert drift(old, "aaaaaaaaaaaaaaaa") is None
    assert drift(made(), "b", "2") is None
    assert drift(old, "b", "1.0") == "configuration aaaaaaaaaaaa then, b now"
    assert (
        drift(old, "b", "1.1")
        == "configuration aaaaaaaaaaaa then, b now; version 1.0 then, 1.1 now"
    )
