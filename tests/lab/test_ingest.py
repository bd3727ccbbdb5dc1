"""What twins are told apart by: what a trial did, not where it stood, when, or under which name."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hfr_bench.lab import decode
from hfr_bench.lab.ingest import behaviour
from hfr_bench.testing.bundled import trace

Change = Callable[[list[dict[str, Any]]], None]


def told(data: bytes) -> str:
    lines = data.splitlines()
    events = decode.trace_events(lines)
    assert events is not None
    return behaviour(lines, events, events[0].trial_id)


def changed(data: bytes, change: Change) -> bytes:
    events = [json.loads(line) for line in data.splitlines()]
    change(events)
    return b"\n".join(json.dumps(one, separators=(",", ":")).encode() for one in events)


def elsewhere(events: list[dict[str, Any]]) -> None:
    events[0]["body"] |= {"pair_group": "other", "round": 2, "sandbox": "docker", "profile": "calm"}
    events[-1]["body"]["result"] |= {"pair_group": "other", "round": 2}


def at_another_time(events: list[dict[str, Any]]) -> None:
    for one in events:
        one |= {"wall_us": one["wall_us"] + 1, "prev": "0"}


def without_hits(events: list[dict[str, Any]]) -> None:
    kept = [one for one in events if one["body"]["type"] != "upstream_hit"]
    assert len(kept) < len(events)
    events[:] = [one | {"seq": number} for number, one in enumerate(kept, 1)]


def later(events: list[dict[str, Any]]) -> None:
    events[-1]["t_us"] += 1


def in_another_step(events: list[dict[str, Any]]) -> None:
    events[-2]["step"] += 1


def with_another_task(events: list[dict[str, Any]]) -> None:
    events[0]["body"]["expected"] = {"more": 1}


def with_another_result(events: list[dict[str, Any]]) -> None:
    events[-1]["body"]["result"]["tokens_in"] += 1


def with_another_answer(events: list[dict[str, Any]]) -> None:
    seen = next(one["body"] for one in events if one["body"]["type"] == "attempt_ended")
    seen["latency_us"] += 1


@pytest.fixture(scope="module")
def data(toy_bundle) -> bytes:
    return trace(toy_bundle).read_bytes()


@pytest.mark.parametrize("change", [elsewhere, at_another_time, without_hits])
def test_what_is_not_behaviour(data: bytes, change: Change) -> None:
    assert told(changed(data, change)) == told(data)


def test_its_name_is_not_behaviour(data: bytes) -> None:
    name = json.loads(data.splitlines()[0])["trial_id"].encode()
    assert data.count(name) > len(data.splitlines())  # operations are named after it
    assert told(data.replace(name, b"another")) == told(data)


@pytest.mark.parametrize(
    "change",
    [later, in_another_step, with_another_task, with_another_result, with_another_answer],
)
def test_what_is(data: bytes, change: Change) -> None:
    assert told(changed(data, change)) != told(data)
