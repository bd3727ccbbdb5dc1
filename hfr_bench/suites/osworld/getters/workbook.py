"""The getter that reads a workbook of the guest."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from hfr_bench.suites.osworld.errors import UngradeableError
from hfr_bench.suites.osworld.getters.files import copy
from hfr_bench.suites.osworld.world import World


def content_from_vm_file(world: World, config: Mapping[str, Any]) -> list[str]:
    """The last row of a workbook's first sheet, as texts: the one content that tasks ask for."""
    if (config["file_type"], config["file_content"]) != ("xlsx", "last_row"):
        raise UngradeableError(
            f"no content {config['file_content']!r} of {config['file_type']!r} files: "
            "there is 'last_row' of 'xlsx'"
        )
    path = copy(world, config["path"], PurePosixPath(config["path"]).name)
    if path is None:
        raise FileNotFoundError(f"the guest gives no {config['path']}")
    return [str(value) for value in pd.read_excel(path).iloc[-1].astype(str).tolist()]
