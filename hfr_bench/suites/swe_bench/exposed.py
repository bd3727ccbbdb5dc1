"""What of an instance's container may be broken, and its world, which gives the host away."""

from typing import cast

from hfr_bench.model.breakage import Breakage
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import FaultyHost
from hfr_bench.suites.swe_bench.room import HOLDS, Room
from hfr_bench.suites.swe_bench.tasks import RepoTask
from hfr_bench.suites.swe_bench.testbed import TESTBED
from hfr_bench.suites.swe_bench.world import RepoWorld

EXPOSURE = Exposure(
    # /testbed lies on the engine's own disk: who filled it would fill the machine. No network.
    bears=frozenset(Breakage) - {Breakage.DISK_FULL, Breakage.PARTITION},
    scratch="/sandbox",
    repository=TESTBED,
    holds=HOLDS,
)


class BenchWorld(RepoWorld[RepoTask]):
    """Implements `ports.suite.World` and, once reset, `ports.exposure.Exposed`."""

    exposure = EXPOSURE

    @property
    def host(self) -> FaultyHost:
        """The agent's host in this trial: each has its own."""
        return cast("FaultyHost", cast("Room", self._here()).host)
