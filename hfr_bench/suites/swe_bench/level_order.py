"""Whether writes that are each the same when repeated are so together, in one script."""

import posixpath
from collections.abc import Sequence

from hfr_bench.suites.swe_bench.level_rules import NOTHING, Effect, Paths
from hfr_bench.suites.swe_bench.shell_tree import Script

CARRIERS = frozenset({"read", "mapfile", "readarray", "getopts", "set", "source", "."})
"""Commands by which one statement finds out what a later one uses."""
_MOVERS = frozenset({"cd", "pushd", "popd"})


def tangled(script: Script, placed: Sequence[tuple[int, Effect]]) -> str:
    """Why writes that are each R1 are not R1 together; "" if they are.

    A repeat leaves the same state if whatever a writing statement reads is written by no other
    command. What commands of other statements read goes to the screen, unless something carries it.
    """
    writers = [(number, e) for number, (_, e) in enumerate(placed) if e.writes != NOTHING]
    names = {word.text for command in script.commands for word in command.words[:1]}
    carried = script.carries or bool(names & CARRIERS) or bool(script.functions)
    movers = [
        n for n, c in enumerate(script.commands) if c.words[:1] and c.words[0].text in _MOVERS
    ]
    if script.functions or any(movers):  # number 0 may: it chooses the folder for all
        return "writes where functions or changes of folder hide what they touch"
    hot = {statement for statement, e in placed if e.writes != NOTHING or carried}
    if hot & script.varies or any(e.varies for s, e in placed if s in hot):
        return "writes what changes by itself"
    if writers and (hot & script.looks):
        return "writes, and looks at files to decide what"
    for number, (statement, effect) in enumerate(placed):
        if statement in hot and any(
            other != number and _overlap(effect.reads, writer.writes) for other, writer in writers
        ):
            return "reads what it writes elsewhere: a repeat would begin from there"
    return ""


def _overlap(reads: Paths, writes: Paths) -> bool:
    if NOTHING in (reads, writes):
        return False
    if reads is None or writes is None:
        return True
    return any(_same(one, other) for one in reads for other in writes)


def _same(one: str, other: str) -> bool:
    """Whether two paths may be one file, or one in the other; of two kinds they may be."""
    one, other = posixpath.normpath(one), posixpath.normpath(other)
    if one.startswith("/") != other.startswith("/") or ".." in (one[:2], other[:2]):
        return True
    return (
        one == other
        or "." in (one, other)
        or f"{one}/".startswith(f"{other}/")
        or (f"{other}/".startswith(f"{one}/"))
    )
