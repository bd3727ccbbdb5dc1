"""Which records an experiment may use, and why not the others: computed, to be registered.

A verdict that rests on words alone, with nobody's label and no look at the site's state behind it,
is good for exploring, not for a confirmatory hypothesis.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.rows import CHECKS, EVALUATORS, SITES, WORK, Record

UNSCORED = frozenset({319, 429, *range(562, 571), 699, 700, 742, 743, 745, 746, 811})
"""Tasks of webarena-verified 1.2.3 whose own grader gives 1.0 to nobody; a test finds them anew.

319 wants a field of which it names no value; 429 two last navigations; 562-566 hold the addresses
in a README against their placeholders, which no agent sees; 567-570, 742, 743, 745 and 746 want two
requests to one address, each to be the last; 699, 700 and 811 name a list of one where the grader
reads alternatives, and takes its own error for the agent's.
"""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What an experiment can use for grading.

    `sites`: those that live; `judge`: a language model that holds words against words; `accepted`:
    tasks with a list of accepted answers; `state_checked`: tasks whose outcome is read from the
    sites' database; `labelled`: tasks whose answers people label.
    """

    sites: frozenset[str] = frozenset(SITES)
    judge: bool = False
    accepted: frozenset[int] = frozenset()
    state_checked: frozenset[int] = frozenset()
    labelled: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Choice:
    """Records for confirmatory use, records for exploring, (id, reason) of those left out."""

    confirmatory: tuple[Record, ...]
    exploratory: tuple[Record, ...]
    left_out: tuple[tuple[int, str], ...]

    def told(self) -> dict[str, Any]:
        """As a preregistration holds it: ids of each kind, and of each reason."""
        reasons: dict[str, list[int]] = {}
        for name, reason in self.left_out:
            reasons.setdefault(reason, []).append(name)
        return {
            "confirmatory": [record.id for record in self.confirmatory],
            "exploratory": [record.id for record in self.exploratory],
            "left_out": reasons,
        }


def choose(
    records: Iterable[Record],
    equipment: Equipment,
    *,
    checks: Collection[str] = (),
    work: Collection[str] = (),
    only_sites: Collection[str] = (),
    recorded: bool = False,
) -> Choice:
    """Part records by what they need.

    `checks`, `work`, `only_sites`: keep those graded by, doing, lying on nothing else; empty keeps
    all. `recorded`: only what can be graded without a living site. Raises BadInputError for a name
    that is none.
    """
    for given, known in ((checks, (*CHECKS, *EVALUATORS)), (work, WORK), (only_sites, SITES)):
        if unknown := sorted(set(given) - set(known)):
            raise BadInputError(f"no {', '.join(unknown)}: there are {', '.join(known)}")
    rules: tuple[Callable[[Record], str], ...] = (
        lambda record: _unlike("graded by", record.checks, checks),
        lambda record: _unlike("work", (record.work,), work),
        lambda record: _unlike("on", record.problem.sites, only_sites),
        lambda record: _absent(record, equipment),
        lambda record: "needs a living page" if recorded and record.needs.living else "",
        _unscored,
        lambda record: _unjudged(record, equipment),
    )
    sure, open_, left = [], [], []
    for record in records:
        reason = next(filter(None, (rule(record) for rule in rules)), "")
        if reason:
            left.append((record.id, reason))
        elif record.needs.judge == "never" or _settled(record, equipment):
            sure.append(record)
        else:
            open_.append(record)
    return Choice(tuple(sure), tuple(open_), tuple(left))


def _unlike(what: str, held: Iterable[str], wanted: Collection[str]) -> str:
    other = sorted(set(held) - set(wanted)) if wanted else []
    return f"{what} {', '.join(other) or 'nothing known'}" if other else ""


def _absent(record: Record, equipment: Equipment) -> str:
    absent = [site for site in record.problem.sites if site not in equipment.sites]
    return f"site not there: {', '.join(sorted(absent))}" if absent else ""


def _unscored(record: Record) -> str:
    none = record.problem.shape == "verified" and record.id in UNSCORED
    return "its own grader gives 1.0 to nobody" if none else ""


def _settled(record: Record, equipment: Equipment) -> bool:
    return record.id in equipment.state_checked or record.id in equipment.labelled


def _unjudged(record: Record, equipment: Equipment) -> str:
    """A judge, accepted answers, the state or a label; otherwise nobody can say who was right."""
    decided = equipment.judge or record.id in equipment.accepted or _settled(record, equipment)
    return "" if record.needs.judge == "never" or decided else "words that nobody judges"
