"""Metrics: what holds a result against what was expected, by upstream's names. 0 to 1 each.

A metric takes what the getters gave, and the task's options as keywords. It reads files of the
task's cache and nothing else. A module is loaded when one of its metrics is used: the libraries
come with the extra `osworld`. Each is held against upstream's own where that is installed
(`tests/suites/osworld/test_parity.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from hfr_bench.suites.osworld.metrics.options import lacks_nothing


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: `judge(result[, expected], **options)`, and the libraries that it loads.

    `lacks`: what of its options it cannot carry out, in words, told before a run.
    """

    module: str
    name: str
    libraries: tuple[str, ...] = ()
    lacks: Callable[[Mapping[str, Any]], tuple[str, ...]] = lacks_nothing

    @property
    def judge(self) -> Callable[..., float]:
        """The metric itself. Raises ImportError: a library is missing."""
        found: Callable[..., float] = getattr(import_module(f"{__name__}.{self.module}"), self.name)
        return found


def _of(module: str, names: str, *libraries: str) -> dict[str, Metric]:
    return {name: Metric(module, name, libraries) for name in names.split()}


_TEXT = """
check_include_exclude exact_match match_in_list is_in_list literal_match diff_text_file
compare_text_file compare_config compare_answer file_contains check_list check_csv compare_csv
check_line_number compare_terminal_and_txt compare_python_pure_text is_extension_installed
"""
_VALUES = """
check_json check_direct_json_object is_included_all_json_objects check_json_settings
check_json_keybindings run_sqlite3 check_moved_jpgs check_gnome_favorite_apps is_utc_0
check_text_enlarged is_in_vm_clickboard
"""

METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        **_of("text", _TEXT),
        **_of("values", _VALUES),
        **_of("fuzzy", "fuzzy_match", "rapidfuzz"),
        **_of("tree", "check_accessibility_tree", "lxml", "cssselect", "rapidfuzz"),
    }
)
