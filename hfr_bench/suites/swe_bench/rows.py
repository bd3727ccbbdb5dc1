"""A task of SWE-bench in three parts that may not meet: public, sealed, and how to run it.

Rows come in two shapes. *Classic*: twelve text fields, the two test lists as JSON in a string.
*Baked* (SWE-bench 5): these and `image`, `eval_script`, `log_parser`, `eval_type`. Verified adds
`difficulty`, Multimodal `image_assets`. Both are read; test lists may be lists as well.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from hfr_bench.errors import BadInputError

EvalType = Literal["pass_and_fail", "fail_only"]

_NEEDED = (
    *("instance_id", "repo", "version", "base_commit"),
    *("problem_statement", "patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS"),
)
_BAKED = ("image", "eval_script", "log_parser", "eval_type")
_EVAL_TYPES = ("pass_and_fail", "fail_only")
_LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")


@dataclass(frozen=True, slots=True)
class Problem:
    """What agent, strategy and verifier may see.

    `repo`: owner/name; `base_commit`: the 40 hex digits the agent starts at; `created_at`: ISO
    8601 or ""; `pictures`: of Multimodal's problem statement, as (path, url).
    """

    instance_id: str
    repo: str
    version: str
    base_commit: str
    statement: str
    hints: str = ""
    created_at: str = ""
    difficulty: str = ""
    pictures: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Gold:
    """What only the grader may see: the fix, the hidden tests, and which of them must pass.

    `test_assets`: files that the test patch cannot carry, as (path in the repository, url).
    """

    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    test_assets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Baked:
    """How a task is run and its log read. `log_parser`: a name in `parsers.PARSERS`."""

    image: str
    eval_script: str
    log_parser: str
    eval_type: EvalType = "pass_and_fail"


@dataclass(frozen=True, slots=True)
class Instance:
    """A row.

    `environment_commit`: whose requirements the environment is made of; `baked`: None for a classic
    row; `where`: file and place it was read from, for messages.
    """

    problem: Problem
    gold: Gold = field(repr=False)
    environment_commit: str
    baked: Baked | None
    where: str

    @property
    def id(self) -> str:
        return self.problem.instance_id


def read_row(row: Mapping[str, Any], where: str) -> Instance:
    """A row as an Instance. Raises BadInputError naming place, instance and every wrong field."""
    wrong = _flaws(row)
    name = row.get("instance_id")
    shown = f"{where} ({name})" if isinstance(name, str) and name else where
    if wrong:
        raise BadInputError(f"{shown}: {'; '.join(wrong)}")
    lists = {key: _strings(row[key]) for key in _LISTS}
    assets = _assets(row.get("image_assets"), shown)
    return Instance(
        problem=Problem(
            **{key: row[key] for key in ("instance_id", "repo", "version", "base_commit")},
            statement=row["problem_statement"],
            hints=row.get("hints_text") or "",
            created_at=_moment(row.get("created_at")),
            difficulty=row.get("difficulty") or "",
            pictures=assets.get("problem_statement", ()),
        ),
        gold=Gold(
            patch=row["patch"],
            test_patch=row["test_patch"],
            fail_to_pass=lists["FAIL_TO_PASS"],
            pass_to_pass=lists["PASS_TO_PASS"],
            test_assets=assets.get("test_patch", ()),
        ),
        environment_commit=row.get("environment_setup_commit") or row["base_commit"],
        baked=_baked(row),
        where=where,
    )


def _flaws(row: Mapping[str, Any]) -> list[str]:
    """What is wrong with a row, field by field."""
    missing = [key for key in _NEEDED if row.get(key) is None]
    wrong = [f"the field {key} is missing" for key in missing]
    wrong += [
        f"{key} must be text, not {type(row[key]).__name__}"
        + (" (in YAML, quote it: 3.10 is not 3.1)" if key == "version" else "")
        for key in (*_NEEDED, *_BAKED, "environment_setup_commit", "hints_text", "difficulty")
        if key not in _LISTS and row.get(key) is not None and not isinstance(row[key], str)
    ]
    for key in _LISTS:
        if row.get(key) is not None:
            try:
                _strings(row[key])
            except ValueError as error:
                wrong.append(f"{key} {error}")
    if row.get("FAIL_TO_PASS") in ([], (), "[]"):
        wrong.append("FAIL_TO_PASS is empty: nothing could tell a fix from none")
    lacking = [key for key in _BAKED if not row.get(key)]
    if 0 < len(lacking) < len(_BAKED):
        has = ", ".join(key for key in _BAKED if key not in lacking)
        wrong.append(f"half baked: it has {has}, but not {', '.join(lacking)}")
    if isinstance(kind := row.get("eval_type"), str) and kind and kind not in _EVAL_TYPES:
        wrong.append(f"eval_type {kind!r}: there are {', '.join(_EVAL_TYPES)}")
    return wrong


def _strings(value: Any) -> tuple[str, ...]:
    """A list of test names, given as a list or as JSON. Raises ValueError saying what is wrong."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"is not JSON: {error}") from None
    if hasattr(value, "tolist"):  # a column of an array library
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise ValueError(f"must be a list of test names, not {type(value).__name__}")
    odd = [name for name in value if not isinstance(name, str)]
    if odd:
        raise ValueError(f"holds something that is no test name: {odd[0]!r}")
    return tuple(value)


def _assets(raw: Any, shown: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Multimodal's `image_assets`: what belongs to what, each as (path, url)."""
    if not raw:
        return {}
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
        return {key: tuple(map(_asset, entries or ())) for key, entries in value.items()}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise BadInputError(
            f"{shown}: image_assets must map a field to a list of path and url: {error!r}"
        ) from error


def _asset(entry: Any) -> tuple[str, str]:
    if isinstance(entry, str):  # of a problem statement: an address alone
        return entry.rpartition("/")[2], entry
    return str(entry["path"]), str(entry.get("url") or "")


def _moment(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value or "")


def _baked(row: Mapping[str, Any]) -> Baked | None:
    if not row.get("image"):
        return None
    image, script, parser, kind = (row[key] for key in _BAKED)
    return Baked(image, script, parser, cast("EvalType", kind))
