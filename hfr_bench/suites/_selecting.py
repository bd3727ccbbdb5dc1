"""How suites of ours read a selection: `tasks` by their ids, or a `pool`; what there is is said.

Pools that every suite of this sort has: `all` and `base` (each task), and one a group (a site, a
repository); its manifest may name others.
"""

from collections.abc import Iterable, Mapping, Sequence

from hfr_bench.errors import BadInputError
from hfr_bench.model.prereg import SuiteSelection

WHOLE = ("all", "base")


def check_one_way(suite: str, selection: SuiteSelection) -> None:
    """Raises BadInputError unless it names either a pool or tasks."""
    if bool(selection.pool) == bool(selection.tasks):
        raise BadInputError(f"suite {suite}: name either a `pool` or `tasks`, one of the two")


def chosen(
    suite: str,
    selection: SuiteSelection,
    groups: Mapping[str, str],
    pools: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """The ids of a selection, in its order.

    `groups`: every task there is -> its group; `pools`: those of the manifest. Raises
    BadInputError for a pool or a task that is not there.
    """
    check_one_way(suite, selection)
    ids = pooled(suite, selection.pool, groups, pools) if selection.pool else selection.tasks
    for task_id in ids:
        if task_id not in groups:
            raise BadInputError(f"suite {suite} has no task {task_id!r}; {_offered(groups)}")
    return tuple(ids)


def pooled(
    suite: str, name: str, groups: Mapping[str, str], pools: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The ids of a pool. Raises BadInputError for one that is not there. See `chosen`."""
    if name in WHOLE:
        return tuple(groups)
    if name in pools:
        return tuple(pools[name])
    if name in groups.values():
        return tuple(task_id for task_id, group in groups.items() if group == name)
    offered = _offered((*WHOLE, *pools, *sorted(set(groups.values()))))
    raise BadInputError(f"suite {suite} has no pool {name!r}; {offered}")


def _offered(names: Iterable[str]) -> str:
    return f"there are: {', '.join(names)}"
