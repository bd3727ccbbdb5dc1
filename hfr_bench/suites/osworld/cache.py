"""A task's files, as upstream's cache names them: a pre-filled one serves without a network.

```
cache_dir/<task_id>/<uuid5(NAMESPACE_URL, url)>_<basename of path>    of a download step
cache_dir/<task_id>/<dest>                                            of a cloud_file getter
```
"""

import posixpath
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hfr_bench.suites.osworld.evaluator import Evaluator

CACHE = "HFR_BENCH_OSWORLD_CACHE"
"""Names the cache's folder; otherwise it is `cache` in the checkout, as upstream's."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that a task needs: where it comes from, and its name in the task's folder."""

    url: str
    name: str


def cached_name(url: str, path: str) -> str:
    """The name in the cache of what a step downloads to a path of the guest."""
    return f"{uuid.uuid5(uuid.NAMESPACE_URL, url)}_{posixpath.basename(path)}"


def assets_of(config: Sequence[Mapping[str, Any]], evaluator: Evaluator) -> tuple[Asset, ...]:
    """All files of a task, each once, in the order of their use."""
    found = [*_downloaded(config), *_downloaded(evaluator.postconfig)]
    for part in evaluator.parts:
        for getter in (part.result, part.expected or {}):
            if getter.get("type") == "cloud_file":
                found += _clouded(getter)
    return tuple(dict.fromkeys(found))


def _downloaded(steps: Sequence[Mapping[str, Any]]) -> Iterator[Asset]:
    for step in steps:
        if step.get("type") == "download":
            for file in step["parameters"]["files"]:
                yield Asset(file["url"], cached_name(file["url"], file["path"]))


def _clouded(getter: Mapping[str, Any]) -> Iterator[Asset]:
    urls, names = getter["path"], getter["dest"]
    pairs = zip(urls, names, strict=False) if getter.get("multi") else [(urls, names)]
    yield from (Asset(url, name) for url, name in pairs)


def absent(assets: Sequence[Asset], folder: Path) -> tuple[Asset, ...]:
    """Those that a task's folder does not hold."""
    return tuple(asset for asset in assets if not (folder / asset.name).is_file())
