"""The tree of a page without a browser: roles, names and states as an accessibility tree has them.

Read from the HTML alone, after the rules by which browsers name elements (HTML-AAM), as far as
pages without scripts and style sheets need them.
"""

from hfr_bench.suites.webarena.browse.css import value_of
from hfr_bench.suites.webarena.browse.dom import Element
from hfr_bench.suites.webarena.browse.driver import Node, squeezed

_ROLES = {
    "a": "link",
    "button": "button",
    "textarea": "textbox",
    "select": "combobox",
    "option": "option",
    "h1": "heading",
    "h2": "heading",
    "h3": "heading",
    "h4": "heading",
    "h5": "heading",
    "h6": "heading",
    "img": "image",
    "ul": "list",
    "ol": "list",
    "li": "listitem",
    "table": "table",
    "tr": "row",
    "td": "cell",
    "th": "columnheader",
    "nav": "navigation",
    "main": "main",
    "article": "article",
    "p": "paragraph",
    "blockquote": "blockquote",
    "fieldset": "group",
    "dialog": "dialog",
    "summary": "DisclosureTriangle",
}
_INPUTS = {
    "checkbox": "checkbox",
    "radio": "radio",
    "submit": "button",
    "button": "button",
    "reset": "button",
    "image": "button",
    "search": "searchbox",
    "number": "spinbutton",
    "range": "slider",
}
_FROM_CONTENT = frozenset(
    {"link", "button", "heading", "cell", "columnheader", "option", "row", "DisclosureTriangle"}
)
_FIELDS = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})
_LEAVES = frozenset({"button", "textbox", "searchbox", "spinbutton", "option", "image", "slider"})

Outline = tuple[tuple[Node, Element], ...]


def outline(root: Element, focus: Element | None = None) -> Outline:
    """The elements that are shown, in the document's order, numbered from 1.

    Text that stands by itself is a `StaticText`. `focus`: the element that has it.
    """
    found: list[tuple[Node, Element]] = []
    title = root.first("title")
    labels = _labels(root)

    def add(element: Element, depth: int, role: str, name: str) -> None:
        states = _states(element, role, focus)
        found.append((Node(len(found) + 1, depth, role, name, states), element))

    def visit(element: Element, depth: int, *, plain: bool) -> None:
        """`plain`: text in here is not yet said by a name."""
        role = role_of(element)
        if role:
            name = name_of(element, role, labels)
            add(element, depth, role, name)
            if role in _LEAVES:
                return
            depth += 1
            plain = plain and role not in ("link", "heading")
        for child in element.children:
            if isinstance(child, Element):
                if child.visible:
                    visit(child, depth, plain=plain)
            elif plain and (text := squeezed(child)):
                add(element, depth, "StaticText", text)

    add(root, 0, "RootWebArea", squeezed(title.text) if title else "")
    visit(root, 1, plain=True)
    return tuple(found)


def role_of(element: Element) -> str:
    """Its role; "" for an element that is only there for the layout."""
    if given := element.get("role"):
        return given
    if element.tag == "input":
        return _INPUTS.get(element.get("type").lower(), "textbox")
    if element.tag == "a" and "href" not in element.attrs:
        return ""
    return _ROLES.get(element.tag, "")


def name_of(element: Element, role: str, labels: dict[str, Element]) -> str:
    """Its accessible name: `aria-label`, a label, what is in it, or its title."""
    if given := element.get("aria-label"):
        return squeezed(given)
    if element.tag == "input" and role == "button":
        default = {"submit": "Submit", "reset": "Reset"}.get(element.get("type").lower(), "")
        return squeezed(element.get("value") or element.get("alt") or default)
    if element.tag in ("input", "textarea", "select"):
        label = labels.get(element.get("id")) or element.above("label")
        if label is not None:
            return squeezed(_words(label))
        return squeezed(element.get("title") or element.get("placeholder"))
    if element.tag == "img":
        return squeezed(element.get("alt") or element.get("title"))
    if role in _FROM_CONTENT:
        return squeezed(_words(element)) or squeezed(element.get("title"))
    return ""


def _words(element: Element) -> str:
    """The text of an element, with the names of the pictures in it and without its fields."""
    pieces = []
    for child in element.children:
        if isinstance(child, str):
            pieces.append(child)
        elif child.tag == "img":
            pieces.append(f" {child.get('alt')} ")
        elif child.visible and child.tag not in ("select", "textarea", "input"):
            edge = "" if role_of(child) == "" and child.tag not in ("div", "br") else " "
            pieces.append(f"{edge}{_words(child)}{edge}")
    return "".join(pieces)


def _states(element: Element, role: str, focus: Element | None) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    if role in _FIELDS and (value := value_of(element)):
        found.append(("value", value if element.tag != "select" else chosen(element)))
    if role in ("checkbox", "radio"):
        found.append(("checked", str(element.checked).lower()))
    if role == "option":
        found.append(("selected", str(element.checked).lower()))
    if "disabled" in element.attrs and role in (*_FIELDS, "button", "checkbox", "radio"):
        found.append(("disabled", "true"))
    if "required" in element.attrs and role in _FIELDS:
        found.append(("required", "true"))
    if element is focus and role != "StaticText":
        found.append(("focused", "true"))
    return tuple(found)


def chosen(element: Element) -> str:
    """The words of the option that a select shows."""
    options = [one for one in element.walk() if one.tag == "option"]
    found = next((one for one in options if one.checked), options[0] if options else None)
    return squeezed(found.text) if found is not None else ""


def _labels(root: Element) -> dict[str, Element]:
    return {one.get("for"): one for one in root.walk() if one.tag == "label" and one.get("for")}
