"""Getters that give files: fetched from the guest into the task's cache, or lying there already."""

from collections.abc import Mapping, Sequence
from typing import Any

from hfr_bench.suites.osworld.errors import NotCachedError
from hfr_bench.suites.osworld.world import OK, World, asked, inside

Given = str | None | list[str | None]


def rule(_: World, config: Mapping[str, Any]) -> Any:
    """The rules that stand in the task itself."""
    return config["rules"]


def cache_file(world: World, config: Mapping[str, Any]) -> str:
    """A file that a step has put into the cache. Raises FileNotFoundError: it is not there."""
    path = inside(world, config["path"])
    if not path.exists():
        raise FileNotFoundError(f"{config['path']} is not in the task's cache")
    return str(path)


def cloud_file(world: World, config: Mapping[str, Any]) -> Given:
    """Files named by URL, as the cache has them: nothing is downloaded.

    `{path: url, dest: name}`, or lists of both with `multi`; `gives`: the places of those wanted.
    """
    given: list[str | None] = []
    for place, (url, dest) in enumerate(named(config)):
        path = inside(world, dest)
        if not path.exists():
            raise NotCachedError(f"{url} is not in the cache as {path}")
        if place in config.get("gives", [0]):
            given.append(str(path))
    return _given(given)


def vm_file(world: World, config: Mapping[str, Any]) -> Given:
    """Files of the guest, copied into the cache: as `cloud_file`, with paths of the guest."""
    given: list[str | None] = []
    for place, (path, dest) in enumerate(named(config)):
        copied = copy(world, path, dest)
        if place in config.get("gives", [0]):
            given.append(copied)
    return _given(given)


def named(config: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """(source, name in the cache) of each file of a getter."""
    if config.get("multi", False):
        return list(zip(config["path"], config["dest"], strict=False))
    return [(config["path"], config["dest"])]


def _given(paths: list[str | None]) -> Given:
    return paths[0] if len(paths) == 1 else paths


def copy(world: World, path: str, dest: str) -> str | None:
    """A file of the guest in the cache; None if the guest does not give it."""
    answer = world.guest.call("POST", "/file", form={"file_path": path})
    if answer.status != OK:
        return None
    kept = inside(world, dest)
    kept.write_bytes(answer.body)
    return str(kept)


def _at_home(world: World, name: str, dest: str) -> str | None:
    """A file under the guest's home. None if the guest does not give it, or it is empty."""
    where = ["python3", "-c", f"import os; print(os.path.expanduser({'~/' + name!r}))"]
    said = asked(world, "POST", "/execute", "output", json={"command": where, "shell": False})
    copied = copy(world, said.strip(), dest) if said else None
    return copied if copied and inside(world, dest).stat().st_size else None


def gimp_config_file(world: World, config: Mapping[str, Any]) -> str | None:
    """A settings file of GIMP 2.10: `{file_name, dest}`."""
    return _at_home(world, f".config/GIMP/2.10/{config['file_name']}", config["dest"])


def vlc_config(world: World, config: Mapping[str, Any]) -> str | None:
    """The settings of VLC: `{dest}`."""
    return _at_home(world, ".config/vlc/vlcrc", config["dest"])


def vm_wallpaper(world: World, config: Mapping[str, Any]) -> str:
    """The picture behind the windows: `{dest}`; an empty file if the guest does not give it."""
    answer = world.guest.call("POST", "/wallpaper")
    path = inside(world, config["dest"])
    path.write_bytes(answer.body if answer.status == OK else b"")
    return str(path)
