"""Where faults can be planned for whoever acts in a browser. Pure."""

from collections.abc import Collection, Sequence

from hfr_bench.faults.web import fault_points
from hfr_bench.model.task import FaultPoint, ToolSpec
from hfr_bench.model.terms import Layer
from hfr_bench.model.web import Route
from hfr_bench.suites.webarena.acting.contracts import CLICK


def acting_points(
    specs: Sequence[ToolSpec], routes: Sequence[Route], sites: Collection[str]
) -> tuple[FaultPoint, ...]:
    """The models' roles, every tool, a strategy's own reads, and the requests of these sites."""
    points = [
        FaultPoint(point=f"model:{role}", layer=Layer.MODEL, target="agent")
        for role in ("agent", "compress")
    ]
    points += [
        FaultPoint(point=f"tool:{tool.name}", layer=Layer.TOOL, target=tool.name, level=tool.level)
        for tool in specs
    ]
    read = next(tool.reconcile for tool in specs if tool.name == CLICK)
    assert read is not None
    points += [
        FaultPoint(point=f"{purpose}:{CLICK}", layer=Layer.TOOL, target=read.read)
        for purpose in ("prepare", "reconcile", "verify")
    ]
    return (*points, *fault_points([one for one in routes if one.site in sites]))
