"""A page as its HTML says it: elements, their text, and what a user has put into its fields.

Reads what servers write, in a browser's way where it matters: void elements, tags that end
implicitly, text that is none (scripts, style sheets).
"""

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"),
        *("source", "track", "wbr"),
    }
)
BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "details", "div"),
        *("dl", "dt", "fieldset", "figure", "footer", "form", "h1", "h2", "h3", "h4"),
        *("h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre"),
        *("section", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
    }
)
HIDDEN = frozenset(["head", "script", "style", "template", "noscript", "title", "meta", "link"])
_LITERAL = frozenset({"script", "style", "template", "noscript"})

# A tag that begins ends these, if one of them is open (and none of its own holders is nearer).
_ENDS = {
    "li": (("li",), ("ul", "ol")),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "option": (("option",), ("select", "datalist")),
    "optgroup": (("option", "optgroup"), ("select",)),
    "tr": (("tr", "td", "th"), ("table",)),
    "td": (("td", "th"), ("tr", "table")),
    "th": (("td", "th"), ("tr", "table")),
    "tbody": (("tbody", "thead", "tfoot", "tr", "td", "th"), ("table",)),
    "tfoot": (("tbody", "thead", "tfoot", "tr", "td", "th"), ("table",)),
    "p": (("p",), ("div", "td", "li", "section", "article", "form")),
}
_NO_P = BLOCKS - {"br", "option", "td", "th", "tr", "tbody", "thead", "tfoot", "li", "dt", "dd"}


class Element:
    """An element: attributes, children (elements and text), and the state a user gave it.

    `value`, `checked`: of a field, as it stands; they begin as the HTML says.
    """

    __slots__ = ("attrs", "checked", "children", "parent", "tag", "value")

    def __init__(self, tag: str, attrs: dict[str, str], parent: "Element | None" = None) -> None:
        self.tag, self.attrs, self.parent = tag, attrs, parent
        self.children: list[Element | str] = []
        self.value = attrs.get("value", "")
        self.checked = "checked" in attrs or (tag == "option" and "selected" in attrs)

    def get(self, name: str) -> str:
        """An attribute; "" where there is none."""
        return self.attrs.get(name, "")

    @property
    def elements(self) -> "Iterator[Element]":
        """Its children that are elements."""
        return (child for child in self.children if isinstance(child, Element))

    def walk(self) -> "Iterator[Element]":
        """It and all below it, in the document's order."""
        yield self
        for child in self.elements:
            yield from child.walk()

    def first(self, *tags: str) -> "Element | None":
        """The first element below it of one of these tags."""
        return next((one for one in self.walk() if one is not self and one.tag in tags), None)

    def above(self, *tags: str) -> "Element | None":
        """The nearest element around it of one of these tags."""
        found = self.parent
        while found is not None and found.tag not in tags:
            found = found.parent
        return found

    @property
    def text(self) -> str:
        """All text in it, as it stands (`textContent`)."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def shown(self) -> str:
        """Its text as shown: one line a block, without what is hidden (about `outerText`)."""
        lines = "".join(self._pieces()).split("\n")
        return "\n".join(line for line in (" ".join(one.split()) for one in lines) if line)

    def _pieces(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child.replace("\n", " ")
            elif child.visible:
                edge = "\n" if child.tag in BLOCKS else ""
                yield edge
                yield from child._pieces()  # noqa: SLF001 - of its own kind
                yield edge or ("\t" if child.tag in ("td", "th") else "")

    @property
    def visible(self) -> bool:
        """Whether the HTML alone does not hide it."""
        style = self.get("style").replace(" ", "").lower()
        hidden = "hidden" in self.attrs or self.get("aria-hidden") == "true"
        unseen = "display:none" in style or "visibility:hidden" in style
        is_hidden_field = self.tag == "input" and self.get("type").lower() == "hidden"
        return not (self.tag in HIDDEN or hidden or unseen or is_hidden_field)

    @property
    def html(self) -> str:
        """It as HTML."""
        told = "".join(f' {name}="{_quoted(value)}"' for name, value in self.attrs.items())
        head = f"<{self.tag}{told}>"
        return head if self.tag in VOID else f"{head}{self.inner}</{self.tag}>"

    @property
    def inner(self) -> str:
        """What is in it, as HTML."""
        raw = self.tag in _LITERAL
        return "".join(
            (child if raw else _escaped(child)) if isinstance(child, str) else child.html
            for child in self.children
        )


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("#document", {})
        self._open = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._end_implied(tag)
        named: dict[str, str] = {}
        for name, value in attrs:
            named.setdefault(name, value or "")
        made = Element(tag, named, self._open)
        self._open.children.append(made)
        if tag not in VOID:
            self._open = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # "/>" means nothing in HTML

    def handle_endtag(self, tag: str) -> None:
        found = self._open
        while found.tag != tag and found.parent is not None:
            found = found.parent
        if found.tag == tag and found.parent is not None:
            self._open = found.parent

    def handle_data(self, data: str) -> None:
        self._open.children.append(data)

    def _end_implied(self, tag: str) -> None:
        ends, stops = _ENDS.get(tag, (("p",), ()) if tag in _NO_P else ((), ()))
        found, last = self._open, None
        while found.parent is not None and found.tag not in stops:
            if found.tag in ends:
                last = found
            elif last is None and found.tag not in ("b", "i", "em", "strong", "span", "a", "u"):
                break
            found = found.parent
        if last is not None and last.parent is not None:
            self._open = last.parent


def parse(html: str) -> Element:
    """The document. Never raises: whatever text it is, it is some document."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    for one in reader.root.walk():
        if one.tag == "textarea":
            one.value = one.text.removeprefix("\n")
    return reader.root


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")
