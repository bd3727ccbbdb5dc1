"""Which tasks of a pool are drawn: stratified, keyed, the same for whoever draws again.

A stratum gets its share of the sample, by largest remainders; as long as the sample is large
enough every stratum has at least one task, so that none is unseen (paper §6.6.5). Within a stratum
the tasks with the smallest keyed numbers are taken: neither order nor the rest of the pool matters.
"""

from collections import Counter
from collections.abc import Mapping
from math import floor

from hfr_bench.faults.draw import uniform


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many of each stratum make a sample of `n`, in the order of `sizes`.

    Raises ValueError for more than there are.
    """
    total = sum(sizes.values())
    if n > total:
        raise ValueError(f"{n} of {total} tasks cannot be drawn")
    whole = {name: floor(n * size / total) for name, size in sizes.items()}
    rest = sorted(sizes, key=lambda name: (-((n * sizes[name]) % total), name))
    for name in rest[: n - sum(whole.values())]:
        whole[name] += 1
    if n >= sum(size > 0 for size in sizes.values()):
        for name in sorted(name for name, size in sizes.items() if size and not whole[name]):
            # From the stratum that has most beyond its share of one.
            giver = max(sorted(whole), key=lambda other: whole[other])
            whole[giver] -= 1
            whole[name] += 1
    return whole


def drawn(strata: Mapping[str, str], n: int, seed: int, suite: str) -> tuple[str, ...]:
    """The drawn tasks, in the pool's order.

    Args:
        strata: every task of the pool, in order, with its stratum.
        n: how many.
        seed: keys the draw, with suite and task.
        suite: whose tasks they are.

    Raises:
        ValueError: more than there are.
    """
    quota = allocate(Counter(strata.values()), n)
    taken: set[str] = set()
    for stratum, count in quota.items():
        members = [task for task, where in strata.items() if where == stratum]
        members.sort(key=lambda task: (uniform("hfr-sample-v1", seed, suite, task), task))
        taken |= set(members[:count])
    return tuple(task for task in strata if task in taken)


def thirds(values: Mapping[str, int], what: str) -> dict[str, str]:
    """Each task's third of the pool by a number, named by the numbers in it, as in `steps 4-7`.

    Equal numbers share a third, so that there may be fewer than three.
    """
    ordered = sorted(values.values())
    edges = [ordered[(len(ordered) * k - 1) // 3] for k in (1, 2)] if ordered else []
    place = {task: sum(value > edge for edge in edges) for task, value in values.items()}
    names = {}
    for third in set(place.values()):
        found = [values[task] for task, where in place.items() if where == third]
        low, high = min(found), max(found)
        names[third] = f"{what} {low}" if low == high else f"{what} {low}-{high}"
    return {task: names[third] for task, third in place.items()}
