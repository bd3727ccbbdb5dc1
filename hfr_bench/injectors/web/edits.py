"""Alterations of a page's HTML, one place each. None gives back the page that it was given."""

import re
from collections.abc import Callable, Sequence
from hashlib import sha256

_BUTTON = re.compile(r"(<button\b[^>]*>)([^<>]+)(</button>)", re.IGNORECASE)
_SUBMIT = re.compile(
    r"(<input\b[^>]*\btype=[\"']?submit[^>]*\bvalue=[\"'])([^\"'>]+)", re.IGNORECASE
)
_LINK = re.compile(r"(<a\b[^>]*>)([^<>]+)(</a>)", re.IGNORECASE)
_ID = re.compile(r"\b(id|for|aria-labelledby|aria-describedby)=([\"'])([\w -]+)\2", re.IGNORECASE)
_WRITTEN = re.compile(r"(<(?:p|blockquote|article|td|li)\b[^>]*>)", re.IGNORECASE)
_BODY = re.compile(r"</body\s*>|\Z", re.IGNORECASE)

_OTHER_WORDS = ("Continue", "Proceed", "OK", "Confirm", "Next")


def edited(names: Sequence[str], page: str, key: str, text: str) -> str:
    """The page after these edits, one after the other. `key`: what chance is drawn by."""
    for name in names:
        page = _EDITS[name](page, key, text)
    return page


def _half_page(page: str, _key: str, _text: str) -> str:
    """Its second half is missing, as if it were whole."""
    return page[: len(page) // 2]


def _rename_button(page: str, key: str, _text: str) -> str:
    """One button (else a link) says something else; what it does stays."""
    for pattern in (_BUTTON, _SUBMIT, _LINK):
        found = [one for one in pattern.finditer(page) if one[2].strip()]
        if found:
            one = found[_drawn(key, "which", len(found))]
            words = [word for word in _OTHER_WORDS if word != one[2].strip()]
            word = words[_drawn(key, "word", len(words))]
            return page[: one.start(2)] + word + page[one.end(2) :]
    return _instruction(page, key, "Continue")


def _change_ids(page: str, key: str, _text: str) -> str:
    """Every id is another, and what refers to one within the page refers to the new one."""
    salt = sha256(key.encode()).hexdigest()[:6]
    made, count = _ID.subn(
        lambda one: f"{one[1]}={one[2]}{' '.join(f'{n}-{salt}' for n in one[3].split())}{one[2]}",
        page,
    )
    return made if count else _put(page, f"<div id='v-{salt}'></div>")


def _instruction(page: str, _key: str, text: str) -> str:
    """A text where people write: before the first paragraph, cell or entry; else at the end."""
    found = list(_WRITTEN.finditer(page))
    if found:
        at = found[-1].end()
        return f"{page[:at]}{text} {page[at:]}"
    return _put(page, f"<p>{text}</p>")


def _put(page: str, html: str) -> str:
    found = _BODY.search(page)
    at = found.start() if found else len(page)
    return page[:at] + html + page[at:]


def _drawn(key: str, what: str, count: int) -> int:
    return int(sha256(f"{key}\0{what}".encode()).hexdigest()[:8], 16) % count


_EDITS: dict[str, Callable[[str, str, str], str]] = {
    "half_page": _half_page,
    "rename_button": _rename_button,
    "change_ids": _change_ids,
    "instruction": _instruction,
}
NAMES = tuple(_EDITS)
