"""What a task takes beyond a desktop, read from its text, and what lacks of it here.

```
offline   names no URL at all                          assets    names files of an asset host alone
live      any other host, a proxy, or a Google account
```
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from hfr_bench.suites.osworld.cache import CACHE, absent
from hfr_bench.suites.osworld.needs import Upstream, lacking
from hfr_bench.suites.osworld.setup import steps_lacking
from hfr_bench.suites.osworld.tasks import Record

Network = Literal["offline", "assets", "live"]
Reads = Literal["nothing", "files", "desktop"]

ASSET_HOSTS = frozenset({"huggingface.co"})
MODEL_METRICS = frozenset({"compare_image_text"})
"""Metrics that ask a learnt model, which reads the letters in a picture."""

_ACCOUNT_STEPS = frozenset({"login", "googledrive"})
_ACCOUNT_GETTERS = frozenset({"googledrive_file"})
_FILE_GETTERS = frozenset(
    (
        *("vm_file", "cloud_file", "rule", "vm_command_line", "vm_command_error", "cache_file"),
        *("list_directory", "content_from_vm_file"),
    )
)
_ALIASES = {
    "calc": "libreoffice_calc",
    "writer": "libreoffice_writer",
    "vs_code": "vscode",
    "browser": "chrome",
}
_NO_PROGRAMS = frozenset({"pdf", "image"})
_URL = re.compile(r"https?://[^\s\"'\\]+")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Needs:
    """What a task takes.

    `hosts`: named by steps or evaluator; `apps`: programs; `account`: a Google account is logged
    in to, or filled; `model`: a learnt model grades; `reads`: what the grading reads of the guest
    (files and commands, or the living desktop as well).
    """

    network: Network
    hosts: tuple[str, ...]
    apps: tuple[str, ...]
    proxy: bool
    account: bool
    model: bool
    reads: Reads


@dataclass(frozen=True, slots=True)
class Equipment:
    """What there is. `apps` None: all of them, as in upstream's own machine image."""

    apps: frozenset[str] | None = None
    live: bool = False
    proxy: bool = False
    account: bool = False
    cache: Path | None = None
    upstream: Upstream | None = None


def needs_of(record: Record) -> Needs:
    """What a task takes."""
    hosts = _hosts(record)
    asked = [part.result for part in record.evaluator.parts]
    asked += [part.expected for part in record.evaluator.parts if part.expected]
    getters = {getter["type"] for getter in asked}
    steps = {step["type"] for step in (*record.config, *record.evaluator.postconfig)}
    account = bool(steps & _ACCOUNT_STEPS or getters & _ACCOUNT_GETTERS)
    outside = [host for host in hosts if host not in ASSET_HOSTS]
    network: Network = "live" if outside or record.proxy or account else "assets"
    reads: Reads = "files" if getters <= _FILE_GETTERS else "desktop"
    return Needs(
        network=network if hosts or network == "live" else "offline",
        hosts=hosts,
        apps=tuple(dict.fromkeys(_programs(record.problem.apps))),
        proxy=record.proxy,
        account=account,
        model=any(part.metric in MODEL_METRICS for part in record.evaluator.parts),
        reads=reads if record.evaluator.feasible else "nothing",
    )


def _programs(named: Sequence[str]) -> Iterator[str]:
    """Programs by one name each; `pdf` and `image` are none."""
    for name in named:
        plain = name.lower().replace(" ", "_")
        if plain not in _NO_PROGRAMS:
            yield _ALIASES.get(plain, plain)


def _hosts(record: Record) -> tuple[str, ...]:
    found = {
        urlsplit(url).netloc
        for text in _texts([list(record.config), dict(record.sealed)])
        for url in _URL.findall(text)
    }
    return tuple(sorted(found))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)


def task_lacks(record: Record, equipment: Equipment) -> tuple[str, ...]:
    """What of a task lacks here, in words, whatever may be done about it; () = it can be run."""
    needs, said = needs_of(record), []
    if equipment.apps is not None:
        apps = [app for app in needs.apps if app not in equipment.apps]
        said += [f"no program {', '.join(apps)} in the guest"] if apps else []
    if needs.proxy and not equipment.proxy:
        said.append("it asks for a proxy")
    if needs.account and not equipment.account:
        said.append("it takes a Google account")
    outside = [host for host in needs.hosts if host not in ASSET_HOSTS]
    if outside and not equipment.live:
        said.append(f"it takes the living web ({_some(outside)})")
    said += [f"no step {kind!r}" for kind in steps_lacking(record.config)]
    said += lacking(record.evaluator, equipment.upstream)
    said += _not_cached(record, equipment.cache)
    return tuple(said)


def _not_cached(record: Record, cache: Path | None) -> Iterator[str]:
    if not record.assets:
        return
    if cache is None:
        yield f"{len(record.assets)} files of its own, and no cache of them ({CACHE})"
        return
    missing = absent(record.assets, cache / record.id)
    if missing:
        shown = _some([f"{item.url} as {item.name}" for item in missing])
        count = f"{len(missing)} of its {len(record.assets)} files"
        yield f"{count} are not in {cache / record.id}: {shown}"


def _some(items: Sequence[str]) -> str:
    more = f", and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more
