"""What a screen shows, as an agent is told: digests and words; the pictures lie beside. Pure.

A picture is told by its digest and size; a tree of elements as one line an element, by its digest.
So traces stay small and two trials can be held against each other. Files beside are an episode's
own affair (`observe.py`).
"""

import json
import re
import struct
from collections.abc import Iterator
from typing import Any, Protocol
from xml.etree import ElementTree as ET

from hfr_bench.model.record import text_digest

MOST_LINES = 400
_PNG = b"\x89PNG\r\n\x1a\n"
_STATES = ("focused", "checked", "selected", "expanded")


class Screen(Protocol):
    """A desk's screen. Each method may raise InfrastructureError."""

    def act(self, name: str, code: str, timeout_s: float, marked: str = "") -> Any:
        """Run a piece of Python with pyautogui; logged by its name. Gives a `desk.Ran`."""
        ...

    def rest(self) -> None:
        """Let a moment pass: WAIT."""
        ...

    def picture(self) -> bytes:
        """A PNG."""
        ...

    def tree(self) -> str:
        """The accessibility tree, as XML."""
        ...


def size_of(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG. Raises ValueError: it is none."""
    if not png.startswith(_PNG) or len(png) < 24:
        raise ValueError("the screenshot is no PNG")
    width, height = struct.unpack(">II", png[16:24])
    return int(width), int(height)


def picture_told(digest: str, png: bytes) -> str:
    """What `screenshot` answers. Raises ValueError."""
    width, height = size_of(png)
    return json.dumps({"screenshot": digest, "width": width, "height": height})


def tree_told(xml: str) -> str:
    """What `accessibility_tree` answers: at most MOST_LINES elements are shown.

    Raises ValueError: it is no XML.
    """
    lines = list(shown(xml))
    held = "\n".join(lines[:MOST_LINES])
    told = {"digest": text_digest("\n".join(lines)), "elements": len(lines)}
    return json.dumps({**told, "accessibility_tree": held}, ensure_ascii=False)


def shown(xml: str) -> Iterator[str]:
    """The elements that have a name, a text or can be acted upon, in order, one line each."""
    if not xml.strip():
        return
    try:
        root = ET.fromstring(xml)  # noqa: S314 - our own guest's answer
    except ET.ParseError as error:
        raise ValueError(f"the accessibility tree is no XML: {error}") from error
    for element in root.iter():
        found = {_local(name): value for name, value in element.attrib.items()}
        text = " ".join((element.text or "").split())
        name = found.get("name", "")
        if not name and not text:
            continue
        states = [state for state in _STATES if found.get(state) == "true"]
        place = " ".join(re.findall(r"-?\d+", found.get("screencoord", "")))
        parts = [_local(element.tag), json.dumps(name, ensure_ascii=False)]
        parts += [f"= {json.dumps(text, ensure_ascii=False)}"] if text and text != name else []
        parts += [f"at {place}"] if place else []
        yield " ".join((*parts, *states))


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]
