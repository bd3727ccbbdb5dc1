"""Putting one tool in another's place (paper §4.4): the contract between them, checked each time.

A mismatch is a value, not an exception: it goes back to the classifier as a contract failure.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from hfr_bench.model.terms import SideEffect

_NONE: Mapping[str, Any] = MappingProxyType({})


class Contract(NamedTuple):
    """A tool as an adapter sees it.

    `schema`: JSON schema of its arguments (`properties`, `required`; of a property `type`,
    `enum`, and `x-unit`, say `cents`). `errors`: codes of the domain errors it may answer with.
    """

    name: str
    level: SideEffect
    schema: Mapping[str, Any]
    errors: tuple[str, ...] = ()


class Adaptation(NamedTuple):
    """How to say it to the other tool, registered with the suite.

    `fields`: target's argument -> source's; one left out keeps its name. `constants`: target's
    arguments that the source has not. `scale`: target's argument -> factor, where units differ.
    `errors`: target's error code -> source's. `answer`: source's answer field -> target's.
    `same_semantics`: whoever registered it vouches that the two do the same to the world.
    """

    fields: Mapping[str, str] = _NONE
    constants: Mapping[str, Any] = _NONE
    scale: Mapping[str, float] = _NONE
    errors: Mapping[str, str] = _NONE
    answer: Mapping[str, str] = _NONE
    same_semantics: bool = False


class ContractMismatch(NamedTuple):
    """Why one cannot stand in for the other."""

    reason: str


def adapt(
    source: Contract, target: Contract, arguments: Mapping[str, Any], how: Adaptation
) -> dict[str, Any] | ContractMismatch:
    """The source's arguments as the target's, or what does not fit.

    Checked: side effects, errors, required arguments, units, types. Nothing is guessed, and no
    argument is lost on the way.
    """
    unlike = _unlike(source, target, how)
    if unlike:
        return ContractMismatch(unlike)
    wanted: Mapping[str, Any] = target.schema.get("properties", _NONE)
    given: Mapping[str, Any] = source.schema.get("properties", _NONE)
    adapted, carried = dict(how.constants), set()
    for name, spec in wanted.items():
        origin = how.fields.get(name, name)
        if name in how.constants or origin not in arguments:
            continue
        carried.add(origin)
        value = _in_unit(arguments[origin], given.get(origin, _NONE), spec, how.scale.get(name))
        if isinstance(value, ContractMismatch):
            return ContractMismatch(f"{name}: {value.reason}")
        adapted[name] = value
    lost = sorted(arguments.keys() - carried)
    if lost:
        return ContractMismatch(f"{target.name} has no place for {lost[0]!r}")
    return _misfit(target, wanted, adapted) or adapted


def adapt_error(code: str, how: Adaptation) -> str | ContractMismatch:
    """The target's error code in the source's words, or a mismatch."""
    if code in how.errors:
        return how.errors[code]
    return ContractMismatch(f"the error {code!r} is not mapped")


def adapt_answer(answer: Mapping[str, Any], how: Adaptation) -> dict[str, Any] | ContractMismatch:
    """The target's answer in the source's fields; without a registered mapping, as it is."""
    missing = [field for field in how.answer.values() if field not in answer]
    if missing:
        return ContractMismatch(f"the answer has no {missing[0]!r}")
    return {name: answer[field] for name, field in how.answer.items()} if how.answer else {**answer}


def _unlike(source: Contract, target: Contract, how: Adaptation) -> str:
    """What keeps the two tools apart whatever the arguments, or nothing."""
    if source.level is not target.level:
        return f"side effects differ: {source.level} and {target.level}"
    if source.level.writes and not how.same_semantics:
        return f"{target.name} is only like {source.name}; a write needs the same semantics"
    unmapped = [code for code in target.errors if code not in how.errors]
    return f"the error {unmapped[0]!r} is not mapped" if unmapped else ""


def _in_unit(
    value: Any, given: Mapping[str, Any], wanted: Mapping[str, Any], scale: float | None
) -> Any:
    """The value in the target's unit, or a mismatch. Factors are applied exactly."""
    if scale is None:
        if given.get("x-unit") == wanted.get("x-unit"):
            return value
        return ContractMismatch(f"{given.get('x-unit')} is not {wanted.get('x-unit')}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ContractMismatch(f"{value!r} cannot be scaled")
    exact = Fraction(str(value)) * Fraction(str(scale))
    if exact.denominator == 1:
        return int(exact)
    if wanted.get("type") == "integer":
        return ContractMismatch(f"{value} is no whole number of {wanted.get('x-unit')}")
    return float(exact)


def _misfit(
    target: Contract, wanted: Mapping[str, Any], adapted: Mapping[str, Any]
) -> ContractMismatch | None:
    """The first argument that the target's schema would refuse."""
    for name in target.schema.get("required", ()):
        if name not in adapted:
            return ContractMismatch(f"{target.name} needs {name!r}")
    for name, value in adapted.items():
        spec = wanted.get(name)
        if spec is None:
            return ContractMismatch(f"{target.name} has no argument {name!r}")
        kind = spec.get("type")
        if kind is not None and not any(_IS[k](value) for k in _kinds(kind)):
            return ContractMismatch(f"{name}: {value!r} is no {kind}")
        if "enum" in spec and value not in spec["enum"]:
            return ContractMismatch(f"{name}: {value!r} is not one of {list(spec['enum'])}")
    return None


def _kinds(kind: Any) -> list[str]:
    return [k for k in ([kind] if isinstance(kind, str) else kind) if k in _IS]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_IS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and value == value // 1,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}
