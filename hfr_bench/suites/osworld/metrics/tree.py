"""The metric of what is on the screen: its accessibility tree."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lxml import cssselect, etree

from hfr_bench.suites.osworld.errors import UngradeableError
from hfr_bench.suites.osworld.metrics.fuzzy import likeness
from hfr_bench.suites.osworld.metrics.text import Rules

_NAMESPACES = {
    "st": "state",
    "attr": "attributes",
    "cp": "component",
    "doc": "document",
    "docattr": "document/attributes",
    "txt": "text",
    "val": "value",
    "act": "action",
}
_ONLY = {"windows": {"class": "class"}, "macos": {"role": "role"}}


def check_accessibility_tree(
    result: str, rules: Sequence[Mapping[str, Any]], osname: str = "ubuntu"
) -> float:
    """Whether elements are on the screen: `[{xpath | selectors, text?, exact?}]`, multiplied."""
    base = f"https://accessibility.{osname}.example.org/ns/"
    known = {**_NAMESPACES, **_ONLY.get(osname, {})}
    namespaces = {key: base + name for key, name in known.items()}
    tree, total = etree.fromstring(result.encode()), 1.0
    for rule in rules:
        elements = _selector(rule, namespaces)(tree)
        if not elements:
            return 0.0
        if "text" in rule:
            total *= max(0.0, *(_alike(rule, element.text) for element in elements))
    return total


def _selector(rule: Rules, namespaces: Mapping[str, str]) -> Callable[[Any], Any]:
    known = dict(namespaces)
    selector: Callable[[Any], Any]
    if "xpath" in rule:
        selector = etree.XPath(rule["xpath"], namespaces=known)
    elif "selectors" in rule:
        selector = cssselect.CSSSelector(", ".join(rule["selectors"]), namespaces=known)
    else:
        raise UngradeableError("a rule on the tree has neither xpath nor selectors")
    return selector


def _alike(rule: Rules, text: str | None) -> float:
    if rule["exact"]:
        return float(rule["text"] == (text or None))
    return likeness(rule["text"], text or None)  # type: ignore[arg-type]  # as upstream: 0 of None
