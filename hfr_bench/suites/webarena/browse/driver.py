"""What a driver is, and what it shows: a page as a tree of elements with ids."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hfr_bench.suites.webarena.browse.actions import Action

REFUSED, CLOSED, BROKEN, TIMEOUT = "ConnectError", "ConnectionClosed", "BrokenAnswer", "Timeout"
"""How a page can fail to come: refused, no answer, an answer that broke off, none in time."""

TIMEOUT_S = 30.0
"""What an action may take, unless said otherwise."""


class BrowserError(RuntimeError):
    """The browser itself broke, or is not there: our own side, no page's fault."""


class CannotError(ValueError):
    """An action that the page does not allow; said in the view, nothing was done."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie to begin with. `domain`: a host; "" = the hosts of the start URLs."""

    name: str
    value: str
    domain: str = ""
    path: str = "/"


@dataclass(frozen=True, slots=True)
class Node:
    """An element of a page's tree. `states`: what else is told of it, in the order of telling."""

    id: int
    depth: int
    role: str
    name: str = ""
    states: tuple[tuple[str, str], ...] = ()

    @property
    def line(self) -> str:
        told = "".join(f" {key}: {value}" for key, value in self.states)
        return f"{'  ' * self.depth}[{self.id}] {self.role} {self.name!r}{told}"


@dataclass(frozen=True, slots=True)
class View:
    """What the browser shows after an action.

    `nodes`: the tree of the current tab's page. `status`, `headers` (lower-case): of the last page
    that the action asked for; None where it asked for none, or none came: then `exception` says
    why (see above). `problem`: why the action could not be done at all (no such element, no such
    tab); the page is as it was. `messages`: of dialogues, which are accepted. `downloads`: names
    of files that came instead of a page. `tabs`: their URLs; `tab`: the current one, from 0.
    `answer`: what `stop` said; None until then.
    """

    url: str
    title: str = ""
    nodes: tuple[Node, ...] = ()
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    exception: str = ""
    problem: str = ""
    messages: tuple[str, ...] = ()
    downloads: tuple[str, ...] = ()
    tabs: tuple[str, ...] = ()
    tab: int = 0
    answer: str | None = None

    @property
    def tree(self) -> str:
        """The page as text, an element a line."""
        return "\n".join(node.line for node in self.nodes)


class Driver(Protocol):
    """A browser for one trial. One thread opens, uses and closes it."""

    def open(self, start_urls: Sequence[str], cookies: Iterable[Cookie] = ()) -> View:
        """A tab for each URL, the first one in front. Never raises for a page that fails."""
        ...

    def act(self, action: Action, timeout_s: float = TIMEOUT_S) -> View:
        """Carry one action out, once; wait for the page that it leads to. Never sends twice.

        Raises BrowserError if the browser itself is gone.
        """
        ...

    def look(self, url: str | None, locator: str) -> str:
        """What an evaluator finds, in a tab of its own (`url`) or the current one (None).

        `locator`: "" is the whole page; else JavaScript as WebArena's tasks have it
        (`document.querySelector('...').outerText`), of which a driver without scripts knows the
        commonest forms. "" if there is nothing. Not told in the HAR.
        """
        ...

    def har(self) -> dict[str, Any]:
        """All requests so far (HAR 1.2), in the order in which they were sent."""
        ...

    def close(self) -> None:
        """End the session; the browser may live on for the next. Idempotent."""
        ...


def find(nodes: Sequence[Node], action: Action) -> Node | None:
    """The element that an action aims at; names are compared without outer and double spaces."""
    if action.element:
        return next((node for node in nodes if node.id == action.element), None)
    named = [
        node
        for node in nodes
        if node.role == action.role and squeezed(node.name) == squeezed(action.name)
    ]
    return named[action.nth - 1] if len(named) >= action.nth else None


def squeezed(text: str) -> str:
    """The text without outer and double spaces."""
    return " ".join(text.split())
