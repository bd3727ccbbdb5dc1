"""The base of every record, and the one digest that the whole project uses."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import rfc8785
from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A value that is written to a file: frozen, unknown keys refused, versioned by `v`.

    Fields added later arrive with defaults, so that older files still load.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    v: int = 1

    def dumps(self) -> str:
        """One line of JSON, in field order; what the JSONL files hold."""
        return self.model_dump_json()

    @classmethod
    def loads(cls, line: str | bytes) -> Self:
        """Parse one line. Raises pydantic's ValidationError (a ValueError)."""
        return cls.model_validate_json(line)

    def digest(self) -> str:
        """SHA-256 (hex) over the record's canonical JSON (RFC 8785)."""
        return digest(self.model_dump(mode="json"))


Made = TypeVar("Made", bound=BaseModel)


def unchecked(kind: type[Made]) -> Callable[[dict[str, Any]], Made]:
    """A function that makes records of values that are known to be right, a fifth of the time.

    It takes all fields, in their order and of their very types, and keeps the dict.
    """
    known = set(kind.model_fields)  # shared: records are frozen, nobody adds to it
    new, put = kind.__new__, object.__setattr__

    def make(fields: dict[str, Any]) -> Made:
        made = new(kind)
        put(made, "__dict__", fields)
        put(made, "__pydantic_fields_set__", known)
        put(made, "__pydantic_extra__", None)
        put(made, "__pydantic_private__", None)
        return made

    return make


def is_unset(value: object) -> bool:
    """For `exclude_if`: a field that is not used is not written (None, 0, "" or empty).

    So a field that came later changes no byte, and no digest, of files that do without it.
    """
    return not value


def canonical(value: Any) -> bytes:
    """Canonical JSON bytes of a JSON value (RFC 8785): keys sorted, one way to write a number."""
    return rfc8785.dumps(value)


def digest(value: Any) -> str:
    """SHA-256 (hex) over `canonical(value)`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def json_digest(value: Any) -> str:
    """SHA-256 (hex) over compact, key-sorted JSON: for requests, which may be large.

    Made by Python's C encoder, thirty times faster than canonical JSON; used to recognise a
    request, never to pin an experiment (but for price rows, whose very text is kept).
    """
    return text_digest(compact(value))


def compact(value: Any) -> str:
    """Compact, key-sorted JSON: the text that `json_digest` is of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def text_digest(text: str | bytes) -> str:
    """SHA-256 (hex) of raw text; what request and response bodies are compared by."""
    return hashlib.sha256(
        text.encode(errors="surrogatepass") if isinstance(text, str) else text
    ).hexdigest()


def short_id(value: Mapping[str, Any]) -> str:
    """A 16-character identifier made of everything that defines the thing it names."""
    return digest(dict(value))[:16]
