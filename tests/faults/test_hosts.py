"""What is broken in a container: every way in which it can fail to be delivered is noticed."""

from typing import Any

import pytest

from hfr_bench.faults.audit import TrialAudit, audit
from hfr_bench.model.breakage import Break, Breakage
from hfr_bench.model.schedule import FaultEvent, KindSpec, Lasts
from hfr_bench.model.signs import signs
from hfr_bench.model.terms import Layer
from hfr_bench.model.trace import HostLooked
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import (
    At,
    answered,
    events,
    ran,
    schedule,
    sent,
    started,
    timed_out,
)

TRIAL = planned().rows[0].trial
KINDS = {
    what.value: KindSpec(
        kind=what.value, layer=Layer.ENVIRONMENT, wire={"host": Break(what=what, memory_mib=64)}
    )
    for what in Breakage
}
WELL: dict[str, Any] = {"memory_mib": 1024, "free_kib": 900, "oom_kills": 0}
FROZEN: dict[str, Any] = {"paused": True, "memory_mib": 1024}

# By breakage: the container before and after, and how the client must see it.
SOUND: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    "pause": (FROZEN, FROZEN, "hangs"),
    "stall": ({"watched": True}, {"watched": True, "struck": 1, "stopped": 1}, "hangs"),
    "crash": ({"watched": True}, {"watched": True, "struck": 1}, {"exit_code": 137}),
    "disk_full": ({"free_kib": 0}, {"free_kib": 0}, {"exit_code": 1, "signs": ("ENOSPC",)}),
    "oom": ({"memory_mib": 64}, {"memory_mib": 64, "oom_kills": 1}, {"exit_code": 137}),
    "partition": ({"cut": ("a:1",)}, {"cut": ("a:1",)}, {"exit_code": 1, "signs": ("ETIMEDOUT",)}),
    "restart": ({"restarted": True}, {"restarted": True}, {"exit_code": 0}),
    "read_only": (
        {"protected": True},
        {"protected": True},
        {"exit_code": 1, "signs": ("EACCES",)},
    ),
    "app_killed": ({"app": 2}, {"app": 2}, {"exit_code": 0}),
    "app_frozen": ({"app": 1, "app_stopped": 1}, {"app": 1, "app_stopped": 1}, {"exit_code": 0}),
    "modal": ({"modal": True}, {}, {"exit_code": 0}),
    "clock_skew": ({"skew_s": 86_400}, {"skew_s": 86_401}, {"exit_code": 0}),
    "index_lock": ({"left": True}, {"left": True}, {"exit_code": 128, "signs": ("EEXIST",)}),
}
ANSWERED = [what for what, (_, _, seen) in SOUND.items() if seen != "hangs"]
HANGS = ["pause", "stall"]


def look(when: Any, **state: Any) -> At:
    known = state if "paused" in state else WELL | state
    return At(HostLooked(operation_id="1", when=when, **known))


def went() -> At:
    return At(sent("tool:book", operation_id="1", target="book"), t_us=0)


def trace(
    what: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    healed: dict[str, Any] | None = None,
    seen: Any = None,
    truth: tuple[At, ...] | None = None,
    late: tuple[At, ...] | None = None,
) -> list[At]:
    """A sound trial of a breakage, but for what is given."""
    first, then, shape = SOUND[what]
    hangs = (shape if seen is None else seen) == "hangs"
    end = timed_out() if hangs else answered(domain_error=True, **(shape if seen is None else seen))
    inside = truth if truth is not None else () if hangs else (At(ran("1")),)
    outside = late if late is not None else (At(ran("1"), 0, 0),) if hangs else ()
    return [
        went(),
        look("before", **(first if before is None else before)),
        *inside,
        look("after", **(then if after is None else after)),
        At(end),
        *outside,
        look("healed", **(healed or {})),
    ]


def found(what: str, bodies: list[At], lasts: Lasts | None = None, **more: Any) -> TrialAudit:
    event = FaultEvent(
        injection_id="i", layer=Layer.ENVIRONMENT, kind=what, point="tool:book", occurrence=1,
        lasts=lasts or Lasts(),
    )  # fmt: skip
    made = events("t", [started(TRIAL), *bodies])
    return audit(made, schedule(TRIAL, [event]), KINDS, **more)


def mismatch(what: str, bodies: list[At], **more: Any) -> str:
    made = found(what, bodies, **more)
    assert made.untrue == ()
    (one,) = made.deliveries
    return one.mismatch


@pytest.mark.parametrize("what", SOUND)
def test_as_declared_it_is_delivered(what: str) -> None:
    assert mismatch(what, trace(what)) == ""


@pytest.mark.parametrize("what", SOUND)
def test_what_was_ordered_and_not_made_is_not_delivered(what: str) -> None:
    assert mismatch(what, trace(what, before=WELL, after=WELL))


@pytest.mark.parametrize("what", SOUND)
@pytest.mark.parametrize("when", ["before", "after", "healed"])
def test_without_a_look_nothing_is_delivered(what: str, when: str) -> None:
    bodies = [at for at in trace(what) if getattr(at.body, "when", "") != when]
    assert "nobody looked" in mismatch(what, bodies)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (FROZEN, "frozen"),
        ({"cut": ("*",)}, "out of reach"),
        ({"free_kib": 0}, "no block is free"),
        ({"at_work": 1}, "still at work"),
    ],
)
@pytest.mark.parametrize("what", SOUND)
def test_what_is_not_undone_is_told(what: str, left: dict[str, Any], said: str) -> None:
    assert said in mismatch(what, trace(what, healed=left))


@pytest.mark.parametrize("what", HANGS)
def test_who_is_halted_answers_nothing_and_runs_once_later(what: str) -> None:
    assert "should run once, later, but ran 0 times" in mismatch(what, trace(what, late=()))
    twice = (At(ran("1"), 0, 0),) * 2
    assert "ran 2 times" in mismatch(what, trace(what, late=twice))
    inside = trace(what, truth=(At(ran("1")),), late=())
    assert "ran in its own attempt" in mismatch(what, inside)
    early = [At(timed_out(latency_us=5)) if at.body.type == "attempt_ended" else at
             for at in trace(what)]  # fmt: skip
    assert "took 5 µs" in mismatch(what, early)
    closed = [At(timed_out(exception="ConnectionClosed")) if at.body.type == "attempt_ended" else at
              for at in trace(what)]  # fmt: skip
    assert "declared Timeout" in mismatch(what, closed)
    let_go = trace(what, after=WELL | {"watched": True})
    assert "nothing held it up" in mismatch(what, let_go)


def test_a_frozen_container_that_answers_is_none() -> None:
    assert "seen as an answer" in mismatch("pause", trace("pause", seen={"exit_code": 0}))


@pytest.mark.parametrize("what", ANSWERED)
def test_an_answer_is_the_worlds_own(what: str) -> None:
    other = trace(what, truth=(At(ran("1", body="another")),))
    assert "the true answer is" in mismatch(what, other)
    assert "ran 0 times" in mismatch(what, trace(what, truth=()))
    assert "ran 2 times" in mismatch(what, trace(what, truth=(At(ran("1")), At(ran("1")))))
    assert "took 0 µs" in mismatch(what, trace(what), tool_latency_us=7)


@pytest.mark.parametrize("what", ["crash", "disk_full", "oom"])
def test_a_call_that_nothing_halts_is_answered(what: str) -> None:
    assert "is answered, this one was not" in mismatch(what, trace(what, seen="hangs"))


def test_a_call_that_does_not_reach_its_service_may_hang() -> None:
    assert mismatch("partition", trace("partition", seen="hangs")) == ""


def test_a_crash_is_of_the_calls_own_process() -> None:
    other = trace("crash", seen={"exit_code": 1})
    assert "declared exit code 137, seen exit code 1" in mismatch("crash", other)
    there = trace("crash", after={"watched": True, "struck": 1, "at_work": 1})
    assert "should be gone" in mismatch("crash", there)
    hungry = trace("crash", after={"watched": True, "struck": 1, "oom_kills": 1})
    assert "for lack of memory" in mismatch("crash", hungry)


def test_the_kernels_kill_ends_the_call_in_failure() -> None:
    well = trace("oom", seen={"exit_code": 0})
    assert "declared a kill for lack of memory" in mismatch("oom", well)
    higher = trace("oom", before={"memory_mib": 128})
    assert "declared a limit of 64 MiB, it was 128" in mismatch("oom", higher)


def test_a_restart_is_seen_before_the_call_and_does_not_come_in_its_midst() -> None:
    assert "not started anew" in mismatch("restart", trace("restart", before=WELL))
    assert "not started anew" in mismatch("restart", trace("restart", after=WELL))
    twice = (At(ran("1")), At(ran("1")))
    assert "should run once" in mismatch("restart", trace("restart", truth=twice))


def test_a_lock_lies_there_before_the_call_whatever_the_call_is() -> None:
    assert "no lock lay" in mismatch("index_lock", trace("index_lock", before=WELL))
    removed = trace("index_lock", after=WELL, seen={"exit_code": 0})
    assert mismatch("index_lock", removed) == ""
    well = trace("index_lock", seen={"exit_code": 0, "signs": ("EEXIST",)})
    assert "a locked index is an error" in mismatch("index_lock", well)


def test_a_call_may_make_room_on_a_full_disk() -> None:
    """One that shortens a file frees a block; that it met a full disk is told by its answer."""
    assert mismatch("disk_full", trace("disk_full", after={"free_kib": 4})) == ""
    assert "4 KiB were free" in mismatch("disk_full", trace("disk_full", before={"free_kib": 4}))


# Where the fault stands and the call goes by it: not met, and held to the truth.
BY = {
    "stall": {"after": {"watched": True}, "seen": {"exit_code": 0}},
    "crash": {"after": {"watched": True}, "seen": {"exit_code": 0}},
    "disk_full": {"seen": {"exit_code": 0}},
    "oom": {"after": {"memory_mib": 64}, "seen": {"exit_code": 0}},
    "partition": {"seen": {"exit_code": 0}},
}


@pytest.mark.parametrize("what", BY)
def test_a_call_that_goes_by_has_not_met_it(what: str) -> None:
    bodies = trace(what, truth=(At(ran("1")),), late=(), **BY[what])
    made = found(what, bodies)
    assert (made.deliveries, made.failed, made.untrue) == ((), (), ())
    assert made.sums["environment", what][:3] == (1, 0, 0)
    lied = trace(what, truth=(At(ran("1", body="another")),), late=(), **BY[what])
    assert len(found(what, lied).untrue) == 1


def test_seconds_end_in_the_midst_of_a_call() -> None:
    """On the wall clock: what is left of them, and no more, is waited for."""
    lasts = Lasts(unit="seconds", n=2)

    def thawed(latency_us: int) -> str:
        seen = {"latency_us": latency_us, "exit_code": 0}
        bodies = trace("pause", after=WELL, seen=seen, truth=(At(ran("1")),), late=())
        return mismatch("pause", bodies, lasts=lasts)

    assert thawed(2_100_000) == ""
    assert "held up for 2000000" in thawed(500_000)
    assert mismatch("pause", trace("pause"), lasts=Lasts(unit="seconds", n=99)) == ""


def test_signs_are_names_and_not_words() -> None:
    assert signs("sh: 1: echo: write error: No space left on device") == ("ENOSPC",)
    assert signs("urlopen error timed out; Connection refused") == ("ECONNREFUSED", "ETIMEDOUT")
    assert signs("all is well") == ()
