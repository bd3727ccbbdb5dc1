"""The report's fields about faults of one kind: what they do, and what nobody injected."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hfr_bench.lab.ingest import Facts
from hfr_bench.lab.mixes import answer
from hfr_bench.lab.singles import Singles
from hfr_bench.model.mix import FaultMix
from hfr_bench.model.prereg import Preregistration
from hfr_bench.model.report import OrganicRow
from hfr_bench.model.schedule import KindSpec
from hfr_bench.stats.effects import effects
from hfr_bench.stats.estimate import Setting


def by_kind(
    prereg: Preregistration,
    setting: Setting,
    found: Singles,
    kinds: Mapping[str, KindSpec],
    mixes: Sequence[FaultMix],
) -> dict[str, Any]:
    """`effects` of single faults, and what they come to under `mixes`."""
    arms = [arm.name for arm in prereg.arms]
    about = (setting, arms, prereg.analysis.baseline, prereg.origin)
    return {
        "effects": tuple(effects(found.singles, setting)),
        "mixes": tuple(answer(mix, found, kinds, *about) for mix in mixes),
    }


def organic(prereg: Preregistration, facts: Iterable[Facts]) -> tuple[OrganicRow, ...]:
    """Errors that nobody injected, by arm: of all rounds, since they make voids."""
    sums = {arm.name: [0, 0] for arm in prereg.arms}
    found = Counter((one.checked.file.arm, one.organic) for one in facts)  # most have none
    for (arm, counts), trials in found.items():
        for n, count in enumerate(counts):
            sums.setdefault(arm, [0, 0])[n] += count * trials
    return tuple(OrganicRow(arm=arm, absorbed=a, exhausted=e) for arm, (a, e) in sums.items())
