"""A real page's elements, by the browser's own accessibility tree, and how to get at them.

Through the browser's protocol (CDP): a page is neither changed nor told.
"""

from typing import TYPE_CHECKING, Any

from hfr_bench.suites.webarena.browse.actions import Action
from hfr_bench.suites.webarena.browse.driver import CannotError, Node, squeezed

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession

_LAYOUT = frozenset(
    {
        *("none", "generic", "InlineTextBox", "LineBreak", "ListMarker", "LabelText", "rowgroup"),
        *("MenuListPopup", "Section", "Iframe", "Legend", "superscript", "strong", "emphasis"),
        *("LayoutTable", "LayoutTableRow", "LayoutTableCell"),
    }
)
_LEAVES = frozenset(
    {"button", "textbox", "searchbox", "spinbutton", "option", "image", "slider", "menuitem"}
)
_SAID = frozenset({"link", "heading"})
"""Roles whose name is the text in them, which is therefore not told again."""

_STATES = ("checked", "selected", "disabled", "required", "expanded", "focused")
_ALWAYS = {"checkbox": "checked", "radio": "checked", "option": "selected"}

_FOCUS = """function () {
  const field = this.matches && this.matches('input, textarea');
  const odd = field && ['checkbox', 'radio', 'submit', 'button', 'file', 'image'];
  if (!(field && !odd.includes(this.type)) && !this.isContentEditable) return 'no';
  if (this.disabled || this.readOnly) return 'disabled';
  this.focus();
  if (field) this.select(); else getSelection().selectAllChildren(this);
  return 'yes';
}"""
_CHOOSE = """function (wanted) {
  const list = this.tagName === 'OPTION' ? this.closest('select') : this;
  if (!list || list.tagName !== 'SELECT') return ['no', []];
  if (list.disabled) return ['disabled', []];
  const words = one => one.textContent.trim().replace(/\\s+/g, ' ');
  const options = [...list.options];
  const found = options.find(one => words(one) === wanted)
    || options.find(one => one.value === wanted);
  if (!found) return ['no', options.map(words)];
  found.selected = true;
  list.dispatchEvent(new Event('input', {bubbles: true}));
  list.dispatchEvent(new Event('change', {bubbles: true}));
  return ['yes', []];
}"""

Known = list[tuple[Node, int]]


def tree(tools: "CDPSession") -> Known:
    """The page's elements, numbered from 1 in the document's order, with the browser's own ids."""
    nodes = tools.send("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}
    found: Known = []

    def visit(node: dict[str, Any], depth: int, *, said: bool) -> None:
        role, name = _word(node, "role"), squeezed(_word(node, "name"))
        shown = not node.get("ignored") and role not in _LAYOUT
        if role == "StaticText" and (said or not name):
            return
        if shown:
            made = Node(len(found) + 1, depth, role, name, _states(node, role))
            found.append((made, node.get("backendDOMNodeId", 0)))
            if role in _LEAVES or role == "StaticText":
                return
            depth += 1
            said = said or role in _SAID
        for child in node.get("childIds", ()):
            if child in by_id:
                visit(by_id[child], depth, said=said)

    if nodes:
        visit(nodes[0], 0, said=False)
    return found


def _word(node: dict[str, Any], key: str) -> str:
    return str(node.get(key, {}).get("value", ""))


def _states(node: dict[str, Any], role: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    if value := _word(node, "value"):
        found.append(("value", value))
    told = {one["name"]: one["value"].get("value") for one in node.get("properties", ())}
    for name in _STATES:
        always = _ALWAYS.get(role) == name
        if role == "RootWebArea" or (not told.get(name) and not always):
            continue
        if told.get(name) == "false" and not always:
            continue
        found.append((name, str(told.get(name) or False).lower()))
    return tuple(found)


def middle(tools: "CDPSession", backend: int, action: Action) -> tuple[float, float]:
    """The point at which an element can be clicked. Raises CannotError if it is nowhere."""
    where: Any = {"backendNodeId": backend}
    try:
        tools.send("DOM.scrollIntoViewIfNeeded", where)
        quads = tools.send("DOM.getContentQuads", where)["quads"]
    except Exception as error:  # no layout, or gone meanwhile
        raise CannotError(f"{action.aim} is not to be seen on this page") from error
    if not quads:
        raise CannotError(f"{action.aim} is not to be seen on this page")
    quad = quads[0]
    return sum(quad[0::2]) / 4, sum(quad[1::2]) / 4


def focus(tools: "CDPSession", backend: int, action: Action) -> None:
    """Put the cursor into a field, with all that is in it selected. Raises CannotError."""
    said = _call(tools, backend, _FOCUS)
    if said != "yes":
        why = "is disabled" if said == "disabled" else "takes no text"
        raise CannotError(f"nothing can be typed into {action.aim}: it {why}")


def choose(tools: "CDPSession", backend: int, action: Action) -> None:
    """Choose an option by its words, or else its value. Raises CannotError."""
    said, there = _call(tools, backend, _CHOOSE, squeezed(action.text))
    if said == "disabled":
        raise CannotError(f"{action.aim} is disabled")
    if said != "yes":
        raise CannotError(
            f"{action.aim} has no option {squeezed(action.text)!r}; there are: "
            f"{', '.join(there) or 'none'}"
        )


def _call(tools: "CDPSession", backend: int, code: str, *arguments: Any) -> Any:
    found = tools.send("DOM.resolveNode", {"backendNodeId": backend})
    answer = tools.send(
        "Runtime.callFunctionOn",
        {
            "objectId": found["object"]["objectId"],
            "functionDeclaration": code,
            "arguments": [{"value": one} for one in arguments],
            "returnByValue": True,
        },
    )
    return answer["result"].get("value")
