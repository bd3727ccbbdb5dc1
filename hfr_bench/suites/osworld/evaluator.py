"""Reading the evaluator of a task: which metrics, over what, joined how.

```
func      name, or a list of names; "infeasible" of a task that cannot be done
result    a getter's part {type, …}, or a list as long as func's
expected  the same, or absent
options   keywords of the metric, or a list of them
conj      and (the default) | or, of a list
postconfig steps before anything is read
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hfr_bench.errors import BadInputError

INFEASIBLE = "infeasible"
_KEYS = ("func", "result", "expected", "options", "conj", "postconfig")


@dataclass(frozen=True, slots=True)
class Part:
    """One metric, and what it is handed. `expected` None: it takes the result alone."""

    metric: str
    result: Mapping[str, Any]
    expected: Mapping[str, Any] | None
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evaluator:
    """`parts` is empty of a task that cannot be done."""

    parts: tuple[Part, ...]
    conj: Literal["and", "or"]
    many: bool
    postconfig: tuple[Mapping[str, Any], ...]

    @property
    def feasible(self) -> bool:
        return bool(self.parts)


def read_evaluator(evaluator: Mapping[str, Any]) -> Evaluator:
    """Raises BadInputError naming every wrong field; keys that upstream does not read may be."""
    func = evaluator.get("func")
    many = isinstance(func, list)
    names = list(func) if isinstance(func, list) else [func]
    wrong = [f"func {name!r} is no name" for name in names if not isinstance(name, str)]
    conj = evaluator.get("conj", "and")
    if conj not in {"and", "or"}:
        wrong.append(f"conj {conj!r}: there are and, or")
    steps = evaluator.get("postconfig") or []
    if not isinstance(steps, list) or not all(isinstance(step, Mapping) for step in steps):
        wrong.append("postconfig must be a list of steps")
        steps = []
    if func == INFEASIBLE:
        parts: list[Part] = []
    else:
        columns = [_column(evaluator, key, many, len(names), wrong) for key in _KEYS[1:4]]
        bare = [str(name) for name, one in zip(names, columns[0], strict=True) if not one]
        wrong += [f"{name}: result is missing" for name in bare]
        parts = [
            Part(str(name), result or {}, expected or None, options or {})
            for name, result, expected, options in zip(names, *columns, strict=True)
        ]
    if wrong:
        raise BadInputError(f"evaluator: {'; '.join(wrong)}")
    return Evaluator(tuple(parts), conj, many, tuple(steps))


def _column(
    evaluator: Mapping[str, Any], key: str, many: bool, count: int, wrong: list[str]
) -> Sequence[Any]:
    """What a field gives each metric; None where it says nothing."""
    value = evaluator.get(key)
    if not value:
        return [None] * count
    given: list[Any] = value if many and isinstance(value, list) else [value]
    if isinstance(value, list) is not many or len(given) != count:
        wrong.append(f"{key} must be {f'a list of {count}' if many else 'an object'}, as func is")
        return [None] * count
    odd = [item for item in given if item is not None and not isinstance(item, Mapping)]
    if odd or (key != "options" and any(item and "type" not in item for item in given)):
        wrong.append(f"{key}: each must be an object{'' if key == 'options' else ' with a type'}")
        return [None] * count
    return given
