"""Acceptance (paper §4.6, table 8): which check, what its verdict means, what to say at a retry.

The strategy's side only: everything here comes from verdicts, which never see the grader.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

from hfr_bench.model.attempt import Verdict
from hfr_bench.model.terms import CheckLevel, Criticality, Rung, SideEffect
from hfr_bench.recovery.config import Policy

# Looked up once: a member of an enum costs ten times a global.
_V0, _V1, _V2, _V3 = CheckLevel
_LOW, _L0, _R3 = Criticality.LOW, Rung.NORMAL, SideEffect.IRREVERSIBLE


class Outcome(StrEnum):
    """What follows from a verdict."""

    ACCEPT = "accept"
    RETRY = "retry"
    DEGRADE = "degrade"
    DEGRADE_OR_ESCALATE = "degrade or escalate"
    ESCALATE = "escalate"

    def settled(self, can_degrade: bool) -> "Outcome":
        """One of the other four: degrade where there is a rung left, else escalate."""
        if self is not Outcome.DEGRADE_OR_ESCALATE:
            return self
        return Outcome.DEGRADE if can_degrade else Outcome.ESCALATE


_ACCEPT = Outcome.ACCEPT


def decide_after(
    verdict: Verdict, q_min: float, can_retry: bool, new_evidence: bool, can_degrade: bool
) -> Outcome:
    """decide_after_verification of paper §4.6: its five rules, in its order.

    `new_evidence`: see `is_new`. A retry without any only samples the same mistake again.
    """
    if verdict.passed:
        # A quality that is no number is not enough: the comparison says no.
        return _ACCEPT if verdict.quality >= q_min else Outcome.DEGRADE_OR_ESCALATE
    if can_retry and new_evidence:
        return Outcome.RETRY
    return Outcome.DEGRADE if can_degrade else Outcome.ESCALATE


def reasons_digest(reasons: Sequence[str]) -> str:
    """16 hex digits that stand for a rejection; order, case and spacing make no difference."""
    words = sorted({" ".join(reason.casefold().split()) for reason in reasons})
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]


def is_new(reasons: Sequence[str], seen_digests: Collection[str]) -> bool:
    """has_new_evidence: the verdict gives reasons, and they have not been given before."""
    told = any(reason.strip() for reason in reasons)
    return told and reasons_digest(reasons) not in seen_digests


# -- levels --------------------------------------------------------------------------------------

# Table 5, last column. Where it says V1/V2 or V2/V3, the lower holds at low criticality.
_OF_RUNG: Mapping[Rung, tuple[CheckLevel, CheckLevel]] = {
    Rung.NORMAL: (_V0, _V0),
    Rung.COMPRESSED: (_V1, _V1),
    Rung.SAME_TIER: (_V1, _V2),
    Rung.LOWER_TIER: (_V2, _V2),
    Rung.FALLBACK: (_V2, _V3),
}


def level_for(
    policy: Policy,
    criticality: Criticality,
    rung: Rung = Rung.NORMAL,
    level: SideEffect = SideEffect.READ,
) -> CheckLevel:
    """The check that a result needs (tables 5 and 8): the task's, or its rung's if that is higher.

    Irreversible steps need a person at the criticalities that `confirm_irreversible` names. With
    the verifier off it is V0 whatever happens: that is what the ablation drops.
    """
    if not policy.verifier_on:
        return _V0
    if level is _R3 and criticality in policy.confirm:
        return _V3
    wanted = policy.levels[criticality]
    if rung is _L0:
        return wanted
    return max(wanted, _OF_RUNG[rung][criticality is not _LOW])


def strongest(wanted: CheckLevel, offered: Collection[CheckLevel]) -> CheckLevel:
    """The highest level offered that is not above the wanted one; V0 is always to be had.

    For a degraded result it may fall short of `level_for`: the best check there is, is made.
    """
    return max((level for level in offered if level <= wanted), default=_V0)


def spot_checked(policy: Policy, u: float) -> bool:
    """Is this accepted result one of those that a person looks at? `u`: uniform in [0, 1)."""
    return u < policy.spot_check_rate


# -- what to say at a retry ----------------------------------------------------------------------

_REASONS_MAX, _REASON_CHARS = 10, 500


def retry_prompt(reasons: Sequence[str], schema: Mapping[str, Any] | None = None) -> str:
    """What is added to a request that is made again (third seed): the evidence, and no more.

    Reasons are quoted as data, each on one line and cut short, so that text from a tool does not
    read like an instruction. Empty where there is nothing to say.
    """
    parts: list[str] = []
    told = [" ".join(reason.split())[:_REASON_CHARS] for reason in reasons if reason.strip()]
    if told:
        lines = "\n".join(
            f"- {json.dumps(text, ensure_ascii=False)}" for text in told[:_REASONS_MAX]
        )
        parts.append(f"The last answer was not accepted. What the checks found:\n{lines}")
        if len(told) > _REASONS_MAX:
            parts.append(f"({len(told) - _REASONS_MAX} more findings are left out.)")
    if schema is not None:
        shape = json.dumps(schema, sort_keys=True, ensure_ascii=False)
        parts.append(
            f"Answer with JSON of exactly this schema, without other fields or text:\n{shape}"
        )
    if parts:
        parts.append("Correct what was found; do not repeat the same answer.")
    return "\n".join(parts)


# -- how far a check can be trusted --------------------------------------------------------------

Rates = Mapping[str, Sequence[int]]
"""By check level: [bad ones accepted, bad ones, good ones rejected, good ones]; JSON as it is."""


def counted(rates: Rates, level: CheckLevel, passed: bool, good: bool) -> dict[str, list[int]]:
    """`rates` and one more verdict whose truth was found out later (a spot check, a grader)."""
    accepted, bad, rejected, fine = rates.get(level, (0, 0, 0, 0))
    if good:
        entry = [accepted, bad, rejected + (not passed), fine + 1]
    else:
        entry = [accepted + passed, bad + 1, rejected, fine]
    return {**{name: list(counts) for name, counts in rates.items()}, str(level): entry}


def alpha(rates: Rates, level: CheckLevel) -> float | None:
    """False accepts: the share of bad results that passed; None while none was seen."""
    accepted, bad, _, _ = rates.get(level, (0, 0, 0, 0))
    return accepted / bad if bad else None


def beta(rates: Rates, level: CheckLevel) -> float | None:
    """False rejects: the share of good results that did not pass; None while none was seen."""
    _, _, rejected, good = rates.get(level, (0, 0, 0, 0))
    return rejected / good if good else None
