"""The `Suite` of WebArena: public records, sites that somebody runs, a browser between."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.model.prereg import SourcePin, SuiteSelection
from hfr_bench.model.record import digest
from hfr_bench.model.task import Probe, SealedTask, TaskSpec
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.diagnosis import Diagnosis
from hfr_bench.ports.sandbox import Sandbox
from hfr_bench.suites.webarena.acting import contracts
from hfr_bench.suites.webarena.acting.verifier import ActionVerifier
from hfr_bench.suites.webarena.browse.browser import lacking
from hfr_bench.suites.webarena.browse.chromium import ChromiumDriver
from hfr_bench.suites.webarena.browse.driver import Driver
from hfr_bench.suites.webarena.browse.http import HttpDriver
from hfr_bench.suites.webarena.control import Control
from hfr_bench.suites.webarena.load import load
from hfr_bench.suites.webarena.official import content, reading
from hfr_bench.suites.webarena.official.catalog import (
    Catalog,
    SiteTask,
    left_out,
    solution_digest,
)
from hfr_bench.suites.webarena.official.content import SUITE
from hfr_bench.suites.webarena.official.relay import origin_of
from hfr_bench.suites.webarena.official.world import Shared, SitesWorld
from hfr_bench.suites.webarena.places import RESET, lack_of, places_in
from hfr_bench.suites.webarena.rows import SITES

DRIVERS: dict[str, Callable[[], Driver]] = {"http": HttpDriver, "chromium": ChromiumDriver}


class WebArenaSuite:
    """WebArena and WebArena-Verified: public tasks on sites of your own, in a real browser.

    Where the sites are the environment says (`SHOPPING`, `WA_SHOPPING`, ... `WA_FULL_RESET`). The
    records come from an installed distribution or from `data_dir`, which may also hold
    `solutions.yaml` and `accepted.yaml`. `driver`: chromium, or http for sites without scripts.
    `sites`: tasks on these alone. `exploratory`: also tasks that rest on accepted answers.
    `resets: false`: the sites cannot be restored; a trial after a write is refused.
    Implements `ports.suite.Suite`, `Levelled`, `Solved` and `ports.verifier.Checked`. Raises
    BadInputError for a setting that is none.
    """

    name = SUITE
    matrix = "web"

    @staticmethod
    def diagnose() -> Diagnosis:
        """What of records, sites and browser is here; the images and sizes of what is not."""
        told, advice = [], ""
        try:
            load("original")
        except BadInputError as error:
            lacks, _, advice = str(error).partition(": ")
            told.append(lacks)
        try:
            there = places_in(os.environ)
        except BadInputError as error:
            return Diagnosis(False, str(error))
        named = ", ".join(sorted(there.there)) or "none"
        told.append(f"{'' if advice else 'records are here; '}sites named: {named}")
        if there.there and not there.reset:
            told.append(f"{RESET} is not set: nothing restores them all")
        if (no_browser := lacking()) is not None:
            told.append(f"driver http alone: {no_browser}")
        absent = [site for site in SITES[:-1] if site not in there.there]
        told += [f"without {line.strip()}" for line in map(lack_of, absent)]
        fit = False if advice else None if absent else True
        return Diagnosis(fit, "\n".join(told), advice)

    def __init__(
        self,
        sandbox: Sandbox,
        data_dir: Path | None = None,
        driver: str = "chromium",
        sites: Sequence[str] = (),
        exploratory: bool = False,
        resets: bool = True,
    ) -> None:
        if driver not in DRIVERS:
            raise BadInputError(
                f"suite {SUITE}: no driver {driver!r}; there are: {', '.join(DRIVERS)}"
            )
        if unknown := sorted(set(sites) - set(SITES)):
            raise BadInputError(
                f"suite {SUITE}: no site {unknown[0]!r}; there are: {', '.join(SITES)}"
            )
        places = places_in(os.environ)
        roots = {site: origin_of(urls[0])[1] for site, urls in places.sites.urls.items()}
        self._sandbox = sandbox
        self._driver = driver
        self._resets = resets
        catalog = Catalog(places, content.offer(roots), data_dir, tuple(sites), exploratory)
        touched = set(places.there) if resets else set()
        self._shared = Shared(catalog, Control(places), RLock(), touched)
        self._used: frozenset[str] = frozenset()

    def select(self, selection: SuiteSelection) -> tuple[TaskSpec, ...]:
        return tuple(task.public for task in self._chosen(selection))

    def sealed(self, task_id: str) -> SealedTask:
        return self._shared.catalog.task(task_id).sealed

    def pin(self, selection: SuiteSelection) -> SourcePin:
        chosen, catalog = self._chosen(selection), self._shared.catalog
        shapes = sorted({task.record.problem.shape for task in chosen})
        read = [catalog.source("original" if one == "original" else "verified") for one in shapes]
        told = {"solutions": solution_digest(chosen), "accepted": digest(dict(catalog.accepted))}
        if selection.pool:
            told |= left_out(catalog.choice(selection.pool))
        return SourcePin(
            suite=SUITE,
            distribution="WebArena records",
            version=f"{', '.join(one.sha256[:12] for one in read)}, driver {self._driver}",
            content_digest=content.content_digest(),
            tasks=tuple(task.public.task_id for task in chosen),
            task_digests={task.public.task_id: task.public.source_digest for task in chosen},
            domains=told,
        )

    def landed(
        self, predicate: str, before: str | None, after: str | None, arguments: Mapping[str, Any]
    ) -> Landed:
        return reading.landed(predicate, before, after, arguments)

    def level_of(self, tool: str, arguments: Mapping[str, Any]) -> SideEffect | None:
        """Of this very action; None where the tool's own stands."""
        return contracts.level_of(tool, arguments, self._shared.catalog.offer.button)

    def verifier(self, task: TaskSpec) -> ActionVerifier:
        """Strategy-side checks of actions: the pages that show what a button does are read back."""
        return ActionVerifier(task, self._shared.catalog.offer, reading.landed)

    def unsolved(self, selection: SuiteSelection) -> tuple[str, ...]:
        """Tasks whose solution nobody has written down and the record does not tell."""
        chosen = self._chosen(selection)
        return tuple(task.public.task_id for task in chosen if not task.sealed.oracle)

    def probes(self) -> tuple[Probe, ...]:
        return ()

    def open(self) -> SitesWorld:
        """Raises BadInputError without browser or reset, InfrastructureError for ailing sites."""
        if self._driver == "chromium" and (lacks := lacking()) is not None:
            raise BadInputError(f"suite {SUITE}: {lacks}; or register `driver: http`")
        here = sorted(self._used & self._shared.catalog.places.there)
        if self._resets:
            self._shared.control.restorable(here)
        if ailing := self._shared.control.ailing(here):
            told = "\n".join(f"  {site}: {why}" for site, why in ailing.items())
            raise InfrastructureError(f"suite {SUITE}: these sites do not answer:\n{told}")
        return SitesWorld(self._shared, DRIVERS[self._driver])

    def close(self) -> None:
        self._shared.control.close()
        self._sandbox.close()

    def _chosen(self, selection: SuiteSelection) -> tuple[SiteTask, ...]:
        if bool(selection.pool) == bool(selection.tasks):
            raise BadInputError(f"suite {SUITE}: name either a `pool` or `tasks`, one of the two")
        catalog = self._shared.catalog
        pool = selection.pool
        found = catalog.pool(pool) if pool else catalog.chosen(selection.tasks)
        self._used |= {site for task in found for site in task.record.problem.sites}
        return found
