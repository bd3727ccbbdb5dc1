"""Importing tau2, lightly.

Going through `tau2.registry` costs about 3.7 s of CPU (litellm, pandas); the domain modules and
three of the evaluators need neither. What they import without anything here ever calling it is
replaced by empty stand-ins: `deepdiff` (prints differences; pulls in numpy and pandas), `pandas`
(one annotation of a report) and `dotenv` (would read a `.env` file, that is to say somebody's
keys, at import). What is left costs 0.2 s, and needs of tau2's 134 packages only loguru, pydantic,
toml, pyyaml, addict and docstring-parser: 81 MB instead of 1.1 GB.
"""

import hashlib
import importlib
import os
import sys
import uuid
from functools import cache
from typing import Any

from .checkout import stand_in


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


def load(module: str) -> Any:
    """Import a module of tau2, from wherever its source has put it."""
    _prepare()
    return importlib.import_module(f"tau2.{module}")


@cache
def _prepare() -> None:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    stand_in("deepdiff", DeepDiff=None)
    stand_in("pandas", DataFrame=None)
    stand_in("dotenv", load_dotenv=lambda *_, **__: True)
    logger = importlib.import_module("loguru").logger
    logger.remove()
    logger.add(sys.stderr, level="ERROR")


def new_environment(domain: str, **options: Any) -> Any:
    """A fresh upstream Environment (loads the database from disk)."""
    module = load(f"domains.{domain}.environment")
    if domain == "telecom":
        load("domains.telecom.tools").uuid = BILL_IDS
        BILL_IDS.restart()
    return module.get_environment(**options)
