"""Getters: what a metric is handed, read from the guest, the cache or the task itself.

A getter takes the world and its own part of the task, and gives text, a value, or the path of a
file in the task's cache; None stands for what the guest would not give.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from hfr_bench.suites.osworld.world import World


@dataclass(frozen=True, slots=True)
class Getter:
    """A getter, and the libraries that its module loads when it is first used."""

    module: str
    name: str
    libraries: tuple[str, ...] = ()

    @property
    def get(self) -> Callable[[World, Mapping[str, Any]], Any]:
        """The getter itself. Raises ImportError: a library is missing."""
        module = import_module(f"{__name__}.{self.module}")
        found: Callable[[World, Mapping[str, Any]], Any] = getattr(module, self.name)
        return found


def _of(module: str, names: str, *libraries: str) -> dict[str, Getter]:
    return {name: Getter(module, name, libraries) for name in names.split()}


_FILES = "rule cache_file cloud_file vm_file gimp_config_file vlc_config vm_wallpaper"
_GUEST = """
vm_command_line vm_command_error vm_terminal_output accessibility_tree list_directory
vm_screen_size vm_window_size
"""

GETTERS: Mapping[str, Getter] = MappingProxyType(
    {
        **_of("files", _FILES),
        **_of("guest", _GUEST),
        **_of("workbook", "content_from_vm_file", "pandas", "openpyxl"),
    }
)
