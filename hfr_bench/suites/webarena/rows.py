"""A task of WebArena in two parts that may not meet, public and sealed, and what grading it takes.

Records come in two shapes. *Original* (812, `test.raw.json`): an `eval` of string, URL and page
checks. *Verified* (812, `webarena-verified.json`): a list of evaluators that read a strict JSON
answer and the HTTP exchanges, and never a living page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hfr_bench.errors import BadInputError
from hfr_bench.model.record import digest

Shape = Literal["original", "verified"]
Judge = Literal["never", "unless_na", "always"]
Reads = Literal["answer", "url", "trace", "page", "rest"]

SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map", "homepage")
CHECKS = ("string_match", "url_match", "program_html")
EVALUATORS = ("AgentResponseEvaluator", "NetworkEventEvaluator")
WORK = ("retrieve", "navigate", "mutate")
TABS = " |AND| "
_COMMON = ("sites", "task_id", "intent", "intent_template_id", "eval")


@dataclass(frozen=True, slots=True)
class Problem:
    """What agent, strategy and verifier may see.

    `start_urls`: one a tab, with placeholders such as `__GITLAB__`; `storage_state`: the file of
    cookies the original harness starts with, or "" (of a Verified task always "").
    """

    task_id: int
    shape: Shape
    sites: tuple[str, ...]
    intent: str
    start_urls: tuple[str, ...]
    template_id: int
    storage_state: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """What grading takes.

    `reads`: the answer, the URL at the end, the recorded exchanges, a living page, a site's own
    API. `judge`: whether words are held against words; `unless_na`: unless the answer is "N/A".
    """

    reads: frozenset[Reads]
    judge: Judge = "never"

    @property
    def living(self) -> bool:
        """Whether the sites must still live while it is graded."""
        return bool(self.reads & {"page", "rest"})


@dataclass(frozen=True, slots=True)
class Record:
    """A record.

    `checks`: the kinds of check it is graded by; `work`: retrieve, navigate or mutate, "" of an
    original one (it does not say); `grading`: the sealed part; `where`: file and place, for
    messages; `source_digest`: of the whole record.
    """

    problem: Problem
    checks: tuple[str, ...]
    work: str
    needs: Needs
    grading: Any = field(repr=False)
    where: str = ""
    source_digest: str = ""

    @property
    def id(self) -> int:
        return self.problem.task_id


def read_record(row: Mapping[str, Any], where: str) -> Record:
    """A record of either shape. Raises BadInputError naming place, task and every wrong field."""
    shape: Shape = "original" if isinstance(row.get("eval"), Mapping) else "verified"
    wrong = _flaws(row) or (
        _original_flaws(row["eval"]) if shape == "original" else _verified_flaws(row["eval"])
    )
    start = row.get("start_url") if shape == "original" else row.get("start_urls")
    if not start or not isinstance(start, str if shape == "original" else Sequence):
        wrong.append(f"{'start_url' if shape == 'original' else 'start_urls'} is missing")
    if wrong:
        raise BadInputError(f"{where} (task {row.get('task_id')}): {'; '.join(wrong)}")
    assert start is not None
    grading = row["eval"]
    problem = Problem(
        task_id=row["task_id"],
        shape=shape,
        sites=tuple(row["sites"]),
        intent=row["intent"],
        start_urls=tuple(start.split(TABS) if isinstance(start, str) else start),
        template_id=row["intent_template_id"],
        storage_state=row.get("storage_state") or "",
    )
    original = shape == "original"
    return Record(
        problem=problem,
        checks=tuple(grading["eval_types"]) if original else _named(grading),
        work="" if original else _answer_check(grading)["expected"]["task_type"],
        needs=_original_needs(grading) if original else _verified_needs(grading),
        grading={"eval": grading, "intent": row["intent"]} if original else grading,
        where=where,
        source_digest=digest(dict(row)),
    )


def _flaws(row: Mapping[str, Any]) -> list[str]:
    """What is wrong with the fields that both shapes have."""
    wrong = [f"the field {key} is missing" for key in _COMMON if row.get(key) is None]
    if wrong:
        return wrong
    wrong = [
        f"{key} must be a number, not {row[key]!r}"
        for key in ("task_id", "intent_template_id")
        if not isinstance(row[key], int)
    ]
    unknown = [site for site in row["sites"] if site not in SITES]
    if unknown or not row["sites"]:
        wrong.append(f"sites {row['sites']!r}: there are {', '.join(SITES)}")
    return wrong


def _original_flaws(grading: Mapping[str, Any]) -> list[str]:
    kinds = grading.get("eval_types")
    if not kinds or any(kind not in CHECKS for kind in kinds):
        return [f"eval_types {kinds!r}: there are {', '.join(CHECKS)}"]
    wrong = []
    answers = grading.get("reference_answers")
    if "string_match" in kinds:
        odd = set(answers or {}) - {"exact_match", "must_include", "fuzzy_match"}
        if not answers or odd:
            wrong.append(f"reference_answers {answers!r} cannot be matched")
    if "url_match" in kinds and not grading.get("reference_url"):
        wrong.append("reference_url is missing")
    if grading.get("url_note", "GOLD in PRED") != "GOLD in PRED":
        wrong.append(f"url_note {grading['url_note']!r} is not known: there is GOLD in PRED")
    if "program_html" in kinds and not grading.get("program_html"):
        wrong.append("program_html is missing")
    return wrong


def _verified_flaws(grading: Any) -> list[str]:
    if not isinstance(grading, Sequence) or isinstance(grading, str):
        return ["eval must be a mapping (original) or a list of evaluators (Verified)"]
    named = [item.get("evaluator") for item in grading]
    wrong = [
        f"evaluator {name!r}: there are {', '.join(EVALUATORS)}"
        for name in named
        if name not in EVALUATORS
    ]
    if EVALUATORS[0] not in named:
        return [*wrong, f"no {EVALUATORS[0]}: nothing would hold the answer"]
    expected = _answer_check(grading).get("expected") or {}
    if expected.get("task_type") not in WORK or not expected.get("status"):
        wrong.append(f"expected answer {expected!r}: task_type is one of {', '.join(WORK)}")
    wrong += [
        "a NetworkEventEvaluator without expected.url"
        for item in grading
        if item.get("evaluator") == EVALUATORS[1] and not (item.get("expected") or {}).get("url")
    ]
    return wrong


def _named(grading: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item["evaluator"] for item in grading))


def _answer_check(grading: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(item for item in grading if item["evaluator"] == EVALUATORS[0])


def _verified_needs(grading: Sequence[Mapping[str, Any]]) -> Needs:
    return Needs(frozenset({"answer", "trace"} if EVALUATORS[1] in _named(grading) else {"answer"}))


def _original_needs(grading: Mapping[str, Any]) -> Needs:
    reads: set[Reads] = set()
    kinds, judge = grading["eval_types"], "never"
    if "string_match" in kinds:
        reads.add("answer")
        fuzzy = grading["reference_answers"].get("fuzzy_match")
        judge = "never" if fuzzy is None else "unless_na" if fuzzy == "N/A" else "always"
    if "url_match" in kinds:
        reads.add("url")
    if "program_html" in kinds:
        targets = grading["program_html"]
        reads.add("page")
        if any(_asks_api(target) for target in targets):
            reads.add("rest")
        if any("last" in target["url"] for target in targets):
            reads.add("url")
    return Needs(frozenset(reads), judge)  # type: ignore[arg-type]  # narrowed above


def _asks_api(target: Mapping[str, Any]) -> bool:
    """Whether a page check calls the shop's API to learn where to look, or what to read."""
    return any(target[key].startswith("func:shopping_") for key in ("url", "locator"))
