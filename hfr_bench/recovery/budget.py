"""What may still be spent: retries, resources and time (paper §4.3, §4.8), asked before acting.

Two kinds of budget. `Attempts` counts what is done *again* (proposition 1); `Vector` bounds what
an action may *use*, dimension by dimension, before it goes out (second seed, point two).
"""

from collections.abc import Sequence
from typing import NamedTuple

from hfr_bench.model.attempt import BudgetView

# Weights are read to nine decimals: 0.7 means seven tenths, whatever its binary form, and whole
# numbers cannot add up to more than the total.
_WEIGHT_SCALE = 10**9


class Budget(NamedTuple):
    """What is left. Extra attempts only; the first attempt of a step is never charged."""

    step_left: int
    task_left: int

    def affords(self, retries: int = 1) -> bool:
        return self.step_left >= retries and self.task_left >= retries

    def less(self, retries: int = 1) -> "Budget":
        """After a debit. Raises ValueError if it was not affordable: refused, not overdrawn."""
        if not self.affords(retries):
            raise ValueError(f"budget cannot afford {retries}: {self}")
        return Budget(self.step_left - retries, self.task_left - retries)

    def view(self, deadline_left_us: int) -> BudgetView:
        return BudgetView(self.step_left, self.task_left, deadline_left_us)


def affords(
    step_left: int, task_left: int | None, tenant_left: int | None = None, held: int = 0
) -> bool:
    """One more retry? What is left as in `Attempts`, for those who make none to ask."""
    return (
        step_left > 0
        and (task_left is None or task_left > held)
        and (tenant_left is None or tenant_left > 0)
    )


class Attempts(NamedTuple):
    """The one manager of retries and rungs (paper §4.3, proposition 1).

    `step_left`, `task_left`, `tenant_left`: extra attempts left; None = not limited (for a
    tenant: no token bucket). `rung_moves`: moves down the ladder that were not charged, over the
    whole task. `charge_rungs`: a rung costs what a retry costs. With it the bound of
    proposition 1 is strict; without it the bound grows by `rung_moves` (see `bound`).
    """

    step_left: int
    task_left: int | None
    tenant_left: int | None = None
    rung_moves: int = 0
    charge_rungs: bool = True

    def affords(self, held: int = 0) -> bool:
        """One more retry? `held`: of the task's, kept back for the last step (paper §4.8)."""
        return affords(self.step_left, self.task_left, self.tenant_left, held)

    def affords_rung(self, held: int = 0) -> bool:
        """One more move down the ladder? Always, where rungs are not charged."""
        return not self.charge_rungs or self.affords(held)

    def after_retry(self) -> "Attempts":
        """One retry less. Raises ValueError if there was none: refused, never overdrawn."""
        step, task, tenant, moves, charge = self
        if not self.affords():
            raise ValueError(f"no retry is left: {self}")
        return Attempts(
            step - 1,
            None if task is None else task - 1,
            None if tenant is None else tenant - 1,
            moves,
            charge,
        )

    def after_rung(self) -> "Attempts":
        """Charged like a retry, or only counted. Raises ValueError on an overdraw."""
        if self.charge_rungs:
            return self.after_retry()
        step, task, tenant, moves, charge = self
        return Attempts(step, task, tenant, moves + 1, charge)

    def at_step(self, step_left: int) -> "Attempts":
        """The next step: its own extra attempts; task, tenant and counts go on."""
        _, task, tenant, moves, charge = self
        return Attempts(step_left, task, tenant, moves, charge)


def bound(n_steps: int, step_retries: int, task_retries: int | None, rung_moves: int = 0) -> int:
    """The most attempts a task can make: min(n(1+Bs), n+Bt) + uncharged rung moves.

    Proposition 1 and appendix D of the paper. `task_retries`: None = no task budget.
    """
    most = n_steps * (1 + step_retries)
    if task_retries is not None:
        most = min(most, n_steps + task_retries)
    return most + rung_moves


class Vector(NamedTuple):
    """Amounts in four dimensions that are never added up: no rate turns tokens into time.

    As what is *left*, None = not limited. As a *need* or a *reserve*: whole numbers >= 0, and an
    upper estimate, for a mean is no bound (second seed).
    """

    steps: int | None = 0
    tokens: int | None = 0
    time_us: int | None = 0
    cost_microusd: int | None = 0


_vector = Vector._make
ZERO = Vector()
UNBOUNDED = Vector(None, None, None, None)


def admit(left: Vector, need: Vector, reserve: Vector = ZERO) -> Vector | None:
    """What is left once `need` is set aside, or None: it does not fit, and nothing is spent.

    `reserve` is what asking the world and verifying afterwards would take: it must fit beside
    the need, but is only held back. Every dimension must fit. Each admission takes a step, so
    that a budget of n0 steps admits at most n0 actions (second seed, point two).
    Raises ValueError for a need of no step, and for what is no whole number >= 0.
    """
    rest: list[int | None] = []
    fits = True
    for have, want, held in zip(left, need, reserve, strict=True):
        # `type is int`: True would pass as one step.
        if type(want) is not int or type(held) is not int or want < 0 or held < 0:
            raise _unfit("need and reserve", (*need, *reserve))
        if have is None:
            rest.append(None)
        elif type(have) is int and have >= 0:
            if want + held > have:
                fits = False
            rest.append(have - want)
        else:
            raise _unfit("left", left)
    if not need[0]:
        raise ValueError("an action takes at least one step: without, nothing ends a loop")
    return _vector(rest) if fits else None


def settle(left: Vector, need: Vector, used: Vector) -> Vector:
    """After an admitted action: what it did not use comes back, what it overran is charged.

    `left`: since the admission. `used`: None in a dimension = nobody knows, so that all that was
    set aside counts as spent. One step stays spent whatever was used, or the bound on admissions
    would not hold. Never below 0. Raises ValueError for what is no whole number >= 0.
    """
    rest: list[int | None] = []
    for have, want, spent in zip(left, need, used, strict=True):
        if type(want) is not int or want < 0:
            raise _unfit("need", need)
        if spent is not None and (type(spent) is not int or spent < 0):
            raise _unfit("used", used)
        if have is None or spent is None:
            rest.append(have)
        elif type(have) is int and have >= 0:
            # Steps come first, and one of them stays spent.
            after = have + want - (spent or (0 if rest else 1))
            rest.append(after if after > 0 else 0)
        else:
            raise _unfit("left", left)
    return _vector(rest)


def shares(total: int, weights: Sequence[float], last_reserved: int = 1) -> tuple[int, ...]:
    """Retries for each step: B_i = floor(B_t * w_i / sum(w)), w_i = c_i * rho_i (paper §4.8).

    `last_reserved` is taken out first and goes to the last step on top of its share, so that
    earlier steps cannot use up what submitting needs. Weights count to nine decimals; where all
    are zero, only the reserve is given out. The sum never exceeds `total`.
    Raises ValueError for negative amounts and for weights that are negative or not finite.
    """
    if total < 0 or last_reserved < 0:
        raise ValueError(f"retries must be 0 or more, got {total} and {last_reserved} in reserve")
    for weight in weights:
        if not 0 <= weight < float("inf"):
            raise ValueError(f"a weight must be finite and 0 or more, got {weight!r}")
    if not weights:
        return ()
    reserved = min(last_reserved, total)
    scaled = [_scaled(weight) for weight in weights]
    whole = sum(scaled)
    given = [(total - reserved) * weight // whole if whole else 0 for weight in scaled]
    given[-1] += reserved
    return tuple(given)


def in_time(
    now_us: int, delay_us: int, estimate_us: int, deadline_us: int, verify_us: int = 0
) -> bool:
    """T + d + t_step + t_verify <= D (paper §4.8): what must come too late is not worth it."""
    return now_us + delay_us + estimate_us + verify_us <= deadline_us


def _scaled(weight: float) -> int:
    """A weight as a whole number; a large one does not overflow."""
    whole, rest = divmod(weight, 1)
    return int(whole) * _WEIGHT_SCALE + round(rest * _WEIGHT_SCALE)


def _unfit(what: str, amounts: Sequence[object]) -> ValueError:
    return ValueError(f"{what} must be whole numbers of 0 or more, got {tuple(amounts)}")
