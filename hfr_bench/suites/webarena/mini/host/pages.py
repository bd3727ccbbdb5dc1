"""Requests, answers, and the plain HTML that the sites are made of."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Any
from urllib.parse import parse_qs, quote

from .store import Store

TODAY = "2026-03-02"
"""The sites' own date: a page must not differ from run to run."""


@dataclass(slots=True)
class Request:
    """One HTTP request. `form`, `query`: the last value of each name. `user`: "" = signed out."""

    store: Store
    site: str
    method: str
    path: str
    query: dict[str, str]
    form: dict[str, str]
    token: str = ""
    user: str = ""
    parts: dict[str, str] = field(default_factory=dict)

    def asked(self, name: str) -> str:
        """A field of the form, without blanks around it; "" where it is missing."""
        return self.form.get(name, "").strip()


@dataclass(slots=True)
class Response:
    """One answer. `headers`: besides the length."""

    status: int
    body: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    kind: str = "text/html; charset=utf-8"


def fields(text: str) -> dict[str, str]:
    """A query string or a form's body as names and values."""
    return {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}


def redirect(where: str) -> Response:
    """Another page is to be shown: 302."""
    return Response(302, headers=[("location", where)])


def flash(request: Request, message: str) -> None:
    """A message for the next page that this session is shown."""
    request.store.run("UPDATE sessions SET flash = ? WHERE token = ?", message, request.token)


def page(
    request: Request, title: str, nav: Iterable[str], *parts: str, status: int = 200
) -> Response:
    """A whole page: navigation, the session's message, the title and the parts."""
    said = request.store.row("SELECT flash FROM sessions WHERE token = ?", request.token)
    message = said["flash"] if said else ""
    if message:
        flash(request, "")
    note = f'<div role="alert" class="message">{escape(message)}</div>' if message else ""
    body = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        f"</title></head>\n<body><nav>{' '.join(nav)}</nav>\n<main>{note}<h1>{escape(title)}</h1>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )
    return Response(status, body)


def link(where: str, text: str) -> str:
    """A link, by its words."""
    return f'<a href="{escape(where)}">{escape(text)}</a>'


def text(words: Any, tag: str = "p", name: str = "") -> str:
    """Words in an element; `name`: its class."""
    marked = f' class="{name}"' if name else ""
    return f"<{tag}{marked}>{escape(str(words))}</{tag}>"


def form(action: str, *inner: str, method: str = "post") -> str:
    """What is sent to `action` by one of its buttons."""
    return f'<form action="{escape(action)}" method="{method}">{" ".join(inner)}</form>'


def entry(label: str, name: str, value: Any = "", kind: str = "text") -> str:
    """A line to fill in, by its label."""
    given = f' value="{escape(str(value))}"' if value != "" else ""
    return f'<label>{escape(label)} <input type="{kind}" name="{escape(name)}"{given}></label>'


def area(label: str, name: str, value: str = "") -> str:
    """Several lines to fill in."""
    named = f'<label>{escape(label)} <textarea name="{escape(name)}">'
    return f"{named}{escape(value)}</textarea></label>"


def choice(label: str, name: str, options: Iterable[tuple[str, str]], chosen: str = "") -> str:
    """One of several: pairs of value and words."""
    shown = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>'
        f"{escape(words)}</option>"
        for value, words in options
    )
    return f'<label>{escape(label)} <select name="{escape(name)}">{shown}</select></label>'


def hidden(name: str, value: Any) -> str:
    """A field that nobody sees."""
    return f'<input type="hidden" name="{escape(name)}" value="{escape(str(value))}">'


def button(label: str, name: str = "", value: str = "") -> str:
    """What sends its form; a name and a value go with it."""
    extra = f' name="{escape(name)}" value="{escape(value)}"' if name else ""
    return f'<button type="submit"{extra}>{escape(label)}</button>'


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], name: str = "") -> str:
    """A table; cells are HTML already."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    marked = f' class="{name}"' if name else ""
    return f"<table{marked}><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table>"


def listing(items: Iterable[str], name: str = "") -> str:
    """A list; items are HTML already."""
    marked = f' class="{name}"' if name else ""
    return f"<ul{marked}>" + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>"


def money(cents: int) -> str:
    """Such as "$12.50"."""
    return f"${cents // 100}.{cents % 100:02d}"


def cents(words: str) -> int | None:
    """Of "12.50" or "$12.50"; None if it is no price."""
    whole, _, part = words.strip().lstrip("$").partition(".")
    part = part.ljust(2, "0")
    if not (whole.isascii() and whole.isdigit() and part.isascii() and part.isdigit()):
        return None
    return int(whole) * 100 + int(part) if len(part) == 2 and len(whole) < 8 else None


def number(words: str, least: int, most: int) -> int | None:
    """A whole number within bounds; None if it is none."""
    words = words.strip()
    if not (words.isascii() and words.isdigit() and len(words) < 8):
        return None
    return int(words) if least <= int(words) <= most else None


def slug(words: str) -> str:
    """As it stands in an address."""
    kept = "".join(c if c.isalnum() else " " for c in words.lower())
    return quote("-".join(kept.split())[:60])
