"""Shorter conversations that a model service still takes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.lab.compressing import KEEP, RESULT_CHARS, ModelSummary, RollingSummary
from hfr_bench.model.attempt import Observation
from hfr_bench.testing.fakes import FakeModel, lost


def nobody(_: Any) -> Observation:
    raise AssertionError("nobody is asked")


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """System, user, then turns as an agent makes them: calls with all their answers, and talk."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "Keep shop."}]
    texts = st.integers(0, 3 * RESULT_CHARS).map(lambda n: "x" * n)
    for turn in range(draw(st.integers(1, 6))):
        said.append({"role": "user", "content": draw(texts)})
        for n in range(draw(st.integers(0, 3))):
            ids = [f"c{turn}.{n}.{k}" for k in range(draw(st.integers(1, 3)))]
            calls = [{"id": i, "function": {"name": "look", "arguments": "{}"}} for i in ids]
            said.append({"role": "assistant", "content": None, "tool_calls": calls})
            said += [{"role": "tool", "tool_call_id": i, "content": draw(texts)} for i in ids]
        said.append({"role": "assistant", "content": draw(texts)})
    return said[: draw(st.integers(1, len(said)))]


def whole(messages: list[Any]) -> bool:
    """Every answer follows its call, at once and in order."""
    expected: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not expected or message["tool_call_id"] != expected.pop(0):
                return False
            continue
        expected = [call["id"] for call in message.get("tool_calls") or ()]
    return True


def size(messages: list[Any]) -> int:
    return sum(len(str(message)) for message in messages)


@given(conversations())
def test_what_must_stay_stays_and_no_answer_loses_its_call(said: list[Any]) -> None:
    shorter: list[Any] = said
    for _ in range(30):
        before, shorter = shorter, RollingSummary().compress(shorter, nobody)
        assert size(shorter) <= size(before)
        assert whole(shorter)
        assert shorter[: min(2, len(said))] == said[:2]
        assert shorter[-KEEP:] == said[-KEEP:] or len(shorter) <= KEEP
        if shorter == before:
            break
    assert shorter == RollingSummary().compress(shorter, nobody)  # it comes to an end


def test_it_is_the_older_results_that_are_shortened_first() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "a"}]}
    said: list[Any] = [
        {"role": "system", "content": "s" * 1000},
        {"role": "user", "content": "u" * 1000},
        call,
        {"role": "tool", "tool_call_id": "a", "content": "r" * 1000},
        call,
        {"role": "tool", "tool_call_id": "a", "content": "last" * 250},
    ]
    once = RollingSummary(keep=2).compress(said, nobody)
    assert once[3]["content"] == "r" * RESULT_CHARS + " […]"
    assert (once[:3], once[4:]) == (said[:3], said[4:])
    assert RollingSummary(keep=2).compress(once, nobody) == [*said[:2], *said[4:]]


def test_a_model_sums_up_all_but_head_and_last_turns() -> None:
    asked: list[Any] = []

    def ask(payload: Any) -> Observation:
        asked.append(payload["messages"])
        return FakeModel.says("in short")

    said = [{"role": "system", "content": "s"}] + [
        {"role": role, "content": str(n)} for n in range(5) for role in ("user", "assistant")
    ]
    made = ModelSummary(keep=2).compress(said, ask)
    assert made == [
        *said[:2],
        {"role": "user", "content": "Summary so far: in short"},
        *said[-2:],
    ]
    assert asked[0][:-1] == said[:-2]


def test_without_an_answer_or_anything_to_sum_up_it_stays_as_it_is() -> None:
    said = [{"role": "user", "content": str(n)} for n in range(9)]
    assert ModelSummary(keep=2).compress(said, lambda _: lost()) == said
    assert ModelSummary(keep=2).compress(said, lambda _: FakeModel.says("")) == said
    assert ModelSummary(keep=8).compress(said, nobody) == said
