"""What the tools answer, the level of a single call, and what read-backs tell: pure.

An answer is a page as text, between its address and a last line: half a page is told from a whole
one. Read-backs look at pages of the sites, as any runtime that owns a browser could.
"""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.suites.webarena.acting.offer import Button
from hfr_bench.suites.webarena.browse.driver import View

CLICK, TYPE, PRESS, STOP, READ_BACK = "click", "type", "press", "stop", "read_back"
PAGE_CHANGED = "page_changed"
END = "(end of page)"
REFUSED = "Error: "

_ID = re.compile(r"\[\d+\] ")
_ASKS_WHO = re.compile(r"^ *\[\d+\] textbox 'Password'", re.MULTILINE)
"""A page to log in by, which took the place of the one that was asked for."""
_ALERT = re.compile(r"^( *)alert\b")


def answer(view: View, masked: str) -> str:
    """What an action answers. `masked`: the page's tree with the sites' addresses put in."""
    said = []
    if view.problem:
        said.append(f"{REFUSED}{view.problem}")
    said += [f"Dialog: {message}" for message in view.messages]
    said += [f"Downloaded: {name}" for name in view.downloads]
    if len(view.tabs) > 1:
        said.append(f"Tab {view.tab} of {len(view.tabs)}")
    return "\n".join((*said, masked, END))


def base64_of(text: str) -> str:
    """As the host takes a request's body."""
    return base64.b64encode(text.encode()).decode()


def whole(body: str) -> bool:
    """Whether an answer has its end."""
    return body.endswith(END)


def level_of(
    tool: str, arguments: Mapping[str, Any], button: Callable[[str], Button | None]
) -> SideEffect | None:
    """The level of this very call, by its text; None where the tool's own stands.

    A click on a link asks for a page; on a button it is as `buttons.yaml` says. Enter sends the
    form that was typed into, whichever that is. An element's number tells nothing.
    """
    if tool == CLICK:
        role, name = arguments.get("role"), arguments.get("name")
        if not isinstance(role, str) or not role or arguments.get("element"):
            return None
        if role != "button":
            return SideEffect.READ
        known = button(name) if isinstance(name, str) else None
        return known.level if known is not None else None
    if tool == PRESS:
        key = arguments.get("key")
        sends = not isinstance(key, str) or key.lower() in ("enter", "return")
        return None if sends else SideEffect.READ
    if tool == TYPE and arguments.get("enter"):
        return SideEffect.QUERYABLE
    return None


def landed(
    predicate: str, before: str | None, after: str | None, _arguments: Mapping[str, Any]
) -> Landed:
    """Whether the page that shows it has changed since `before`. Raises ValueError.

    Nobody else works on these sites, so what has changed since was done by the write. A page that
    is missing, cut short, an error or asks for a password tells nothing.
    """
    if predicate != PAGE_CHANGED:
        raise ValueError(f"no predicate {predicate!r}; there is: {PAGE_CHANGED}")
    then, now = _shown(before), _shown(after)
    if then is None or now is None:
        return Landed.UNKNOWN
    return Landed.ABSENT if then == now else Landed.COMMITTED


def _shown(body: str | None) -> list[str] | None:
    """The page's lines without the numbers of elements and without messages; None if it is none."""
    if body is None or not whole(body) or body.startswith(REFUSED) or _ASKS_WHO.search(body):
        return None
    kept, deeper = [], -1
    for line in body.splitlines():
        plain = _ID.sub("", line, count=1)
        depth = len(plain) - len(plain.lstrip())
        if deeper >= 0 and depth > deeper:
            continue
        alert = _ALERT.match(plain)
        deeper = len(alert[1]) if alert else -1
        if alert is None:
            kept.append(plain)
    return kept
