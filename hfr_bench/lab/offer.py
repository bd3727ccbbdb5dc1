"""What faults there are: ours, those of installed plugins, and those in an experiment's own folder.

A folder of faults has `kinds/*.yaml` and `matrices/*.yaml`, laid out as `injectors/` is. A plugin
names a function that returns its folder in the entry-point group `hfr_bench.content`; an experiment
has the two beside its prereg.yaml. Ours are always part of an experiment, of the others those that
its matrix names: what else is installed on a machine changes no digest.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hfr_bench import content, plugins
from hfr_bench.errors import BadInputError
from hfr_bench.model.matrix import FaultMatrix
from hfr_bench.model.prereg import FaultPlan
from hfr_bench.model.record import digest
from hfr_bench.model.schedule import KindSpec

KINDS, MATRICES = "kinds", "matrices"
OURS = "hfr-bench"


class Shelf(NamedTuple):
    """A folder of faults. `whose`: as messages and locks name it."""

    whose: str
    folder: Path


class Faults(NamedTuple):
    """What an experiment's faults are made of.

    `whose`: of each kind, or matrix, not ours. `in_bursts`: the kinds that bursts name.
    """

    kinds: Mapping[str, KindSpec]
    matrix: FaultMatrix
    whose: Mapping[str, str]
    in_bursts: frozenset[str] = frozenset()

    @property
    def foreign(self) -> dict[str, KindSpec]:
        """The kinds that are not ours."""
        return {name: self.kinds[name] for name in self.whose if name in self.kinds}

    @property
    def digest(self) -> str:
        """One digest over all kinds."""
        return kinds_digest(self.kinds)

    @property
    def named(self) -> set[str]:
        """The kinds that the matrix or a burst names: all that may be injected."""
        return {name for mix in self.matrix.mixes for name in mix.kinds} | self.in_bursts


def kinds_digest(kinds: Mapping[str, KindSpec]) -> str:
    """One digest over kinds by name, in whatever order."""
    return digest({name: spec.model_dump(mode="json") for name, spec in kinds.items()})


def shelves(folder: Path | None = None) -> Iterator[Shelf]:
    """Every folder of faults, ours first. `folder`: an experiment's; None for no experiment.

    Raises BadInputError if a plugin does not name a folder.
    """
    yield Shelf(OURS, content.root() / "injectors")
    for name, point in plugins.offered(plugins.CONTENT).items():
        found = plugins.find(plugins.CONTENT, name)()
        whose = plugins.origin_of(point)
        if not isinstance(found, Path) or not found.is_dir():
            raise BadInputError(f"{whose}: content {name!r} names no folder, but {found!r}")
        yield Shelf(whose, found)
    if folder is not None and (folder / "prereg.yaml").is_file():
        yield Shelf("the experiment's folder", folder)


def all_kinds(folder: Path | None = None) -> dict[str, tuple[KindSpec, str]]:
    """Every kind on offer by name, and whose it is.

    Raises BadInputError for one that cannot be read, and for a name that is given twice.
    """
    found = {name: (spec, OURS) for name, spec in content.kinds().items()}
    for shelf in list(shelves(folder))[1:]:
        for path in sorted((shelf.folder / KINDS).glob("*.yaml")):
            spec = content.read_record(path, KindSpec)
            if spec.kind in found:
                other = found[spec.kind][1]
                raise BadInputError(f"{path}: the kind {spec.kind!r} is there already: {other}")
            found[spec.kind] = spec, shelf.whose
    return found


def faults(plan: FaultPlan, folder: Path | None = None) -> Faults:
    """What an experiment with that plan is made of.

    Raises BadInputError for an unknown matrix (listing what there is), one whose name is given
    twice, and for what cannot be read.
    """
    matrix, whose_matrix = _matrix(plan.matrix, folder)
    in_bursts = frozenset(name for burst in plan.bursts for name in burst.kinds)
    offered = all_kinds(folder)
    made = Faults({name: spec for name, (spec, _) in offered.items()}, matrix, {}, in_bursts)
    if missing := sorted(made.named - set(offered)):
        raise BadInputError(
            f"the fault matrix {plan.matrix!r} or a burst names the kind {missing[0]!r}, which "
            "is nowhere here: install the plugin that brings it, or put it into the experiment's "
            "kinds/"
        )
    whose = {n: owner for n, (_, owner) in offered.items() if owner != OURS and n in made.named}
    kinds = {
        name: spec for name, (spec, owner) in offered.items() if owner == OURS or name in whose
    }
    if whose_matrix != OURS:
        whose[f"matrix {plan.matrix}"] = whose_matrix
    return made._replace(kinds=kinds, whose=whose)


def _matrix(name: str, folder: Path | None) -> tuple[FaultMatrix, str]:
    """A matrix by name, and whose it is."""
    found: dict[str, list[tuple[Path, str]]] = {}
    for shelf in shelves(folder):
        for path in (shelf.folder / MATRICES).glob("*.yaml"):
            found.setdefault(path.stem, []).append((path, shelf.whose))
    if name not in found:
        offered = ", ".join(sorted(found))
        raise BadInputError(f"unknown fault matrix {name!r}; there are: {offered}")
    (first, whose), *more = found[name]
    if more:
        raise BadInputError(f"{more[0][0]}: the fault matrix {name!r} is there already: {first}")
    return content.read_record(first, FaultMatrix), whose


def own_files(folder: Path) -> Iterator[Path]:
    """The kinds and matrices that lie in an experiment's folder."""
    for name in (KINDS, MATRICES):
        yield from sorted((folder / name).glob("*.yaml"))
