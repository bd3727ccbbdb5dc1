"""What a form sends: its fields as they stand, and the button that was pressed."""

from collections.abc import Iterator
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from hfr_bench.suites.webarena.browse.css import value_of
from hfr_bench.suites.webarena.browse.dom import Element
from hfr_bench.suites.webarena.browse.fetching import Asked

MULTIPART = "multipart/form-data"
URLENCODED = "application/x-www-form-urlencoded"
_BOUNDARY = "----hfr-bench-form-boundary"
_UNSENT = frozenset({"submit", "button", "reset", "image", "file"})


def form_of(element: Element, root: Element) -> Element | None:
    """The form that an element belongs to."""
    if name := element.get("form"):
        return next(
            (one for one in root.walk() if one.tag == "form" and one.get("id") == name), None
        )
    return element.above("form")


def submits(element: Element) -> bool:
    """Whether pressing it sends its form."""
    kind = element.get("type").lower()
    if element.tag == "button":
        return kind in ("", "submit")
    return element.tag == "input" and kind in ("submit", "image")


def fields(form: Element, root: Element, pressed: Element | None) -> Iterator[tuple[str, str]]:
    """Names and values of all that a form sends, in the document's order."""
    for one in root.walk():
        name, kind = one.get("name"), one.get("type").lower()
        if not name or "disabled" in one.attrs or form_of(one, root) is not form:
            continue
        if one.tag == "select":
            yield from ((name, value) for value in _chosen(one))
        elif one.tag == "textarea":
            yield name, one.value.replace("\r\n", "\n").replace("\n", "\r\n")
        elif one.tag == "button" or kind in _UNSENT:
            if one is pressed and kind != "file":
                yield name, one.get("value")
        elif one.tag == "input" and (kind not in ("checkbox", "radio") or one.checked):
            checkable = kind in ("checkbox", "radio")
            yield name, one.attrs.get("value", "on") if checkable else one.value


def _chosen(select: Element) -> list[str]:
    options = [one for one in select.walk() if one.tag == "option"]
    found = [one for one in options if one.checked]
    if not found and "multiple" not in select.attrs:
        return [value_of(select)] if options else []
    return [one.value if "value" in one.attrs else one.shown for one in found]


def lacking(form: Element, root: Element) -> Element | None:
    """A field that must be filled in and is not; browsers do not send such a form."""
    if "novalidate" in form.attrs:
        return None
    for one in root.walk():
        if "required" not in one.attrs or form_of(one, root) is not form:
            continue
        kind = one.get("type").lower()
        filled = one.checked if kind == "checkbox" else bool(value_of(one))
        if kind != "radio" and not filled:
            return one
    return None


def asked(form: Element, root: Element, pressed: Element | None, page_url: str) -> Asked:
    """The request of a form that is sent from a page."""

    def said(name: str) -> str:
        own = pressed.get(f"form{name}") if pressed is not None else ""
        return own or form.get(name)

    url = urljoin(page_url, said("action") or page_url)
    found = list(fields(form, root, pressed))
    if said("method").lower() != "post":
        return Asked(
            urlunsplit(urlsplit(url)._replace(query=urlencode(found), fragment="")),
            referer=page_url,
        )
    if said("enctype").lower() == MULTIPART:
        body = "".join(
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in found
        )
        kind = f"{MULTIPART}; boundary={_BOUNDARY}"
        return Asked(url, "POST", f"{body}--{_BOUNDARY}--\r\n".encode(), kind, page_url)
    return Asked(url, "POST", urlencode(found).encode(), URLENCODED, page_url)
