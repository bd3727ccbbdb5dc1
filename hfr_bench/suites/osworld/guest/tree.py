"""The accessibility tree as XML, in OSWorld's namespaces: one element a node, named by its role.

Printed by a process of its own, since what the bus tells one process is kept there and grows stale.
An application that does not answer (it may be frozen) is left out once it has been waited for.
"""

import importlib
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

_NS = "https://accessibility.ubuntu.example.org/ns"
STATE, ATTRIBUTE, COMPONENT, TEXT, VALUE, ACTION = (
    f"{_NS}/{name}" for name in ("state", "attributes", "component", "text", "value", "action")
)
_PREFIXES = {
    "st": STATE,
    "attr": ATTRIBUTE,
    "cp": COMPONENT,
    "doc": f"{_NS}/document",
    "docattr": f"{_NS}/document/attributes",
    "txt": TEXT,
    "val": VALUE,
    "act": ACTION,
}
_DEPTH, _WIDTH = 50, 1024
_NODES = 20_000  # a spreadsheet has a million cells; those that do not show are left out
_FAR = 500  # how far from a large table's corner its first cell that shows is looked for
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]")
_TIMEOUT_MS, _STARTUP_MS = 800, 3000
_MANAGES = "manages_descendants"


class Reader:
    """Reads nodes of the bus. `atspi`: the library's binding."""

    def __init__(self, atspi: Any, errors: type[Exception]) -> None:
        self._atspi = atspi
        self._errors = errors
        self._left = _NODES

    def desktop(self) -> ET.Element:
        """All applications."""
        found = ET.Element("desktop-frame")
        top = self._atspi.get_desktop(0)
        for number in range(top.get_child_count()):
            try:
                application = top.get_child_at_index(number)
                if application is not None:
                    found.append(self.element(application, 1))
            except self._errors:
                continue
        return found

    def terminal(self) -> str | None:
        """The text of the terminal that has the focus; None if none has."""
        above = (self._atspi.Role.DESKTOP_FRAME, self._atspi.Role.APPLICATION)
        left = [self._atspi.get_desktop(0)]
        while left:
            node = left.pop()
            try:
                states = node.get_state_set()
                if node.get_role() == self._atspi.Role.TERMINAL:
                    if states.contains(self._atspi.StateType.FOCUSED):
                        atspi = self._atspi
                        told = atspi.Text.get_text(node, 0, atspi.Text.get_character_count(node))
                        return str(told).rstrip()
                    continue
                if node.get_role() in above or self._shows(node):
                    children = min(node.get_child_count(), _WIDTH)
                    left += filter(None, (node.get_child_at_index(at) for at in range(children)))
            except self._errors:
                continue
        return None

    def element(self, node: Any, depth: int) -> ET.Element:
        """A node and all below it. Raises what the bus raises for the node itself."""
        self._left -= 1
        states = [state.value_nick.replace("-", "_") for state in node.get_state_set().get_states()]
        role = (node.get_role_name() or "").strip() or "unknown"
        found = ET.Element(_name(role.replace(" ", "-")), {"name": _clean(node.get_name() or "")})
        for state in states:
            found.set(f"{{{STATE}}}{state}", "true")
        for part in (self._attributes, self._place, self._text, self._value, self._actions):
            try:
                part(node, found, states)
            except self._errors:
                continue
        if depth < _DEPTH:
            self._children(node, found, depth, only_showing=_MANAGES in states)
        return found

    def _children(self, node: Any, into: ET.Element, depth: int, *, only_showing: bool) -> None:
        count = node.get_child_count()
        numbers = (
            self._cells(node) if only_showing and count > _WIDTH else range(min(count, _WIDTH))
        )
        for number in numbers:
            if self._left <= 0:
                return
            try:
                child = node.get_child_at_index(number)
                if child is None or (only_showing and not self._shows(child)):
                    continue
                into.append(self.element(child, depth + 1))
            except self._errors:
                continue

    def _cells(self, table: Any) -> Iterator[int]:
        """The cells of a large table that show, row by row: a rectangle of it does."""
        if table.get_table_iface() is None:
            yield from range(_WIDTH)
            return
        wide = self._atspi.Table.get_n_columns(table)
        high = self._atspi.Table.get_n_rows(table)
        first = (0, 0)
        for row in range(min(high, _FAR)):
            for column in range(min(wide, _FAR)):
                if self._shows(table.get_child_at_index(row * wide + column)):
                    first = (row, column)
                    break
            else:
                continue
            break
        for row in range(first[0], high):
            column = first[1]
            while column < wide and self._shows(table.get_child_at_index(row * wide + column)):
                yield row * wide + column
                column += 1
            if column == first[1]:
                return

    def _shows(self, node: Any) -> bool:
        return bool(node.get_state_set().contains(self._atspi.StateType.SHOWING))

    def _attributes(self, node: Any, found: ET.Element, _states: list[str]) -> None:
        for name, value in (node.get_attributes() or {}).items():
            if name:
                found.set(f"{{{ATTRIBUTE}}}{_name(name)}", _clean(value))

    def _place(self, node: Any, found: ET.Element, states: list[str]) -> None:
        component = node.get_component_iface()
        if component is not None and "visible" in states and "showing" in states:
            box = component.get_extents(self._atspi.CoordType.SCREEN)
            found.set(f"{{{COMPONENT}}}screencoord", str((box.x, box.y)))
            found.set(f"{{{COMPONENT}}}size", str((box.width, box.height)))

    def _text(self, node: Any, found: ET.Element, _states: list[str]) -> None:
        for interface in ("image", "selection"):
            if getattr(node, f"get_{interface}_iface")() is not None:
                found.set(interface, "true")
        if node.get_text_iface() is not None:
            atspi = self._atspi
            told = atspi.Text.get_text(node, 0, atspi.Text.get_character_count(node))
            found.text = _clean(told.replace("\ufffc", "").replace("\ufffd", "")) or None

    def _value(self, node: Any, found: ET.Element, _states: list[str]) -> None:
        if node.get_value_iface() is None:
            return
        value = self._atspi.Value
        found.set(f"{{{VALUE}}}value", str(value.get_current_value(node)))
        found.set(f"{{{VALUE}}}min", str(value.get_minimum_value(node)))
        found.set(f"{{{VALUE}}}max", str(value.get_maximum_value(node)))
        found.set(f"{{{VALUE}}}step", str(value.get_minimum_increment(node)))

    def _actions(self, node: Any, found: ET.Element, _states: list[str]) -> None:
        if node.get_action_iface() is None:
            return
        action = self._atspi.Action
        for number in range(action.get_n_actions(node)):
            name = _name((action.get_action_name(node, number) or "").replace(" ", "-"))
            described = action.get_action_description(node, number) or ""
            found.set(f"{{{ACTION}}}{name}_desc", _clean(described))
            keys = action.get_key_binding(node, number) or ""
            found.set(f"{{{ACTION}}}{name}_kb", _clean(keys))


def print_tree() -> None:
    """Print the tree of the desktop to stdout."""
    for prefix, uri in _PREFIXES.items():
        ET.register_namespace(prefix, uri)
    sys.stdout.write(ET.tostring(_reader().desktop(), encoding="unicode"))


def print_terminal() -> None:
    """Print the text of the terminal that has the focus, as JSON; null if none has."""
    sys.stdout.write(json.dumps(_reader().terminal()))


def _reader() -> Reader:
    gi = importlib.import_module("gi")
    gi.require_version("Atspi", "2.0")
    atspi = importlib.import_module("gi.repository.Atspi")
    atspi.init()
    atspi.set_timeout(_TIMEOUT_MS, _STARTUP_MS)
    return Reader(atspi, importlib.import_module("gi.repository.GLib").Error)


def _clean(text: str) -> str:
    return _NO_XML.sub("", text)


def _name(text: str) -> str:
    """As an XML name."""
    cleaned = _NO_NAME.sub("_", text)
    return cleaned if cleaned[:1].isalpha() or cleaned[:1] == "_" else f"_{cleaned}"
