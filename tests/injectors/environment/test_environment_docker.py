"""Every kind in real containers: what is reached is delivered, and what really happened is told."""

from typing import Any

import pytest

from hfr_bench.model.schedule import Lasts
from hfr_bench.testing.breaking import check_bears
from hfr_bench.testing.shop import agent_step
from hfr_bench.testing.stockroom import bookings

from .conftest import TASK, fault

pytestmark = pytest.mark.docker

TOOL_OF = {
    "env_pause": "book",
    "env_process_stall": "book",
    "env_process_crash": "book",
    "env_disk_full": "book",
    "env_oom": "count",
    "env_partition": "quote",
}


@pytest.mark.parametrize("n", [1, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", TOOL_OF)
def test_what_is_reached_is_delivered(kind: str, n: int, room: Any) -> None:
    tool = TOOL_OF[kind]
    faults = [fault(kind, f"tool:{tool}", number) for number in range(1, n + 1)]
    ended = room.run(bookings(tool, n), faults)
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": n, "reached": n, "delivered": n}
    assert len(ended.looks("healed")) == n
    assert not room.world.host.standing


def test_what_a_killed_command_had_done_stays(room: Any) -> None:
    kind = "env_process_crash"
    with room.striking(kind, after_ms=1000, work_s=2.5):  # a busy machine takes long to get there
        ended = room.run(bookings("book", 2), [fault(kind, "tool:book")])
    assert ended.wrong == ()
    assert room.world.entries() == (("book 1", False), ("book 2", True))
    first, second = ended.bodies("attempt_ended")
    assert (first.exit_code, first.domain_error, first.answered) == (137, True, True)
    assert (second.exit_code, second.domain_error) == (0, False)
    assert ended.bodies("effect")[0].changed == ("000 7",)


def test_a_full_disk_leaves_an_empty_file(room: Any) -> None:
    ended = room.run(bookings("book", 1), [fault("env_disk_full", "tool:book")])
    assert ended.wrong == ()
    assert ended.bodies("attempt_ended")[0].signs == ("ENOSPC",)
    assert room.world.entries() == (("", False),)
    assert ended.bodies("effect")[0].changed == ("000 0",)


def test_one_port_of_one_host_is_out_of_reach_and_no_other(room: Any) -> None:
    """As root on the engine's machine by a rule; elsewhere the host goes off its network."""
    steps = (*bookings("quote", 1), agent_step("quote", text="later"))
    ended = room.run(steps, [fault("env_partition", "tool:quote")])
    assert ended.wrong == ()
    cut = ended.looks("before")[0].cut
    assert cut == ("*",) or cut[0].endswith(":8080")
    assert [entry[1] for entry in room.world.entries()] == [False, True]
    assert ended.looks("healed")[0].cut == ()


def test_without_the_tools_for_a_rule_the_whole_network_goes(
    room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ended = room.run(bookings("quote", 1), [fault("env_partition", "tool:quote")])
    assert ended.wrong == ()
    assert ended.looks("before")[0].cut == ("*",)
    signs = ended.bodies("attempt_ended")[0].signs
    assert set(signs) & {"EAI_AGAIN", "ENETUNREACH", "EAI_NONAME"}


@pytest.mark.parametrize("kind", ["env_pause", "env_process_stall"])
def test_who_resends_blindly_after_a_timeout_books_twice(kind: str, room: Any) -> None:
    ended = room.run(bookings("book", 1), [fault(kind, "tool:book")], "blind_resend")
    assert ended.wrong == ()
    assert room.world.entries() == (("book 1", True),) * 2
    outcome = ended.result.outcome
    assert (outcome.duplicates, outcome.goal_met) == (1, False)
    late, own = ended.bodies("effect")
    assert [late.operation_id[-2:], own.operation_id[-2:]] == [".1", ".2"]
    assert ended.result.latency_us == 10_000_000 + 400_000 + ended.result.backoff_us


def test_who_asks_after_a_timeout_sees_what_landed_late(room: Any) -> None:
    ended = room.run(bookings("book", 1), [fault("env_pause", "tool:book")], "hfr")
    assert ended.wrong == ()
    assert [body.landed for body in ended.bodies("reconciled")] == ["committed"]
    assert room.world.entries() == (("book 1", True),)


def test_what_nobody_asks_for_lands_before_grading(room: Any) -> None:
    ended = room.run(bookings("book", 1), [fault("env_pause", "tool:book")], "no_retry")
    assert ended.wrong == ()
    (late,) = [event for event in ended.events if event.body.type == "effect"]
    assert late.step == 0
    assert ended.result.outcome.goal_met
    assert not ended.result.outcome.accepted


def test_under_a_fault_of_two_attempts_both_land_late(room: Any) -> None:
    ended = room.run(bookings("book", 1), [fault("env_pause", "tool:book", n=2)], "blind_resend")
    assert ended.wrong == ()
    assert room.world.entries() == (("book 1", True),) * 3


def test_a_call_that_is_over_in_no_time_is_not_met(room: Any) -> None:
    steps = (agent_step("read_book"), *bookings("book", 1))
    kind = "env_process_crash"
    with room.striking(kind, after_ms=60_000, work_s=0):  # no time at all is long on a busy machine
        ended = room.run(steps, [fault(kind, "tool:read_book")])
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": 1, "reached": 0, "delivered": 0}
    assert ended.looks("after")[0].struck == 0


def test_kinds_of_the_boundary_mix_with_those_of_the_container(room: Any) -> None:
    faults = [
        fault("env_pause", "tool:book", 1),
        fault("tool_5xx", "tool:book", 2),
        fault("tool_late_completion", "tool:book", 3),
        fault("env_disk_full", "tool:book", 4),
    ]
    ended = room.run(bookings("book", 4), faults)
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": 4, "reached": 4, "delivered": 4}


def test_on_the_wall_clock_a_timeout_is_waited_for(room: Any) -> None:
    ended = room.run(
        bookings("book", 1),
        [fault("env_pause", "tool:book")],
        clock="wall",
        limits={"tool_timeout_s": 0.5},
    )
    assert ended.wrong == ()
    assert 500_000 <= ended.bodies("attempt_ended")[0].latency_us < 30_000_000


def test_a_fault_of_some_seconds_ends_in_the_midst_of_a_call(room: Any) -> None:
    pause = fault("env_pause", "tool:book", lasts=Lasts(unit="seconds", n=1))
    limits = {"tool_timeout_s": 30}
    ended = room.run(bookings("book", 2), [pause], clock="wall", limits=limits)
    assert ended.wrong == ()
    assert ended.sums["delivered"] == 1
    first, _ = ended.bodies("attempt_ended")
    assert first.answered
    assert first.latency_us > 1_000_000
    assert not ended.looks("after")[0].paused


@pytest.mark.slow
def test_the_room_bears_what_it_says(room: Any) -> None:
    room.suite.add(TASK, bookings("book", 1))
    check_bears(room.world, TASK, bookings("book", 1)[0])
