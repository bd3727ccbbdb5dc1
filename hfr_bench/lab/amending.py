"""A registration that follows an earlier one, and what of it had been seen by then.

What was frozen is never changed: an amendment is a directory of its own, with its parents' frozen
files beside it. Hypotheses that were changed after trials had been seen are exploratory, whatever
the amendment calls them.
"""

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from hfr_bench import content
from hfr_bench.errors import BadInputError
from hfr_bench.lab.store import Store
from hfr_bench.model.prereg import Hypothesis, Lock, Preregistration
from hfr_bench.model.report import HypothesisRow

PARENTS = "parents"
"""The folder of an amendment's parents: `<digest>.yaml` and `<digest>.lock.json`, 12 characters."""

PARENT = re.compile(rf"{PARENTS}/[0-9a-f]{{12}}\.(yaml|lock\.json)")
_OLD = re.compile(r"^(amends:.*|amendment:.*(\n[ \t]+.*|\n(?=\n*[ \t]))*)\n?", re.MULTILINE)


class Ancestor(NamedTuple):
    """A registration as it was frozen."""

    prereg: Preregistration
    lock: Lock


def amend(prereg: Preregistration, lock: Lock, folder: Path, out: Path, reason: str) -> int:
    """Write the child of a frozen registration into a new directory; returns the trials seen.

    The text is the parent's, comments included, with `amends` and `amendment` at its end.

    Args:
        prereg: the parent's, as frozen.
        lock: the parent's.
        folder: the parent's, with its trials.
        out: the child's; not there, or empty.
        reason: why, for every reader.

    Raises:
        BadInputError: an `out` that is in use, an empty reason.
    """
    if not reason.strip():
        raise BadInputError("--reason: say why the registration is amended; readers are told")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInputError(f"{out}: is there already; nothing was changed")
    earlier = prereg.amendment.trials_seen if prereg.amendment else 0
    seen = earlier + len(Store(folder).files())
    text = _OLD.sub("", (folder / "prereg.yaml").read_text(encoding="utf-8"))
    block = {"reason": reason, "trials_seen": seen, "parent_frozen_at": lock.frozen_at}
    lines = [f"amends: {lock.prereg_digest}", "amendment:"]
    lines += [f"  {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in block.items()]
    parents = out / PARENTS
    parents.mkdir(parents=True)
    for path in (folder / PARENTS).glob("*"):
        shutil.copyfile(path, parents / path.name)
    short = lock.prereg_digest[:12]
    shutil.copyfile(folder / "prereg.yaml", parents / f"{short}.yaml")
    shutil.copyfile(folder / "prereg.lock.json", parents / f"{short}.lock.json")
    (out / "prereg.yaml").write_text(text.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n")
    _check_same(prereg, content.read_record(out / "prereg.yaml", Preregistration))
    return seen


def _check_same(parent: Preregistration, child: Preregistration) -> None:
    """The text was carried over whole: whatever a user's layout does to ours would be noticed."""
    blank = {"amends": None, "amendment": None}
    assert parent.model_copy(update=blank) == child.model_copy(update=blank)


def lineage(folder: Path, prereg: Preregistration) -> tuple[Ancestor, ...]:
    """The registrations that one follows, its parent first; nothing for one that amends none.

    Raises BadInputError for a parent that lacks, or is not the one that is named.
    """
    if prereg.amendment is not None and prereg.amends is None:
        raise BadInputError("amendment: of what? `hfr-bench amend DIR` writes `amends`, too")
    found: list[Ancestor] = []
    child = prereg
    while child.amends is not None and child.amendment is not None:
        parent = _parent(folder, child.amends)
        seen, before = child.amendment.trials_seen, parent.prereg.amendment
        if before is not None and before.trials_seen > seen:
            raise BadInputError(f"amendment.trials_seen: {seen}, but its parent had seen more")
        found.append(parent)
        child = parent.prereg
        if len(found) > 1000:
            raise BadInputError(f"{folder / PARENTS}: the amendments lead in a circle")
    return tuple(found)


def _parent(folder: Path, digest: str) -> Ancestor:
    path = folder / PARENTS / f"{digest[:12]}.yaml"
    if not path.is_file():
        raise BadInputError(
            f"{folder}: amends {digest[:12]}, and {PARENTS}/{path.name} is not there; "
            "`hfr-bench amend DIR` puts it there"
        )
    prereg = content.read_record(path, Preregistration)
    lock_path = path.with_name(f"{digest[:12]}.lock.json")
    try:
        lock = Lock.loads(lock_path.read_bytes())
    except FileNotFoundError as error:
        raise BadInputError(f"{lock_path}: no such file; put the parent's lock back") from error
    except ValidationError as error:
        raise BadInputError(f"{lock_path}: {content.explain(error)}") from error
    if {prereg.digest(), lock.prereg_digest} != {digest}:
        raise BadInputError(f"{path}: is not the registration {digest[:12]} that is amended")
    return Ancestor(prereg, lock)


def after_data(prereg: Preregistration, parents: Iterable[Ancestor]) -> tuple[str, ...]:
    """Hypotheses that no parent had in this form when the trials of it were seen.

    A claim is also another one if either of its arms is.
    """
    late: dict[str, None] = {}
    child = prereg
    for parent in parents:
        assert child.amendment is not None
        before = 0 if parent.prereg.amendment is None else parent.prereg.amendment.trials_seen
        if child.amendment.trials_seen > before:
            known = {claim.id: _whole(claim, parent.prereg) for claim in parent.prereg.hypotheses}
            for claim in prereg.hypotheses:
                if known.get(claim.id) != _whole(claim, prereg):
                    late[claim.id] = None
        child = parent.prereg
    return tuple(claim.id for claim in prereg.hypotheses if claim.id in late)


def _whole(claim: Hypothesis, prereg: Preregistration) -> tuple[Any, ...]:
    """A claim with the arms that it speaks of."""
    arms = {arm.name: arm for arm in prereg.arms}
    return claim, arms.get(claim.arm), arms.get(claim.against)


# -- in the report ----------------------------------------------------------------------------


def confirmatory(prereg: Preregistration, lock: Lock) -> Preregistration:
    """The registration without the hypotheses that came after data."""
    if not lock.after_data:
        return prereg
    kept = tuple(claim for claim in prereg.hypotheses if claim.id not in lock.after_data)
    return prereg.model_copy(update={"hypotheses": kept})


def rejoined(fields: dict[str, Any], rows: Iterable[HypothesisRow], lock: Lock) -> dict[str, Any]:
    """The report's fields about claims, with those that came after data among them, untested.

    `fields`: of the confirmatory ones. `rows`: all claims as their intervals bear them.
    """
    if not lock.after_data:
        return fields
    tested = {row.id: row for row in fields["hypotheses"]}
    why = "changed after trials had been seen: exploratory, not tested"
    late = {"verdict": "cannot be told", "why": why}
    all_rows = tuple(tested.get(row.id) or row.model_copy(update=late) for row in rows)
    return fields | {"hypotheses": all_rows}
