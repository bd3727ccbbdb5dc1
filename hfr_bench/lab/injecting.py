"""The injectors at the tools' boundary as one, and who may be broken by the innermost of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from hfr_bench import plugins
from hfr_bench.errors import BadInputError
from hfr_bench.lab.offer import Faults
from hfr_bench.model.breakage import DIALECT, Break, Breakage
from hfr_bench.model.schedule import KindSpec, Own
from hfr_bench.model.terms import ClockKind
from hfr_bench.model.web import DIALECT as WEB
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.exposure import Bearing, Breaking, Exposed
from hfr_bench.ports.injector import CallInjector, Scene
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.ports.suite import Suite, World
from hfr_bench.ports.web import Fronted

TOOL = "tool"
WEB_PROXY = "web_proxy"


class Nested:
    """Several injectors, the outermost first. Implements `ports.injector.CallInjector`.

    They share a trial's cursor, so that at most one event is live at an attempt, and each passes on
    what it does not play.
    """

    def __init__(self, injectors: Sequence[CallInjector]) -> None:
        self._injectors = tuple(injectors)

    def kinds(self) -> frozenset[str]:
        return frozenset().union(*(one.kinds() for one in self._injectors))

    def wrap(self, inner: CallPort, scene: Scene) -> CallPort:
        for one in reversed(self._injectors):
            inner = one.wrap(inner, scene)
        return inner

    def heal(self) -> None:
        """From the outermost on: what it holds back goes through the others. All are healed."""
        with ExitStack() as healing:
            for one in reversed(self._injectors):
                healing.callback(one.heal)


def own_injectors(faults: Faults) -> dict[str, CallInjector]:
    """The plugins' injectors that the matrix's kinds ask for, by name.

    Raises BadInputError for one that nobody offers, that is none of the tool boundary, or that
    does not answer for its kind.
    """
    made: dict[str, CallInjector] = {}
    for kind, name in sorted(wanted(faults.kinds, faults.named).items()):
        if name not in made:
            plug = plugins.find("injectors", name)
            made[name] = plug(faults.kinds) if name == WEB_PROXY else plug()
        injector = made[name]
        if not hasattr(injector, "wrap"):
            raise BadInputError(
                f"the fault kind {kind!r} is played by the injector {name!r}, which is none of "
                "the tool boundary (`wrap`, see ports/injector.py)"
            )
        if kind not in injector.kinds():
            raise BadInputError(
                f"the injector {name!r} does not answer for the fault kind {kind!r}; it does for: "
                f"{', '.join(sorted(injector.kinds())) or 'none'}"
            )
    return made


def wanted(kinds: Mapping[str, KindSpec], named: set[str]) -> dict[str, str]:
    """The injector's name of each named kind that is not every experiment's: own, and the web's."""
    effects = {name: kinds[name].wire.get(TOOL) for name in named if name in kinds}
    own = {name: effect.injector for name, effect in effects.items() if isinstance(effect, Own)}
    return own | dict.fromkeys((name for name in effects if WEB in kinds[name].wire), WEB_PROXY)


def exposed(world: World) -> Exposed | None:
    """The world, if it gives its host to be broken, and that can be."""
    return world if isinstance(world, Exposed) and hasattr(world.host, "inflict") else None


def around(world: World) -> dict[str, Any]:
    """What of a world injectors may get at: fields of a `ports.injector.Scene`."""
    return {"exposed": exposed(world), "fronted": world if isinstance(world, Fronted) else None}


def check_borne(
    kinds: Mapping[str, KindSpec],
    names: Collection[str],
    suites: Iterable[tuple[Suite, Sandbox]],
    clock: ClockKind,
) -> None:
    """Kinds that break a container need suites that bear it and sandboxes that can do it.

    `names`: the kinds that are registered. Raises BadInputError.
    """
    ours = {name: kinds[name] for name in sorted(names) if name in kinds}
    broken = {name: spec.wire[DIALECT] for name, spec in ours.items() if DIALECT in spec.wire}
    for name, effect in broken.items():
        assert isinstance(effect, Break)
        units = {lasts.unit for _, lasts in ours[name].lasts}
        if "seconds" in units and clock is ClockKind.VIRTUAL:
            raise BadInputError(
                f"clock: the fault kind {name!r} breaks a container for some seconds, which no "
                "virtual clock can do: register `clock: wall`, or a kind that lasts for attempts"
            )
        for suite, sandbox in suites:
            _check_one(name, effect.what, suite, sandbox)


def _check_one(name: str, what: Breakage, suite: Suite, sandbox: Sandbox) -> None:
    bears = suite.exposure.bears if isinstance(suite, Bearing) else frozenset()
    if what not in bears:
        there = f"it bears: {', '.join(sorted(bears))}" if bears else "it bears nothing of the kind"
        raise BadInputError(
            f"the fault kind {name!r} breaks the tools' container ({what}), and the suite "
            f"{suite.name!r} does not say that its world survives that; {there}. Leave the kind "
            "out of the matrix, or the suite out of the experiment"
        )
    if not isinstance(sandbox, Breaking) or what not in sandbox.breaks:
        raise BadInputError(
            f"the fault kind {name!r} breaks the tools' container ({what}), which the sandbox "
            f"{sandbox.name!r} cannot do; one that can: docker"
        )
