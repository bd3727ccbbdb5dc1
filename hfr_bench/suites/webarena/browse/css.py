"""CSS selectors, as far as WebArena's locators go, and the locators themselves without scripts.

Selectors: `tag`, `#id`, `.class`, `[name]`, `[name="v"]` and `^= *= $= ~=`, `:first-child`,
`:last-child`, `:nth-child(n)`, descendants, children (`>`), lists (`,`).
"""

import re
from collections.abc import Callable

from hfr_bench.suites.webarena.browse.dom import Element

Test = Callable[[Element], bool]

_PART = re.compile(
    r"""(?P<tag>\*|[\w-]+) | \#(?P<id>[\w-]+) | \.(?P<cls>[\w-]+)
      | \[\s*(?P<name>[\w:-]+)\s*(?:(?P<op>[~^$*]?=)\s*(?P<quote>["']?)(?P<value>.*?)
        (?P=quote)\s*)?\]
      | :(?P<pseudo>first-child|last-child|nth-child\((?P<n>\d+)\))""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*(>)\s*|\s+")
_ONE = re.compile(
    r"document\.(?:querySelector\((?P<q>['\"`])(?P<css>.*?)(?P=q)\)|getElementById\((?P<g>['\"`])"
    r"(?P<id>.*?)(?P=g)\)|(?P<body>body|documentElement))(?P<rest>\??\.\w+)?;?",
    re.DOTALL,
)
_ALL = re.compile(
    r"\[\.\.\.document\.(?:querySelectorAll\((?P<q>['\"`])(?P<css>.*?)(?P=q)\)|"
    r"getElementsByClassName\((?P<g>['\"`])(?P<cls>.*?)(?P=g)\))\]\.map\(\s*(?P<x>\w+)\s*=>\s*"
    r"(?P=x)(?P<rest>\??\.\w+)\s*\)\.join\((?P<j>['\"`])(?P<sep>.*?)(?P=j)\);?",
    re.DOTALL,
)


class SelectorError(ValueError):
    """A selector, or a locator, that is not understood here."""


def select(root: Element, selector: str) -> list[Element]:
    """All elements that match, in the document's order. Raises SelectorError."""
    chains = [_chain(one.strip()) for one in _listed(selector)]
    return [one for one in root.walk() if any(_matches(one, chain) for chain in chains)]


def locate(root: Element, locator: str) -> str:
    """What a locator gives of a document; "" if nothing. Raises SelectorError."""
    locator = locator.strip()
    if not locator:
        return root.inner
    if one := _ONE.fullmatch(locator):
        css = "body" if one["body"] == "body" else "html"
        css = f"#{one['id']}" if one["id"] else one["css"] or css
        found = select(root, css)
        return read(found[0], one["rest"] or ".outerHTML") if found else ""
    if many := _ALL.fullmatch(locator):
        css = many["css"] or "".join(f".{name}" for name in many["cls"].split())
        sep = many["sep"].replace("\\n", "\n")
        return sep.join(read(one, many["rest"]) for one in select(root, css))
    raise SelectorError(
        f"a locator that needs a browser with scripts (the chromium driver): {locator}"
    )


def read(element: Element, name: str) -> str:
    """A property of an element (`.outerText`), as JavaScript would put it."""
    name = name.lstrip("?.")
    if name in ("outerText", "innerText"):
        return element.shown
    if name == "textContent":
        return element.text
    if name == "innerHTML":
        return element.inner
    if name == "outerHTML":
        return element.html
    if name == "value":
        return value_of(element)
    if name == "checked":
        return str(element.checked).lower()
    if name in ("href", "src", "id", "className"):
        return element.get("class" if name == "className" else name)
    raise SelectorError(f"a property that is not known without scripts: {name}")


def value_of(element: Element) -> str:
    """What a field holds; of a `select`, the value of the option that it shows."""
    if element.tag != "select":
        return element.value
    options = [one for one in element.walk() if one.tag == "option"]
    chosen = next((one for one in options if one.checked), options[0] if options else None)
    if chosen is None:
        return ""
    return chosen.value if "value" in chosen.attrs else chosen.shown


def _listed(selector: str) -> list[str]:
    return re.split(r",(?![^\[]*\])", selector)


Chain = list[tuple[str, list[Test]]]


def _chain(text: str) -> Chain:
    """Its compounds, the last one last, each with what joins it to the one before."""
    chain: Chain = []
    joiner, tests, at = "", list[Test](), 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            chain.append((joiner, tests))
            joiner, tests, at = space[1] or " ", [], space.end()
        elif part := _PART.match(text, at):
            tests.append(_test(part))
            at = part.end()
        else:
            raise SelectorError(f"a selector that is not understood: {text[at:]!r} in {text!r}")
    if not tests:
        raise SelectorError(f"an empty selector in {text!r}")
    return [*chain, (joiner, tests)]


def _test(part: re.Match[str]) -> Test:
    if tag := part["tag"]:
        return lambda one: tag == "*" or one.tag == tag.lower()
    if name := part["id"]:
        return lambda one: one.get("id") == name
    if name := part["cls"]:
        return lambda one: name in one.get("class").split()
    if part["pseudo"]:
        return _pseudo(part["pseudo"], int(part["n"] or 1))
    name, operator, value = part["name"], part["op"], part["value"] or ""
    if operator is None:
        return lambda one: name in one.attrs
    return lambda one: name in one.attrs and _compares(one.attrs[name], operator, value)


def _compares(found: str, operator: str, value: str) -> bool:
    if operator == "=":
        return found == value
    if operator == "~=":
        return value in found.split()
    tests = {"^=": found.startswith, "$=": found.endswith, "*=": found.__contains__}
    return bool(value) and tests[operator](value)


def _pseudo(name: str, n: int) -> Test:
    def test(one: Element) -> bool:
        siblings = list(one.parent.elements) if one.parent else [one]
        at = next(k for k, sibling in enumerate(siblings, 1) if sibling is one)
        return at == (len(siblings) if name == "last-child" else n)

    return test


def _matches(one: Element, chain: Chain) -> bool:
    joiner, tests = chain[-1]
    if one.tag == "#document" or not all(test(one) for test in tests):
        return False
    if len(chain) == 1:
        return True
    above = one.parent
    while above is not None:
        if _matches(above, chain[:-1]):
            return True
        if joiner == ">":
            return False
        above = above.parent
    return False
