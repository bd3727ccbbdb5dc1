"""Trials column by column: what a metric needs of each is worked out once, for all its uses.

A report looks at every trial many times: at its rate, among all rates above 0, by kind of fault,
on the Pareto front. The columns are made over all trials, and every look picks rows of them. A
column that follows from the outcome alone is worked out once for all trials alike in it: the
definition stays one plain function of one outcome (`stats.metrics`), and numbers stay the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from hfr_bench.stats.metrics import Column, OfShared, each

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
PairKey = tuple[str, str, int, str]


def pair_key(trial: Any) -> PairKey:
    """What the trials of a pair have in common; the order in which arms are laid side by side."""
    return trial.suite, trial.task_id, trial.seed, trial.profile


class Columns:
    """Some trials, and the columns of them that were asked for.

    `trials`: what the metrics are about (TrialResult, or `stats.further.Judged`). `pairs`: which
    of `pair_keys` each is of, shape (trials,).

    Args:
        trials: of any order.
        beside: a table of the same trials in the same order; then `trials` may be what else is
            known of each (`Judged`), and where they belong is not asked again.
    """

    def __init__(self, trials: Sequence[Any], beside: "Columns | None" = None) -> None:
        self.trials = trials
        self.pair_keys: list[PairKey]
        self.pairs: Ints
        if beside is None:
            keys = list(map(pair_key, trials))
            self.pair_keys = sorted(set(keys))
            rank = {key: n for n, key in enumerate(self.pair_keys)}
            self.pairs = np.array([rank[key] for key in keys], dtype=np.int64)
        else:
            self.pair_keys, self.pairs = beside.pair_keys, beside.pairs
        self._shared: dict[Callable[[Any], Any], tuple[Ints, list[Any]]] = {}
        self._made: dict[Column, tuple[Ints, Bools | None]] = {}
        self._place: dict[int, int] | None = None
        self._cells = beside.cells() if beside else None
        self._rows: tuple[Mapping[Any, int], Ints] | None = None

    def cells(self) -> dict[tuple[str, float], list[int]]:
        """Places by arm and rate."""
        if self._cells is None:
            self._cells = {}
            for n, trial in enumerate(self.trials):
                self._cells.setdefault((trial.arm, trial.rate), []).append(n)
        return self._cells

    def rates(self) -> list[float]:
        """All rates that there are trials of, ascending."""
        return sorted({rate for _, rate in self.cells()})

    def cell(self, arm: str, rates: Iterable[float]) -> "Picked":
        """An arm's trials rate by rate, those of a rate in the order of the table."""
        cells = self.cells()
        return self.take([n for rate in rates for n in cells.get((arm, rate), ())])

    def take(self, places: Sequence[int]) -> "Picked":
        """Trials by their places in the table, in the order given."""
        return Picked(self, np.array(places, dtype=np.int64))

    def pick(self, trials: Iterable[Any]) -> "Picked":
        """Trials of this table, themselves and not their likes, in the order given."""
        if self._place is None:
            self._place = {id(trial): n for n, trial in enumerate(self.trials)}
        place = self._place
        return self.take([place[id(trial)] for trial in trials])

    def column(self, of: Column) -> tuple[Ints, Bools | None]:
        """A column over all trials (0 where unknown), and where it is unknown; None: nowhere."""
        if of not in self._made:
            self._made[of] = self._column(of)
        return self._made[of]

    def _column(self, of: Column) -> tuple[Ints, Bools | None]:
        if of is each:
            return np.ones(len(self.trials), dtype=np.int64), None
        if not isinstance(of, OfShared):
            return _ints(list(map(of, self.trials)))
        codes, firsts = self._alike(of.key)
        values, unknown = _ints([of(trial) for trial in firsts])
        return values[codes], None if unknown is None else unknown[codes]

    def _alike(self, key: Callable[[Any], Any]) -> tuple[Ints, list[Any]]:
        """Each trial's place among the different keys, and the first trial of each."""
        if key not in self._shared:
            place: dict[Any, int] = {}
            firsts: list[Any] = []
            codes = []
            for trial in self.trials:
                code = place.setdefault(key(trial), len(firsts))
                if code == len(firsts):
                    firsts.append(trial)
                codes.append(code)
            self._shared[key] = np.array(codes, dtype=np.int64), firsts
        return self._shared[key]

    def rows(self, index: Mapping[tuple[str, str], int]) -> Ints:
        """The row of each trial's task, or of its cohort, in the weight matrix."""
        if self._rows is None or self._rows[0] is not index:
            of_pair = np.array([index[suite, task] for suite, task, *_ in self.pair_keys], np.int64)
            self._rows = index, of_pair[self.pairs]
        return self._rows[1]


def _ints(values: Sequence[int | None]) -> tuple[Ints, Bools | None]:
    if None not in values:
        return np.array(values, dtype=np.int64), None
    unknown = np.array([value is None for value in values], dtype=np.bool_)
    return np.array([value or 0 for value in values], dtype=np.int64), unknown


class Picked(Sequence[Any]):
    """Some of the trials of a table, in an order; `at`: their places in it, shape (trials,)."""

    def __init__(self, table: Columns, at: Ints) -> None:
        self.table = table
        self.at = at

    def column(self, of: Column) -> Ints | None:
        """One column of these trials; None if a value is unknown."""
        values, unknown = self.table.column(of)
        return None if unknown is not None and unknown[self.at].any() else values[self.at]

    def filled(self, of: Column) -> Ints:
        """One column of these trials, 0 where unknown: what a denominator is."""
        made: Ints = self.table.column(of)[0][self.at]
        return made

    def rows(self, index: Mapping[tuple[str, str], int]) -> Ints:
        """The row of each trial's task in the weight matrix."""
        made: Ints = self.table.rows(index)[self.at]
        return made

    def tasks(self) -> int:
        """How many tasks they are of."""
        pairs = self.table.pair_keys
        return len({pairs[n][:2] for n in self.table.pairs[self.at].tolist()})

    def take(self, places: Ints | Bools) -> "Picked":
        """Some of these trials again, by their places among them or by a mask."""
        return Picked(self.table, self.at[places])

    def and_then(self, other: "Picked") -> "Picked":
        """These trials and others of the same table."""
        return Picked(self.table, np.concatenate([self.at, other.at]))

    def in_pairs(self) -> "Picked":
        """The same trials in pair order; those of one pair stay in the order they have."""
        return Picked(self.table, self.at[np.argsort(self.table.pairs[self.at], kind="stable")])

    def paired_with(self, other: "Picked") -> bool:
        """Whether both, in pair order, are of the same tasks, seeds and profiles."""
        if self.table is other.table:
            return np.array_equal(self.table.pairs[self.at], self.table.pairs[other.at])
        return list(map(pair_key, self)) == list(map(pair_key, other))

    def __len__(self) -> int:
        return int(self.at.size)

    def __iter__(self) -> Iterator[Any]:
        trials = self.table.trials
        return (trials[n] for n in self.at.tolist())

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> "Picked": ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return Picked(self.table, self.at[place])
        return self.table.trials[int(self.at[place])]


def picked(trials: Sequence[Any]) -> Picked:
    """Trials as rows of a table: as they are if they are some already, else of one of their own."""
    if isinstance(trials, Picked):
        return trials
    return Picked(Columns(trials), np.arange(len(trials), dtype=np.int64))
