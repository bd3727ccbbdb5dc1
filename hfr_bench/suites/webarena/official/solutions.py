"""Solutions and accepted answers: those that people wrote down, and those a record itself tells.

`solutions.yaml` beside the records: {task: [steps]}, a line a step (`acting.steps`). A record tells
its own solution where nothing but the answer or the last address is graded.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.model.task import OracleStep
from hfr_bench.suites.webarena.acting.contracts import STOP
from hfr_bench.suites.webarena.acting.steps import read_step, stop
from hfr_bench.suites.webarena.original import OR
from hfr_bench.suites.webarena.rows import EVALUATORS, Record
from hfr_bench.suites.webarena.urls import is_pattern

SOLUTIONS, ACCEPTED = "solutions.yaml", "accepted.yaml"

Steps = tuple[OracleStep, ...]


def solution(record: Record, written: Sequence[str] | None, shown: Callable[[str], str]) -> Steps:
    """A task's solution, ended by its answer; () if nobody knows one.

    `written`: lines of solutions.yaml. `shown`: puts addresses for placeholders. Raises
    BadInputError for a line that is none.
    """
    if written is not None:
        where = f"{SOLUTIONS}: {record.id}"
        steps = tuple(read_step(line, where, shown) for line in written)
        if steps and steps[-1].tool == STOP:
            return steps
        return (*steps, stop(gold_answer(record)))
    told = _told_original(record) if record.problem.shape == "original" else _told(record)
    if told is None:
        return ()
    ways = tuple(read_step(f"goto {url}", "the record", shown) for url in told)
    return (*ways, stop(gold_answer(record)))


def gold_answer(record: Record) -> str:
    """The answer that a record asks for, in the form that its grader reads."""
    if record.problem.shape == "original":
        return _words(record.grading["eval"].get("reference_answers") or {})
    expected = _answers(record)["expected"]
    data = expected.get("retrieved_data")
    told = {
        "task_type": expected["task_type"].upper(),
        "status": expected["status"],
        "retrieved_data": None if data is None else [_first(item) for item in data],
        "error_details": None,
    }
    return json.dumps(told)


def _words(wanted: Mapping[str, Any]) -> str:
    if "must_include" in wanted:
        return str(wanted.get("exact_match") or ", ".join(wanted["must_include"]))
    if "fuzzy_match" in wanted:
        fuzzy = wanted["fuzzy_match"]
        return fuzzy if isinstance(fuzzy, str) else "; ".join(fuzzy)
    return str(wanted.get("exact_match", "done"))


def _answers(record: Record) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(
        one for one in record.grading if one["evaluator"] == EVALUATORS[0]
    )
    return found


def _told_original(record: Record) -> list[str] | None:
    """The addresses to go to, [] for none; None if the record does not tell how."""
    if "program_html" in record.checks or record.needs.judge != "never":
        return None
    url = record.grading["eval"].get("reference_url")
    return [url.split(OR)[0]] if "url_match" in record.checks else []


def _told(record: Record) -> list[str] | None:
    asked = [one for one in record.grading if one["evaluator"] != EVALUATORS[0]]
    if len(asked) > 1 or (asked and record.work == "mutate"):
        return None
    if _odd(_answers(record)["expected"].get("retrieved_data")):
        return None
    return [] if not asked else _gone_to(asked[0])


def _gone_to(check: Mapping[str, Any]) -> list[str] | None:
    want = check["expected"]
    url = _first(want["url"])
    query = {name: _first(values) for name, values in (want.get("query_params") or {}).items()}
    plain = want.get("http_method", "GET") == "GET" and want.get("response_status", 200) == 200
    more = {"headers", "post_data", "response_content", "response_cookies"} & {
        name for name, value in want.items() if value
    }
    odd = check.get("should_not_exist") or check.get("decode_base64_query") or more
    if odd or not plain or any(is_pattern(str(one)) for one in (url, *query.values())):
        return None
    return [f"{str(url).partition('?')[0]}?{urlencode(query)}" if query else str(url)]


def _odd(data: Any) -> bool:
    """Whether an answer is told by patterns."""
    values = data if isinstance(data, list) else []
    return any(re.match(r"\^.*\$$", str(_first(one)), re.DOTALL) for one in values)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def read_solutions(folder: Path) -> dict[int, tuple[str, ...]]:
    """{task: lines} of a folder's solutions.yaml; {} without one. Raises BadInputError."""
    return _lists(folder / SOLUTIONS, "a task's steps, a line each")


def read_accepted(folder: Path) -> dict[int, tuple[str, ...]]:
    """{task: answers} of a folder's accepted.yaml; {} without one. Raises BadInputError."""
    return _lists(folder / ACCEPTED, "the answers that are accepted of a task")


def _lists(path: Path, what: str) -> dict[int, tuple[str, ...]]:
    if not path.is_file():
        return {}
    found = {}
    for task, lines in (content.read_yaml(path) or {}).items():
        texts = isinstance(lines, list) and all(isinstance(line, str) for line in lines)
        if not isinstance(task, int) or not texts:
            raise BadInputError(f"{path}: {task}: a number, and a list of texts: {what}")
        found[task] = tuple(lines)
    return found
