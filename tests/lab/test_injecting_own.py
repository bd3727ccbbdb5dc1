"""A plugin's injector around ours, over one cursor: each plays its own; the audit can tell."""

from pathlib import Path

import pytest

from hfr_bench import content
from hfr_bench.faults.audit import KindSums, audit
from hfr_bench.injectors.tool_calls import ToolCallInjector
from hfr_bench.lab.injecting import Nested
from hfr_bench.model.schedule import KindSpec
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import CallInjector, Scene
from hfr_bench.testing.conformance import check_injector
from hfr_bench.testing.walker import TOOL_US, Walker, schedules

from .stranger.acme_faults import Acme, folder

FOREIGN = {
    kind.kind: kind
    for kind in (content.read_record(path, KindSpec) for path in Path(folder()).glob("kinds/*"))
    if kind.kind in Acme().kinds()
}
KINDS = {**content.kinds(), **FOREIGN}
OURS = ("tool_outcome_unknown", "tool_late_completion", "tool_unavailable", "tool_forbidden")


class Idle(Acme):
    """Says that it answers for its kinds, and does nothing."""

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        return inner


def sums(injector: CallInjector, trials: int = 8) -> dict[str, KindSums]:
    """What was planned, reached and delivered of each kind, in some trials together."""
    found: dict[str, list[int]] = {}
    wrong: dict[str, tuple[str, ...]] = {}
    made = schedules((*OURS, *FOREIGN), KINDS)
    for _, schedule in zip(range(trials), made, strict=False):
        walker = Walker(schedule, injector, KINDS)
        walker.walk()
        seen = audit(walker.sink.events, schedule, KINDS, tool_latency_us=TOOL_US)
        assert (seen.failed, seen.untrue) == ((), ())
        for (_, kind), one in seen.sums.items():
            so_far = found.get(kind, [0, 0, 0])
            found[kind] = [a + b for a, b in zip(so_far, one[:3], strict=True)]
            wrong[kind] = (*wrong.get(kind, ()), *one.mismatched)
    return {kind: KindSums(*counts, wrong[kind]) for kind, counts in found.items()}


@pytest.fixture
def nested() -> Nested:
    return Nested((Acme(), ToolCallInjector(KINDS)))


def test_every_kind_is_answered_for_once(nested: Nested) -> None:
    ours = ToolCallInjector(KINDS).kinds()
    assert not ours & set(FOREIGN)
    assert nested.kinds() == ours | set(FOREIGN)


def test_each_plays_its_own_and_hands_on_the_rest(nested: Nested) -> None:
    found = sums(nested)
    assert set(found) == {*OURS, *FOREIGN}
    for kind, one in found.items():
        assert one.mismatched == (), kind
        assert one.delivered == one.reached > 0, kind


def test_an_injector_that_does_not_play_its_kind_is_caught() -> None:
    """By what the kind declares, not by what the injector tells."""
    found = sums(Nested((Idle(), ToolCallInjector(KINDS))))
    for kind, one in found.items():
        assert one.reached > 0
        assert one.delivered == (0 if kind in FOREIGN else one.reached), kind


def test_a_strangers_injector_keeps_to_the_port() -> None:
    check_injector(Acme(), FOREIGN)
