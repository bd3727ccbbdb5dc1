"""What setup steps, getters and the grader see of a desktop: its server, a cache, what was done."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hfr_bench.errors import BadInputError

OK = 200
FAIL = "FAIL"


class Answer(Protocol):
    """An HTTP answer."""

    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...


class Caller(Protocol):
    """A guest's HTTP server: one attempt a call. Raises InfrastructureError if nobody answers."""

    def call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_s: float | None = None,
    ) -> Answer: ...


class World(Protocol):
    """A desktop after (or before) an episode."""

    @property
    def guest(self) -> Caller: ...

    @property
    def cache(self) -> Path:
        """The task's folder: `cache_dir/<task_id>`. Fetched files are put there."""

    @property
    def actions(self) -> Sequence[Any]:
        """What the agent did, in order; a string such as FAIL, or a mapping with action_type."""

    @property
    def screen(self) -> tuple[int, int]: ...

    @property
    def password(self) -> str:
        """What {CLIENT_PASSWORD} in a step becomes."""

    def sleep(self, seconds: float) -> None:
        """Let the trial's clock pass."""


@dataclass(slots=True)
class PlainWorld:
    """The plain World. `sleeping`: the trial clock's own."""

    guest: Caller
    cache: Path
    sleeping: Callable[[float], None]
    actions: Sequence[Any] = ()
    screen: tuple[int, int] = (1920, 1080)
    password: str = "password"  # noqa: S105 - the public one of upstream's machine image

    def sleep(self, seconds: float) -> None:
        self.sleeping(seconds)


def gave_up(world: World) -> bool:
    """Whether the last action is FAIL. Upstream knows the string only, never the mapping."""
    if not world.actions:
        return False
    last = world.actions[-1]
    return bool((last.get("action_type") if isinstance(last, Mapping) else last) == FAIL)


def inside(world: World, name: str) -> Path:
    """A file of the task's cache, its folder made. Raises BadInputError: it would lie outside."""
    path = (world.cache / name).resolve()
    if not path.is_relative_to(world.cache.resolve()):
        raise BadInputError(f"{name!r} would lie outside the task's cache {world.cache}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def asked(world: World, method: str, path: str, key: str, **sent: Any) -> Any:
    """A field of a JSON answer ("": all of it); None unless it is 200, as upstream's client."""
    answer = world.guest.call(method, path, **sent)
    if answer.status != OK:
        return None
    said = json.loads(answer.body)
    return said[key] if key else said
