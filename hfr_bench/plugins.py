"""Names to objects through entry points: the same road for our plugs and for strangers'.

This module knows no plug. A plug that fails to import fails loudly with its own error.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from hfr_bench.errors import BadInputError

GROUPS = (
    *("suites", "injectors", "strategies", "agents", "sandboxes", "llms", "executors"),
    "stores",
)

CONTENT = "content"
"""A group of its own: functions that return a plugin's folder of fault kinds and matrices."""

# Names that an extra of this project (or a later release of it) brings.
_EXTRAS: Mapping[str, str] = MappingProxyType({})


@cache
def offered(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name, sorted. Raises BadInputError if a name comes twice."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=f"hfr_bench.{group}"), key=lambda p: p.name):
        known = found.get(point.name)
        if known is not None and known.value != point.value:
            raise BadInputError(
                f"two plugins offer {group} {point.name!r}: {known.value} and {point.value}; "
                "uninstall one of them"
            )
        found[point.name] = point
    return MappingProxyType(found)


def find(group: str, name: str) -> Any:
    """Load a plug by name. Raises BadInputError listing what is offered."""
    points = offered(group)
    if name not in points:
        hint = f"; install the extra {_EXTRAS[name]!r}" if name in _EXTRAS else ""
        raise BadInputError(
            f"unknown {_singular(group)} {name!r}; there are: {', '.join(points) or 'none'}{hint}"
        )
    return points[name].load()


def origin_of(point: EntryPoint) -> str:
    """Distribution and version behind an entry point, for lists and traces."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown"


def _singular(group: str) -> str:
    return {"strategies": "strategy", "sandboxes": "sandbox", "suites": "suite"}.get(
        group, group.removesuffix("s")
    )
