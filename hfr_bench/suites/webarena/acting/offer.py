"""What the sites of a suite offer, as its content says: shown addresses, routes, buttons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.task import ToolSpec
from hfr_bench.model.terms import SideEffect
from hfr_bench.model.web import Route
from hfr_bench.suites._tools import short_tool


@dataclass(frozen=True, slots=True)
class Button:
    """What a button does: its level, and the page that shows it ("" = none)."""

    level: SideEffect
    read: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """The sites of a world.

    `addresses`: what stands for each site's own in answers; `roots`: where below it a site's
    placeholder points, if not at its root; `buttons`: by label, which may hold a `*`.
    """

    addresses: Mapping[str, str]
    buttons: Mapping[str, Button]
    routes: Sequence[Route] = ()
    roots: Mapping[str, str] = field(default_factory=dict)

    def button(self, label: str) -> Button | None:
        """What the button of this label does; None if nobody has said."""
        exact = self.buttons.get(label)
        if exact is not None:
            return exact
        named = (
            one for name, one in self.buttons.items() if "*" in name and fnmatchcase(label, name)
        )
        return next(named, None)

    def root(self, site: str) -> str:
        """Where a site's placeholder points, below its address."""
        return self.roots.get(site, "")

    def shown(self, text: str) -> str:
        """A text with the sites' placeholders as the addresses that answers show."""
        for site, address in self.addresses.items():
            text = text.replace(f"__{site.upper()}__", address + self.root(site))
        return text


def read_routes(path: Path) -> tuple[Route, ...]:
    """A routes.yaml, in its order. Raises BadInputError naming the route."""
    found = []
    for site, rows in content.read_yaml(path).items():
        for request, (name, level) in rows.items():
            method, _, where = request.partition(" ")
            if not where.startswith("/") or level not in set(SideEffect):
                raise BadInputError(f"{path}: {site}: {request}: METHOD /path: [name, R0 to R3]")
            found.append(Route(site, method, where, name, SideEffect(level)))
    return tuple(found)


def read_buttons(path: Path) -> dict[str, Button]:
    """A buttons.yaml, by label. Raises BadInputError naming the label."""
    found = {}
    for label, row in content.read_yaml(path).items():
        try:
            found[label] = Button(SideEffect(row["level"]), row.get("read", ""))
        except (KeyError, ValueError) as error:
            raise BadInputError(f"{path}: {label}: level is one of R0, R1, R2, R3") from error
    return found


def read_tools(path: Path) -> tuple[ToolSpec, ...]:
    """A tools.yaml. Raises BadInputError naming each wrong key."""
    return tuple(short_tool(path, name, row) for name, row in content.read_yaml(path).items())
