"""Where suites/ and injectors/ lie, and reading them: data that a reviewer can sign."""

import os
from collections.abc import Iterator
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from hfr_bench.errors import BadInputError
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.mix import FaultMix
from hfr_bench.model.record import Record, digest
from hfr_bench.model.schedule import KindSpec

Rec = TypeVar("Rec", bound=Record)

VALUES_MAX = 1_000_000
"""Values of one YAML file, aliases unfolded; the largest of ours comes to some 20,000."""


def root() -> Path:
    """The folder that holds suites/ and injectors/: $HFR_BENCH_CONTENT, the wheel, a checkout."""
    if override := os.environ.get("HFR_BENCH_CONTENT"):
        return Path(override)
    installed = Path(__file__).parent / "_content"
    return installed if installed.is_dir() else Path(__file__).parent.parent


def read_yaml(path: Path) -> Any:
    """Parse a YAML file. Raises BadInputError that names file, line and cause.

    Aliases may not unfold to very much: a page of them can stand for billions of values.
    """
    try:
        made = yaml.load(path.read_text(encoding="utf-8"), Loader=_loader())  # noqa: S506 - safe
        size = _unfolded(made, {})
    except FileNotFoundError as error:
        raise BadInputError(f"{path}: no such file") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BadInputError(f"{path}: not readable as YAML: {error}") from error
    if size > VALUES_MAX:
        raise BadInputError(f"{path}: its aliases unfold to more than {VALUES_MAX} values")
    return made


def _unfolded(value: Any, known: dict[int, int]) -> int:
    """How many values there are, an alias counted as what it stands for."""
    if not isinstance(value, dict | list):
        return 1
    if (size := known.get(id(value))) is None:
        known[id(value)] = VALUES_MAX + 1  # whatever holds itself has no end
        inner = value.values() if isinstance(value, dict) else value
        size = known[id(value)] = 1 + sum(_unfolded(one, known) for one in inner)
    return size


def read_record(path: Path, kind: type[Rec]) -> Rec:
    """Read a YAML file as a record. Raises BadInputError naming each wrong key."""
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise BadInputError(f"{path}: expected a mapping at top level, got {type(data).__name__}")
    if odd := ", ".join(_not_finite(data)):
        raise BadInputError(f"{path}: {odd}: must be a finite number")
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise BadInputError(f"{path}: {explain(error)}") from error


def _not_finite(value: Any, where: str = "") -> Iterator[str]:
    """Where YAML's .nan and .inf are: no digest can be made of them, and no limit means them."""
    if isinstance(value, float) and not isfinite(value):
        yield where
    whole = dict(enumerate(value)) if isinstance(value, list) else value
    for key, one in whole.items() if isinstance(whole, dict) else ():
        yield from _not_finite(one, f"{where}.{key}" if where else str(key))


def explain(error: ValidationError) -> str:
    """A pydantic error as lines a user can act on: where, what, and what was given."""
    lines = []
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"]) or "(top level)"
        what = "unknown key" if item["type"] == "extra_forbidden" else item["msg"]
        lines.append(f"{where}: {what}")
    return "; ".join(lines)


@cache
def kinds() -> dict[str, KindSpec]:
    """All built-in fault kinds by name, in file order."""
    folder = root() / "injectors" / "kinds"
    found: dict[str, KindSpec] = {}
    for path in sorted(folder.glob("*.yaml")):
        spec = read_record(path, KindSpec)
        if spec.kind in found:
            raise BadInputError(f"{path}: the kind {spec.kind!r} is defined twice")
        found[spec.kind] = spec
    return found


def matrix(name: str) -> FaultMatrix:
    """A fault matrix by name. Raises BadInputError that lists what there is."""
    folder = root() / "injectors" / "matrices"
    path = folder / f"{name}.yaml"
    if not path.is_file():
        offered = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
        raise BadInputError(f"unknown fault matrix {name!r}; there are: {offered}")
    return read_record(path, FaultMatrix)


def mixes() -> dict[str, FaultMix]:
    """The shipped fault mixes by name, in file order."""
    folder = root() / "injectors" / "mixes"
    return {path.stem: read_record(path, FaultMix) for path in sorted(folder.glob("*.yaml"))}


def mix(name: str) -> FaultMix:
    """A fault mix: of a YAML file, or by the name of a shipped one.

    Raises BadInputError that lists what there is.
    """
    if name.endswith((".yaml", ".yml")):
        return read_record(Path(name), FaultMix)
    path = root() / "injectors" / "mixes" / f"{name}.yaml"
    if not path.is_file():
        offered = ", ".join(sorted(p.stem for p in path.parent.glob("*.yaml"))) or "none"
        raise BadInputError(
            f"unknown fault mix {name!r}; shipped are: {offered}; a file of yours ends in .yaml"
        )
    return read_record(path, FaultMix)


def table17() -> dict[str, Path]:
    """Registrations of the paper's table 17 by suite, in the paper's order of rows."""
    found = {path.stem: path for path in sorted(root().glob("suites/table17/*.yaml"))}
    return {name: found[name] for name in sorted(found, key=lambda n: (_row17(n), n))}


_ROWS17 = ("swe_bench", "tau2", "osworld", "webarena", "shopdesk")


def _row17(suite: str) -> int:
    return _ROWS17.index(suite) if suite in _ROWS17 else len(_ROWS17)


def table17_text(suite: str) -> str:
    """A suite's row of table 17, as text. Raises BadInputError that lists what there is."""
    rows = table17()
    if suite not in rows:
        raise BadInputError(f"table 17 has no row of suite {suite!r}; there are: {', '.join(rows)}")
    return rows[suite].read_text(encoding="utf-8")


def kinds_digest() -> str:
    """One digest over all kinds."""
    return digest({name: spec.model_dump(mode="json") for name, spec in kinds().items()})


@cache
def _loader() -> type[yaml.SafeLoader]:
    """A safe loader that refuses a key given twice; the C parser where it was built."""
    base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return loader.construct_mapping(node, deep=True)

    made: type[yaml.SafeLoader] = type("StrictLoader", (base,), {})
    made.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return made
