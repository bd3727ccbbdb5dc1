"""Fault kinds that nobody planned for, a plugin's: whatever HFR makes of them, it does no harm.

An exception that no client has, statuses that no standard has, bodies that mean nothing: on every
tool of the shop, with the write in the world or not, for one attempt or for all of them.
"""

from collections.abc import Iterator

import pytest

from hfr_bench.model.attempt import Observation
from hfr_bench.model.terms import End
from hfr_bench.ports.strategy import Strategy
from hfr_bench.recovery.hfr import Hfr
from hfr_bench.recovery.kit import Kit
from hfr_bench.recovery.strategies import BlindResend
from hfr_bench.testing import laws
from hfr_bench.testing.fakes import FakeInjector
from hfr_bench.testing.rig import FULL, Ran, Rig, StepsAgent
from hfr_bench.testing.shop import TOOLS, agent_step

KIT = Kit(equipment=FULL, chance_key=("unseen", 1))
STEPS = (
    agent_step("look"),
    agent_step("add_order", item="tea"),
    agent_step("set_address", to="here"),
    agent_step("add_order", item="tea"),
    agent_step("close_account"),
    agent_step("send_mail", text="hi"),
)
PLACES = tuple((f"tool:{tool.name}", 1) for tool in TOOLS if tool.name != "confirm")
PLACES = (*PLACES, ("tool:add_order", 2))
FOR_THE_STRATEGY = tuple(
    (f"{why}:{name}", 1)
    for why in ("prepare", "reconcile")
    for name in ("add_order", "close_account")
)

BODIES = {
    "nothing": "",
    "binary": "\x00\xff\x89PNG\r\n\x1a\n" * 8,
    "huge": "overflow " * 40_000,
    "other words": '{"fehler": {"art": "gebuehrend", "noch": ["einmal", null, 1e999]}}',
    "deep": "[" * 3_000,
    "page": "<!doctype html><title>Well, this is odd</title><h1>Try again in 0 s</h1>",
}
STATUSES = {
    299: ("nothing", "binary", "huge"),
    418: ("page", "other words"),
    460: ("deep", "page"),
    599: ("nothing", "other words"),
    700: ("binary", "huge", "deep"),
}
ODD = {
    **{
        f"{status} {name}": Observation(answered=False, status=status, body=BODIES[name])
        for status, names in STATUSES.items()
        for name in names
    },
    **{
        name: Observation(answered=False, exception=name)
        for name in ("QuantumFlux", "", "Überlauf", "KeyError", "Retry-Me-Now!")
    },
    "nothing at all": Observation(answered=False),
    "an answer of another kind": Observation(answered=True, status=299, body="\x00", payload=7),
    "an error that says it is fine": Observation(
        answered=True, status=200, body='{"fehler": 1, "error": "QuantumFlux"}', payload="?"
    ),
}


def run(strategy: Strategy, place: tuple[str, int], odd: Observation, n: int, lands: bool) -> Ran:
    at = [(*place, attempt) for attempt in range(1, n + 1)]
    injector = FakeInjector(dict.fromkeys(at, odd), at if lands else ())
    agent = StepsAgent(STEPS, again=2)
    ran = Rig(strategy, steps=STEPS, agent=agent, injector=injector).run()
    assert injector.delivered
    return ran


def trials(places: tuple[tuple[str, int], ...]) -> Iterator[tuple[tuple[str, int], int, bool]]:
    for place in places:
        for n in (1, 9):
            yield place, n, False
            yield place, n, True


@pytest.mark.parametrize("name", ODD)
def test_no_unseen_kind_does_harm(name: str) -> None:
    for place, n, lands in trials(PLACES):
        ran = run(Hfr({}, KIT), place, ODD[name], n, lands)
        what = (name, place, n, lands, ran.end, ran.reason)
        assert ran.duplicates == ran.effects.unwanted == ran.effects.partial == 0, what
        assert ran.packet_true is not False, what
        assert ran.end in (End.ACCEPTED, End.ESCALATED), what
        assert laws.illegal_moves(ran.events) == [], what
        assert laws.blind_resends(ran.events) == [], what


@pytest.mark.parametrize("name", ["QuantumFlux", "299 huge", "700 binary", "460 page"])
def test_nor_does_one_of_the_reads_that_are_made_for_the_strategy(name: str) -> None:
    """The write's own answer is lost as well: now the world is asked, and answers oddly."""
    for place, n, lands in trials(FOR_THE_STRATEGY):
        why, _, tool = place[0].partition(":")
        answers = {(*place, attempt): ODD[name] for attempt in range(1, n + 1)}
        lost = (f"tool:{tool}", 1, 1)
        injector = FakeInjector({**answers, lost: ODD["QuantumFlux"]}, [lost] if lands else ())
        ran = Rig(
            Hfr({}, KIT), steps=STEPS, agent=StepsAgent(STEPS, again=2), injector=injector
        ).run()
        assert ran.duplicates == ran.effects.unwanted == 0, (place, n, lands, ran.reason)
        assert ran.packet_true is not False
        assert why == "prepare" or lost in injector.delivered


def test_a_blind_resend_does_harm_under_the_same_kinds() -> None:
    """The test above can fail."""
    harmed = {
        name
        for name in ("QuantumFlux", "299 binary", "418 page", "700 huge")
        for place, n, lands in trials(PLACES)
        if run(BlindResend({}, KIT), place, ODD[name], n, lands).duplicates
    }
    assert harmed == {"QuantumFlux", "299 binary", "418 page", "700 huge"}
