"""The page's part on disagreements: for every contrast, how many there are, and a few to open."""

from typing import Any

from hfr_bench.lab.rendering.cells import named
from hfr_bench.lab.rendering.disagree import SHOWN, WORDS, ended
from hfr_bench.lab.rendering.sides import Case, Sides
from hfr_bench.model.report import Report
from hfr_bench.model.task import task_name

RULE = (
    f"Of every contrast, and of each sort of disagreement in it, at most {SHOWN} pairs are shown, "
    "in the order of a keyed draw (SHA-256 over the preregistration's digest, the arms and the "
    "pair group), so nobody picked them. Both trials met the same planned faults. Their steps "
    "stand beside each other by point and occurrence; 0 s is the first injected fault."
)


def contrasts(report: Report, told: Sides) -> tuple[dict[str, Any], ...]:
    """A part a contrast in which arms disagree, with the pairs that are shown."""
    cases: dict[tuple[str, str], list[Case]] = {}
    for case in told.cases:
        cases.setdefault((case.row.arm, case.row.against), []).append(case)
    made = []
    for row in report.disagreements:
        counts = {sort: getattr(row, sort) for sort in WORDS}
        if not any(counts.values()):
            continue
        some = cases.get((row.arm, row.against), [])
        made.append(
            {
                "title": f"{row.arm} - {row.against}",
                "total": sum(counts.values()),
                "pairs": row.pairs,
                "counts": [f"{n} {WORDS[sort]}" for sort, n in counts.items() if n],
                "cases": [_case(report, case) for case in some],
                "rest": sum(counts.values()) - len(some),
                "command": f"hfr-bench compare DIR {row.arm} {row.against}",
            }
        )
    return tuple(made)


def _case(report: Report, case: Case) -> dict[str, Any]:
    of = case.of
    return {
        "number": case.number,
        "sort": WORDS[of.sort],
        "task": f"{task_name(of.suite, of.task_id)}, seed {of.seed}, {named(report, of.rate)}",
        "sides": [(case.row.arm, ended(of.ours)), (case.row.against, ended(of.theirs))],
        "commands": [f"hfr-bench show DIR {one.trial_id}" for one in (of.ours, of.theirs)],
    }
