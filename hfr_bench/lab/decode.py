"""Trace lines and schedules at speed: decoders made field by field from the records themselves.

pydantic is the schema: it writes, and it alone says what is wrong with a line. Reading asks the
structs here first. They refuse unknown keys and hold the bounds that a model declares, and they are
stricter in kind: no `"1"`, `1.0` or `true` where an integer belongs, no NaN. So what they take,
pydantic takes with the same values (a property test ties the two over every body), and what they
refuse goes to pydantic for the verdict. A line costs a sixth.
"""

import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from hfr_bench.model.record import unchecked
from hfr_bench.model.schedule import Lasts
from hfr_bench.model.trace import Body, TraceEvent
from hfr_bench.model.trial import TrialResult

Rec = TypeVar("Rec", bound=BaseModel)

BODIES: tuple[type[BaseModel], ...] = get_args(get_args(Body)[0])
_BOUNDS = ("ge", "gt", "le", "lt")


def _one_of_outcome_and_void(result: Any) -> None:
    if (result.outcome is None) == (result.void is None):
        raise ValueError("an outcome or a void")


# What a model checks beyond its fields, said again for its struct.
_CHECKS: dict[type[BaseModel], Callable[[Any], None]] = {TrialResult: _one_of_outcome_and_void}


@cache
def struct_of(model: type[BaseModel], tag: str | None = None) -> type[msgspec.Struct]:
    """A struct with a record's fields and properties; `tag`: its `type`, where that tells.

    Raises TypeError for a record with validators of its own that are not said again here.
    """
    marks = model.__pydantic_decorators__
    if (marks.model_validators or marks.field_validators) and model not in _CHECKS:
        raise TypeError(f"{model.__name__} has validators: say them in lab.decode, too")
    namespace: dict[str, Any] = {k: v for k, v in vars(model).items() if isinstance(v, property)}
    if model in _CHECKS:
        namespace["__post_init__"] = _CHECKS[model]
    if tag is not None:
        namespace["type"] = tag
    fields: list[Any] = []
    for name, info in model.model_fields.items():
        if name == "type" and tag is not None:
            continue
        kind = _type(info.annotation, info)
        fields.append((name, kind) if info.is_required() else (name, kind, _default(info)))
    return msgspec.defstruct(
        model.__name__,
        fields,
        kw_only=True,
        gc=False,
        forbid_unknown_fields=True,
        tag_field=None if tag is None else "type",
        tag=tag,
        namespace=namespace,
    )


def _tagged(model: type[BaseModel]) -> type[msgspec.Struct]:
    return struct_of(model, model.model_fields["type"].default)


def _default(info: FieldInfo) -> Any:
    value = info.default
    if isinstance(value, BaseModel):
        made = struct_of(type(value))
        return msgspec.field(default_factory=lambda: made(**dict(value)))
    return value


def _type(annotation: Any, info: FieldInfo | None = None) -> Any:
    """The annotation with records replaced by structs, and with the field's bounds."""
    bounds = {
        name: getattr(mark, name)
        for mark in (info.metadata if info else ())
        for name in _BOUNDS
        if getattr(mark, name, None) is not None
    }
    origin, args = get_origin(annotation), get_args(annotation)
    kind = annotation
    if origin in (Union, types.UnionType):
        kind = Union[tuple(_type(arg) for arg in args)]  # noqa: UP007 - made at run time
    elif origin is not None and origin is not Literal:
        kind = origin[tuple(arg if arg is Ellipsis else _type(arg) for arg in args)]
    elif _is_record(annotation):
        kind = struct_of(annotation)
    return Annotated[kind, msgspec.Meta(**bounds)] if bounds else kind


def _is_record(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


class _Event(msgspec.Struct, kw_only=True, gc=False, forbid_unknown_fields=True):
    """A trace line; tests/lab/test_decode.py holds its fields to TraceEvent's."""

    trial_id: str
    seq: int
    t_us: int
    v: int = 1
    wall_us: int = 0
    step: int = 0
    attempt: int = 0
    prev: str = ""
    body: Union[tuple(map(_tagged, BODIES))]  # type: ignore[valid-type]  # noqa: UP007


_event = msgspec.json.Decoder(_Event).decode


def trace_events(lines: Sequence[bytes]) -> list[TraceEvent] | None:
    """All lines as events, or None if the fast way does not take one of them.

    Event and body have the fields, `type` and properties of their records, and are no records:
    tell bodies apart by `type`, not by class. `full` makes a record of a nested one.
    """
    try:
        return cast("list[TraceEvent]", [_event(line) for line in lines])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def like(model: type[Rec], line: bytes | str) -> Rec | None:
    """A line as the like of a record, or None if the fast way does not take it."""
    try:
        return cast("Rec", _decoder(model).decode(line))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def read(model: type[Rec], line: bytes | str) -> Rec | None:
    """A line as that record, or None if the fast way does not take it."""
    found = like(model, line)
    return None if found is None else full(model, found)


def full(model: type[Rec], struct: Any) -> Rec:
    """The record with a struct's values; records pass through."""
    return struct if isinstance(struct, model) else cast("Rec", filler(model)(struct))


@cache
def _decoder(model: type[BaseModel]) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(struct_of(model))


@cache
def filler(model: type[BaseModel]) -> Callable[[Any], Any]:
    """A function from a struct to the record, which is filled without a second validation."""
    nested = [(n, f) for n, info in model.model_fields.items() if (f := _nested(info.annotation))]
    make, values = unchecked(model), msgspec.structs.asdict

    def fill(struct: Any) -> Any:
        fields = values(struct)
        for name, convert in nested:
            if fields[name] is not None:
                fields[name] = convert(fields[name])
        return make(fields)

    return fill


def _nested(annotation: Any) -> Callable[[Any], Any] | None:
    """How a field's value becomes what the record holds; None if it is that already."""
    args = [arg for arg in get_args(annotation) if arg is not type(None)]
    if annotation is Lasts:
        return _lasts
    if _is_record(annotation):
        return filler(annotation)
    if get_origin(annotation) in (Union, types.UnionType) and len(args) == 1:
        return _nested(args[0])
    if get_origin(annotation) is tuple and args and _is_record(args[0]):
        one = filler(args[0])
        return lambda values: tuple(map(one, values))
    return None


@cache
def _shared(v: int, unit: Any, n: int, over: Any) -> Lasts:
    return Lasts(v=v, unit=unit, n=n, over=over)


def _lasts(struct: Any) -> Lasts:
    """A schedule has many events and few durations: equal ones are one record."""
    return _shared(struct.v, struct.unit, struct.n, struct.over)
