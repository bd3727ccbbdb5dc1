"""What a closed program met, told from its requests: masked, surfaced, not reached."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench import content
from hfr_bench.faults.blackbox import Seen, summed
from hfr_bench.faults.cursor import Cursor
from hfr_bench.model.schedule import FaultEvent, FaultSchedule, Lasts
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import UpstreamHit

KINDS = content.kinds()
POINT = "model:agent"


def event(kind: str, occurrence: int = 1, attempt: int = 1, **fields: Any) -> FaultEvent:
    return FaultEvent(
        injection_id=f"{kind}@{occurrence}.{attempt}",
        layer=Layer.MODEL,
        kind=kind,
        point=POINT,
        occurrence=occurrence,
        attempt=attempt,
        **fields,
    )


def plan(*events: FaultEvent) -> FaultSchedule:
    return FaultSchedule(
        schedule_id="s", suite="s", task_id="t", seed=1, profile="p", rate=0.1, generator="g",
        horizon=9, events=events,
    )  # fmt: skip


def call(occurrence: int, attempt: int = 1, *, met: FaultEvent | None = None, **fields: Any) -> Any:
    status = 200 if met is None or KINDS[met.kind].silent else None
    values: dict[str, Any] = {
        "point": POINT, "occurrence": occurrence, "attempt": attempt, "target": "m",
        "told": False, "forwarded": status is not None, "upstream_status": status,
        "injection_id": met and met.injection_id, "kind": met and met.kind,
        "request_digest": f"r{occurrence}",
    }  # fmt: skip
    return UpstreamHit(**(values | fields))


def fates(schedule: FaultSchedule, *hits: UpstreamHit, **fields: Any) -> list[str]:
    return [one.fate for one in told(schedule, *hits, **fields).fates]


def told(schedule: FaultSchedule, *hits: UpstreamHit, **fields: Any) -> Any:
    return summed([Seen(hit, n * 100) for n, hit in enumerate(hits)], schedule, KINDS, **fields)


BUSY = event("model_503")
BAD = event("model_malformed_tool_call", attempt=2)


@pytest.mark.parametrize(
    ("hits", "fate"),
    [
        ((), "not_reached"),
        ((call(1, met=BUSY), call(1, 2)), "masked"),
        ((call(1, met=BUSY), call(1, 2, upstream_status=500), call(1, 3)), "masked"),
        ((call(1, met=BUSY),), "surfaced"),
        ((call(1, met=BUSY), call(1, 2, upstream_status=500)), "surfaced"),
        ((call(1, met=BUSY), call(1, 2, request_digest="other")), "surfaced"),
        ((call(1, met=BUSY), call(2)), "surfaced"),
    ],
)
def test_a_fault_is_masked_if_the_same_request_was_answered_in_the_end(
    hits: tuple[UpstreamHit, ...], fate: str
) -> None:
    assert fates(plan(BUSY), *hits) == [fate]


def test_an_altered_answer_surfaces_and_masks_what_came_before_it() -> None:
    hits = (call(1, met=BUSY), call(1, 2, met=BAD), call(2))
    assert fates(plan(BUSY, BAD), *hits) == ["masked", "surfaced"]


def test_waiting_is_from_the_last_that_met_it_to_the_next_of_its_step() -> None:
    long = event("model_503", lasts=Lasts(n=2))
    found = told(plan(long), call(1, met=long), call(1, 2, met=long), call(1, 3))
    (fate,) = found.fates
    assert (fate.attempts, fate.waited_us, found.repeated) == (2, 100, 2)


def test_requests_that_are_no_model_calls_are_counted_and_nothing_else() -> None:
    other = call(1).model_copy(update={"point": "wire:models", "upstream_status": 404})
    found = told(plan(BUSY), other)
    assert (found.requests, found.attempts, found.steps, found.valid) == (1, 0, 0, True)


def test_what_met_something_else_than_was_planned_is_not_valid() -> None:
    assert told(plan(BUSY), call(1)).unplanned == 1
    assert told(plan(), call(1, met=BUSY)).unplanned == 1
    off = told(plan(BUSY), call(1), switched_off=True)
    assert (off.unplanned, off.valid) == (0, False)


def test_a_model_server_that_fails_by_itself_is_not_valid() -> None:
    found = told(plan(), call(1, upstream_status=None, forwarded=False))
    assert (found.organic, found.valid) == (1, False)


UNITS = st.sampled_from(["attempts", "target", "trial"])


@given(
    planned=st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 3), UNITS, st.integers(1, 3)), max_size=5
    ),
    tries=st.lists(st.integers(1, 5), max_size=4),
)
def test_the_cursors_way_through_any_schedule_is_the_planned_one(
    planned: list[Any], tries: list[int]
) -> None:
    """Nothing is unplanned, every event has one fate, and reached are those that were played."""
    events = [
        event("model_503", at, first, lasts=Lasts(unit=unit, n=n)).model_copy(
            update={"injection_id": f"e{number}"}
        )
        for number, (at, first, unit, n) in enumerate(planned)
    ]
    cursor, hits = Cursor(events), []
    for occurrence, attempts in enumerate(tries, 1):
        for attempt in range(1, attempts + 1):
            met = cursor.at(POINT, occurrence, attempt, target="m", now_us=len(hits) * 100)
            hits.append(call(occurrence, attempt, met=met))
            if met is None:
                break
    found = told(plan(*events), *hits)
    assert found.unplanned == 0
    assert [one.injection_id for one in found.fates] == [one.injection_id for one in events]
    played = {hit.injection_id for hit in hits if hit.injection_id}
    assert {one.injection_id for one in found.fates if one.fate != "not_reached"} == played
    assert found.reached == len(played)
