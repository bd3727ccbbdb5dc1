"""What a live fork's trials were played, as the traces tell it."""

from typing import Any

from hfr_bench.lab.prefixed import Prefixed, Went, prefix_controls, prefix_rows, prefixed
from hfr_bench.model.terms import Channel
from hfr_bench.model.trace import AttemptEnded, AttemptStarted, TraceEvent
from hfr_bench.testing.bench import planned_row
from hfr_bench.testing.experiments import planned
from hfr_bench.testing.results import hit

PREREG = planned(("no_retry", "hfr")).prereg


def lines(*attempts: tuple[str, int | None]) -> list[TraceEvent]:
    """Attempts at the model: how each stood to the prefix, and what it cost."""
    made: list[Any] = []
    for step, (mark, cost) in enumerate(attempts, 1):
        out = AttemptStarted(
            point="model:agent", occurrence=step, channel=Channel.MODEL, target="m", timeout_us=1,
            request_digest="",
        )  # fmt: skip
        told = hit(occurrence=step).model_copy(update={"prefix": mark})
        back = AttemptEnded(answered=True, cost_microusd=cost)
        made += [(step, body) for body in (out, told, back)]
    return [
        TraceEvent(trial_id="t", seq=n, t_us=n, step=step, attempt=1, body=body)
        for n, (step, body) in enumerate(made)
    ]


def test_played_answers_are_counted_with_what_was_charged_for_them() -> None:
    found = prefixed(lines(("played", 5), ("played", 6), ("missed", 7), ("", 8)))
    assert found == Prefixed(asked=4, played=2, missed=1, cost_microusd=11)
    assert prefixed(lines(("played", None), ("played", 6))).cost_microusd is None
    assert prefixed([]) == Prefixed()


def went(arm: str, digest: str = "d", *, missed: int = 0, calm: bool = False, **more: Any) -> Went:
    trial = planned_row().trial.model_copy(update={"arm": arm, **more.pop("trial", {})})
    own = Prefixed(5, 2, missed, 3, digest, "own" if not calm else "d")
    return Went(trial, own, calm, **more)


CALM = went("no_retry", "", calm=True)


def test_arms_are_summed_without_calm_trials_and_those_without_a_gateway() -> None:
    alone = went("hfr", "", trial={"injected": False})
    (row,) = prefix_rows(PREREG, [CALM, went("hfr"), went("hfr", missed=1), alone])
    assert (row.arm, row.trials, row.parted, row.asked, row.played, row.cost_microusd) == (
        "hfr", 2, 1, 10, 4, 6,
    )  # fmt: skip
    assert prefix_rows(PREREG, [CALM]) == ()


def test_all_must_be_played_what_the_calm_trial_recorded() -> None:
    same, parted = prefix_controls([CALM, went("hfr"), went("no_retry")])
    assert (same.passed, same.decides, parted.passed) == (True, True, True)
    for other in ("e", ""):
        same, _ = prefix_controls([CALM, went("hfr"), went("no_retry", other)])
        assert same.passed is False
    same, _ = prefix_controls([went("no_retry", "d", calm=True), went("hfr", "d")])
    assert same.passed  # the calm trial was run again, and played its first recording
    assert prefix_controls([went("hfr")])[0].passed is False  # nobody knows whose it is
    assert prefix_controls([CALM])[0].passed is None


def test_who_parts_is_told_and_decides_nothing() -> None:
    _, parted = prefix_controls([CALM, went("hfr"), went("hfr", missed=1)])
    assert (parted.passed, parted.decides) == (False, False)
    assert parted.detail.startswith("1 of 2 trials parted")


def test_a_replay_plays_each_trial_its_own_recording() -> None:
    same, parted = prefix_controls([CALM, went("hfr", "", replayed=True)])
    assert same.passed is None
    assert parted.passed
