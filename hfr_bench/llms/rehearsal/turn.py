"""The stand-in's next turn: what the script asks for, or a plausible error, by keyed draws.

Each turn is right with the tier's success rate (paper table B1). A wrong one slips in an
argument, skips a step or ends the block early. Domain errors on exact arguments are part of
many solutions, so the stand-in goes on after them; after its own slip it corrects itself.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from hfr_bench.faults.draw import uniform
from hfr_bench.llms.rehearsal.script import MAX_TRIES, Block, Made, Script, read

# A draw of this turn, told apart by its use; everything else of its key is the coordinate.
Draw = Callable[[str], float]

_ERRORS = ((0.60, "slip"), (0.25, "skip"), (0.15, "early"))


class Turn(NamedTuple):
    """A call (`step` of the solution, `tried` from 1) or, with `step` None, a text."""

    text: str = ""
    step: int | None = None
    tried: int = 1
    tool: str = ""
    arguments: Mapping[str, Any] | None = None


class _Place(NamedTuple):
    """Where to go on in the block.

    `arguments`: None = the solution's. `settled`: this turn's error is the place itself.
    """

    at: int
    tried: int = 1
    arguments: Mapping[str, Any] | None = None
    settled: bool = False


def draws(*coordinate: str | int) -> Draw:
    """The draws of the turn at (suite, task, seed, point, occurrence, model).

    The attempt is left out: a call that is made again is answered as it would have been the first
    time, so that arms differ by their recovery and not by the stand-in's luck.
    """
    return lambda use: uniform("rehearsal", *coordinate, use)


def take(script: Script, messages: Sequence[Mapping[str, Any]], rate: float, draw: Draw) -> Turn:
    """The next turn of a conversation."""
    users, made = read(messages, alone=script.alone)
    block = script.block(users - 1)
    right = draw("right") < rate
    place = _resume(script, block, made, right)
    if right or place.settled:
        return _exact(script, block, place)
    return _err(script, block, place, draw)


def _resume(script: Script, block: Block, made: Made | None, right: bool) -> _Place:
    """Where the last result leaves us."""
    if made is None or not block.steps:
        return _Place(0)
    at = sum(1 for index in block.steps if index < made.step)
    if made.outcome == "good" or made.tried >= MAX_TRIES or made.step not in block.steps:
        return _Place(sum(1 for index in block.steps if index <= made.step))
    if made.outcome == "runtime":
        # The runtime gave up on the call: ask again, or (the error here) do without it.
        if right:
            return _Place(at, made.tried + 1, made.arguments)
        return _Place(at + 1, settled=True)
    if made.arguments == script.oracle[made.step].arguments:
        return _Place(at + 1)
    return _Place(at, made.tried + 1)


def _exact(script: Script, block: Block, place: _Place) -> Turn:
    """The right turn at a place."""
    if place.at >= len(block.steps):
        return Turn(_text(block, script.say))
    index = block.steps[place.at]
    step = script.oracle[index]
    arguments = step.arguments if place.arguments is None else place.arguments
    return Turn("", index, place.tried, step.tool, arguments)


def _err(script: Script, block: Block, place: _Place, draw: Draw) -> Turn:
    """A wrong turn at a place."""
    if place.at >= len(block.steps):
        lost = int(draw("lost") * len(script.say))
        return Turn(_text(block, script.say[:lost] + script.say[lost + 1 :]))
    error = _pick(_ERRORS, draw("error"))
    if error == "early":
        return Turn(_text(block, script.say))
    right = _exact(script, block, place)
    slipped = slip(right.arguments or {}, draw) if error == "slip" else None
    if slipped is None:
        return _exact(script, block, _Place(place.at + 1))
    return right._replace(arguments=slipped)


def _pick(weighted: Sequence[tuple[float, str]], drawn: float) -> str:
    for weight, name in weighted:
        drawn -= weight
        if drawn < 0:
            return name
    return weighted[-1][1]


def _text(block: Block, say: Sequence[str]) -> str:
    """What ends a block: a hand-over to the user, or the final words."""
    if block.then:
        return f"Please do the following now: {', '.join(block.then)}"
    return " ".join(["All done.", *say])


def slip(arguments: Mapping[str, Any], draw: Draw) -> dict[str, Any] | None:
    """The arguments with one string or number mistyped; None if there is none to mistype.

    Identifier-like strings first: that is where a slip is noticed.
    """
    leaves = list(_leaves(arguments, ()))
    sharp = [leaf for leaf in leaves if not isinstance(leaf[1], str) or " " not in leaf[1]]
    if not (candidates := sharp or leaves):
        return None
    path, value = candidates[int(draw("leaf") * len(candidates))]
    wrong = copy.deepcopy(dict(arguments))
    holder: Any = wrong
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = _mistype(value, draw("where"))
    return wrong


def _leaves(value: Any, path: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], Any]]:
    """All non-empty strings and numbers inside a JSON value, with their paths."""
    if isinstance(value, Mapping):
        return [leaf for key, item in value.items() for leaf in _leaves(item, (*path, key))]
    if isinstance(value, list | tuple):
        return [leaf for key, item in enumerate(value) for leaf in _leaves(item, (*path, key))]
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        return []
    return [(path, value)]


def _mistype(value: str | float, where: float) -> str | float:
    """Two neighbours swapped, or the last key struck twice; a number is off by one."""
    if not isinstance(value, str):
        return value + 1
    swaps = [at for at in range(len(value) - 1) if value[at] != value[at + 1]]
    if not swaps:
        return value + value[-1]
    at = swaps[int(where * len(swaps))]
    return value[:at] + value[at + 1] + value[at] + value[at + 2 :]
