"""Effects at the tool boundary that need more than an answer of their own, as data.

Members of the `Wire` union (`model.schedule`), for the dialect `tool`. Each needs the real call:
to alter its answer, to hold it back, to have it land late, or without its idempotency key.
`Altered` is none of them: it is what an effect of a plugin's own (`model.schedule.Own`) looks like.
"""

from typing import Literal

from pydantic import Field

from hfr_bench.model.record import Record


class Alter(Record):
    """The call runs; its real answer is altered in one place, drawn by the event's id.

    `edit`: `number` (a number a little off), `row` (a value of another row, else another number),
    `instruction` (`text`, in a field that people write in), `truncated` (its end is missing),
    `black` (a picture of the same size, all black), or `no_elements` (a tree without any).
    An answer always ends up another.
    """

    type: Literal["alter"] = "alter"
    edit: Literal["number", "row", "instruction", "truncated", "black", "no_elements"]
    text: str = ""
    forward: Literal[True] = True


class Altered(Record):
    """The call runs; what is answered is a good answer, but another than the true one.

    How it is altered only the injector knows.
    """

    type: Literal["altered"] = "altered"
    forward: Literal[True] = True


class Stale(Record):
    """The read runs; what is answered is its last earlier answer that was another.

    Earlier: the same tool with the same arguments, for whomever. Without one nothing can be
    stale: the event is not met. Where the kind has a chance (`lands`), an event that did not draw
    it is not met either: then the cache is fresh.
    """

    type: Literal["stale"] = "stale"
    forward: Literal[True] = True


class Late(Record):
    """No answer for `stall_s`, and the call lands later, outside any attempt's time.

    `after_s`: so many seconds of trial clock after it was sent. None: right after the next attempt
    of the same write, whoever makes it. At the latest it lands after the trial, before grading.
    """

    type: Literal["late"] = "late"
    stall_s: float = Field(default=86_400, ge=0)
    after_s: float | None = Field(default=None, ge=0)
    forward: Literal[False] = False


class Forget(Record):
    """The write lands, its answer is lost, and the tool does not keep the idempotency key.

    The first attempt that meets it gets no answer for `stall_s`. Whatever the event still meets
    from `ttl_s` (trial clock) after the first one began on reaches the tool without the key, and
    is executed anew. 0: the key is ignored altogether, by the first attempt as well.
    """

    type: Literal["forget"] = "forget"
    stall_s: float = Field(default=86_400, ge=0)
    ttl_s: float = Field(default=0, ge=0)
    forward: Literal[True] = True


Boundary = Alter | Stale | Late | Forget
