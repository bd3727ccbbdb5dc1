"""Metrics: what holds a result against what was expected, by upstream's names. 0 to 1 each.

A metric takes what the getters gave, and the task's options as keywords. It reads files of the
task's cache and nothing else. A module is loaded when one of its metrics is used: the libraries
come with the extra `osworld`. Each is held against upstream's own where that is installed
(`tests/suites/osworld/grading/test_parity.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from hfr_bench.suites.osworld.metrics.options import (
    archive_lacks,
    lacks_nothing,
    table_lacks,
)


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

_SETTINGS = "check_config_status check_thunderbird_prefs check_thunderbird_filter"
_DOCUMENTS = """
compare_docx_files compare_docx_files_and_ignore_new_lines compare_docx_lines compare_docx_tables
compare_docx_images compare_line_spacing compare_font_names compare_subscript_contains
contains_page_break has_page_numbers_in_footers is_first_line_centered check_italic_font_size_14
evaluate_strike_through_last_paragraph
"""
_PICTURES = """
compare_images compare_image_list check_structure_sim check_file_exists_and_structure_sim
check_image_mirror check_image_size check_image_file_size
"""
_TABLE_LIBRARIES = ("openpyxl", "pandas", "rapidfuzz", "lxml")
_DOCUMENT_LIBRARIES = ("python-docx", "pillow", "rapidfuzz")
_ALL_LIBRARIES = (*_TABLE_LIBRARIES, "python-docx", "pillow", "python-pptx")

METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        **_of("text", _TEXT),
        **_of("values", _VALUES),
        **_of("settings", _SETTINGS),
        **_of("fuzzy", "fuzzy_match", "rapidfuzz"),
        **_of("tree", "check_accessibility_tree", "lxml", "cssselect", "rapidfuzz"),
        **_of("documents", _DOCUMENTS, *_DOCUMENT_LIBRARIES),
        **_of("slides", "compare_pptx_files check_slide_orientation_Portrait", "python-pptx"),
        **_of("pictures", _PICTURES, "pillow"),
        **_of("tables", "compare_conference_city_in_order", *_TABLE_LIBRARIES),
        **_of("archives", "compare_zip_files", *_ALL_LIBRARIES),
        "compare_table": Metric("tables", "compare_table", _TABLE_LIBRARIES, table_lacks),
        "compare_archive": Metric("archives", "compare_archive", _ALL_LIBRARIES, archive_lacks),
    }
)
