"""What is known of the commands of a shell: the lists of `suites/swe_bench/commands.yaml`.

Suites read a script's level from its text by rules of their own: one parses it, one cuts it into
words. Which commands only read, and which are never to be repeated, is the same for all of them.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from hfr_bench import content


@cache
def table() -> Mapping[str, Any]:
    """commands.yaml."""
    path = content.root() / "suites" / "swe_bench" / "commands.yaml"
    return MappingProxyType(content.read_yaml(path))


@cache
def readers() -> frozenset[str]:
    """Commands that only read, whatever their options say."""
    known = table()
    kinds = ("says", "names", "looks", "varies")
    return frozenset(name for kind in kinds for name in known[kind])


@cache
def irreversible() -> frozenset[str]:
    """Commands that leave the sandbox, or destroy what nothing has recorded."""
    return frozenset((*table()["leaves"], *table()["destroys"]))
