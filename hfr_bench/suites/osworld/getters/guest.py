"""Getters that ask the guest for a value."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.suites.osworld.world import World, asked


def _run(world: World, config: Mapping[str, Any], key: str) -> Any:
    sent = {"command": config["command"], "shell": config.get("shell", False)}
    return asked(world, "POST", "/execute", key, json=sent)


def vm_command_line(world: World, config: Mapping[str, Any]) -> Any:
    """What a command prints: `{command, shell?}`."""
    return _run(world, config, "output")


def vm_command_error(world: World, config: Mapping[str, Any]) -> Any:
    """What a command prints as its errors: `{command, shell?}`."""
    return _run(world, config, "error")


def vm_terminal_output(world: World, _: Mapping[str, Any]) -> Any:
    """The text of the terminal in front."""
    return asked(world, "GET", "/terminal", "output")


def accessibility_tree(world: World, _: Mapping[str, Any]) -> Any:
    """The tree of what is on the screen, as XML."""
    return asked(world, "GET", "/accessibility", "AT")


def list_directory(world: World, config: Mapping[str, Any]) -> Any:
    """A folder: `{type, name, children: […]}`, of `{path}`."""
    return asked(world, "POST", "/list_directory", "directory_tree", json={"path": config["path"]})


def vm_screen_size(world: World, _: Mapping[str, Any]) -> Any:
    """`{width, height}` of the screen."""
    return asked(world, "POST", "/screen_size", "")


def vm_window_size(world: World, config: Mapping[str, Any]) -> Any:
    """`{width, height}` of an application's window: `{app_class_name}`."""
    form = {"app_class_name": config["app_class_name"]}
    return asked(world, "POST", "/window_size", "", form=form)
