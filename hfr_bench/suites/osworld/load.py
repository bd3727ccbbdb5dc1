"""Reading the public tasks from a checkout of OSWorld: nothing of it is shipped, or downloaded.

```
ROOT/evaluation_examples/test_all.json                    {domain: [id, ...]}    the pool `all`
ROOT/evaluation_examples/test_<pool>.json                 the same, of another pool
ROOT/evaluation_examples/examples/<domain>/<id>.json      a task
ROOT/cache/<id>/...                                       files, see `cache.py`
```
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError
from hfr_bench.suites.osworld.cache import CACHE
from hfr_bench.suites.osworld.tasks import Record, read_record

ROOT = "HFR_BENCH_OSWORLD_ROOT"
"""Names the checkout."""
ALL = "all"
_EXAMPLES = "evaluation_examples"
_SHOWN = 5
HOW = (
    f"git clone https://github.com/xlang-ai/OSWorld, then --data-dir osworld=DIR, the suite's "
    f"setting `root`, or {ROOT}=DIR"
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout. `examples`: the folder with the lists; `cache`: where its files are kept."""

    examples: Path
    cache: Path

    @property
    def pools(self) -> tuple[str, ...]:
        """The names that `load` knows: `all`, and what else lies there as test_<name>.json."""
        return tuple(
            sorted(p.stem.removeprefix("test_") for p in self.examples.glob("test_*.json"))
        )


def find_checkout(root: str | Path | None = None) -> Checkout:
    """The checkout that is named, by the argument or by HFR_BENCH_OSWORLD_ROOT.

    Raises BadInputError: none is named, or it holds no list of tasks.
    """
    named = root or os.environ.get(ROOT)
    if not named:
        raise BadInputError(f"OSWorld's tasks are read from a checkout, and none is named: {HOW}")
    folder = Path(named).expanduser()
    cache = os.environ.get(CACHE)
    for examples in (folder / _EXAMPLES, folder):
        if (examples / "test_all.json").is_file():
            kept = Path(cache).expanduser() if cache else examples.parent / "cache"
            return Checkout(examples, kept)
    raise BadInputError(f"{folder} holds no {_EXAMPLES}/test_all.json: {HOW}")


def load(
    checkout: Checkout,
    pool: str = ALL,
    ids: Sequence[str] | None = None,
    domains: Sequence[str] | None = None,
) -> tuple[Record, ...]:
    """The tasks of a pool in its order, or those of `ids` in theirs; of `domains` alone if said.

    Raises BadInputError: no such pool, domain or id, or tasks that cannot be used (the first five).
    """
    listed = list(_listed(checkout, pool))
    known = dict.fromkeys(domain for domain, _ in listed)
    unknown = [name for name in domains or () if name not in known]
    if unknown:
        raise BadInputError(
            f"no domain {', '.join(unknown)} in {pool}: there are {', '.join(known)}"
        )
    if domains is not None:
        listed = [item for item in listed if item[0] in domains]
    if ids is not None:
        listed = _only(listed, ids, pool)
    return _records(checkout, listed)


def _listed(checkout: Checkout, pool: str) -> Iterator[tuple[str, str]]:
    """(domain, id) of each task of a pool."""
    path = checkout.examples / f"test_{pool}.json"
    if not path.is_file():
        raise BadInputError(f"no pool {pool!r} in {checkout.examples}: {', '.join(checkout.pools)}")
    found = _json(path)
    if not isinstance(found, dict) or not all(isinstance(ids, list) for ids in found.values()):
        raise BadInputError(f"{path}: expected an object of lists of ids by domain")
    for domain, ids in found.items():
        for name in ids:
            if not isinstance(name, str) or {"/", "\\"} & set(name + domain):
                raise BadInputError(f"{path}: {domain}/{name!r} is no task's name")
            yield domain, name


def _only(
    listed: Sequence[tuple[str, str]], ids: Sequence[str], pool: str
) -> list[tuple[str, str]]:
    by_id = {name: (domain, name) for domain, name in listed}
    unknown = [name for name in ids if name not in by_id]
    if unknown:
        raise BadInputError(
            f"no task {', '.join(unknown[:_SHOWN])} among the {len(by_id)} chosen of {pool} "
            f"(such as {', '.join(list(by_id)[:_SHOWN])})"
        )
    return [by_id[name] for name in dict.fromkeys(ids)]


def _records(checkout: Checkout, listed: Sequence[tuple[str, str]]) -> tuple[Record, ...]:
    read, wrong = [], []
    for domain, name in listed:
        try:
            read.append(_record(checkout, domain, name))
        except BadInputError as error:
            wrong.append(str(error))
    if wrong:
        more = f"\nand {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise BadInputError("\n".join(wrong[:_SHOWN]) + more)
    return tuple(read)


def _record(checkout: Checkout, domain: str, name: str) -> Record:
    path = checkout.examples / "examples" / domain / f"{name}.json"
    if not path.is_file():
        raise BadInputError(f"{path}: no such task, though a list names it")
    row = _json(path)
    if not isinstance(row, dict):
        raise BadInputError(f"{path}: expected an object")
    record = read_record(row, domain, str(path))
    if record.id != name:
        raise BadInputError(f"{path}: calls itself {record.id!r}")
    return record


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadInputError(f"{path}: not JSON: {error}") from error
