"""What a rater sees of a trial: what was asked for, called, changed and said. Blind.

Nothing that a strategy wrote is read (decisions, ledger, checks, packets, substitutes), nor what
was planned, nor what the checker found; of a step only that it was called and whether an answer
came, not how often it was tried. What the world did is shown whole: what ran twice ran twice.
Two trials that did the same look the same, whatever arm they are of.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hfr_bench.lab.redact import Redactor
from hfr_bench.model.task import task_name
from hfr_bench.model.terms import Channel, End, SideEffect
from hfr_bench.model.trace import (
    AttemptEnded,
    AttemptStarted,
    EffectExecuted,
    Said,
    TraceEvent,
    TrialEnded,
)

_ROWS = 12
_NOTHING = "no usable answer came back"
_LEVELS: Mapping[SideEffect, str] = {
    SideEffect.READ: "reads",
    SideEffect.IDEMPOTENT: "writes; the same again changes nothing",
    SideEffect.QUERYABLE: "writes",
    SideEffect.IRREVERSIBLE: "writes; cannot be undone",
}
_ENDS: Mapping[End, str] = {
    End.ACCEPTED: "The agent finished and said that it was done.",
    End.ESCALATED: "It was handed to a person before it was finished.",
    End.LIMIT: "It ran into a limit of steps, time or money and was stopped.",
    End.FAILED: "It was stopped before it was finished.",
    End.UNACCEPTED: "It was stopped before it was finished.",
}


class Line(NamedTuple):
    """Something that happened. `who`: agent, user, tool or world; `loud`: the world changed."""

    who: str
    text: str
    loud: bool = False


class Words(NamedTuple):
    """A task's texts, of own suites; else empty. `rules`: the agent's; `request`: the user's."""

    rules: str = ""
    request: str = ""


class View(NamedTuple):
    """One trial as it is shown."""

    suite: str
    task_id: str
    words: Words
    lines: tuple[Line, ...]
    end: str

    @property
    def task(self) -> str:
        """The task's name; most task ids begin with that of their suite."""
        return task_name(self.suite, self.task_id)


def view(events: Iterable[TraceEvent], task: tuple[str, str], words: Words, red: Redactor) -> View:
    """A trial's trace, without what would tell its arm or its grade.

    Args:
        events: the trace.
        task: suite and task_id.
        words: the task's texts, where they may be shown.
        red: runs over every text.
    """
    lines: list[Line] = []
    end = "The trace does not end."
    step, open_, thinks = 0, False, False  # the agent's step; is an attempt out; of a model
    last = ""  # the answer of that step so far
    for event in events:
        body = event.body
        if isinstance(body, AttemptStarted):
            open_ = body.purpose == "agent"
            if open_ and event.step != step:
                _close(lines, last)
                step, last = event.step, _NOTHING
                thinks = body.channel is Channel.MODEL
                lines.append(_called(body))
        elif isinstance(body, AttemptEnded) and open_:
            last, open_ = _answer(body, thinks=thinks), False
        elif isinstance(body, EffectExecuted) and body.actor != "strategy":
            lines.append(_ran(body))
        elif isinstance(body, Said):
            _close(lines, last)
            last = ""
            lines.append(Line(body.who, _said(body)))
        elif isinstance(body, TrialEnded) and body.result.outcome is not None:
            end = _ENDS[body.result.outcome.end]
    _close(lines, last)
    shown = tuple(line._replace(text=red.text(line.text)) for line in lines)
    return View(*task, Words(*(red.text(text) for text in words)), shown, end)


def _close(lines: list[Line], last: str) -> None:
    """The step's answer, once nothing more comes of it."""
    if last:
        lines.append(Line("answer", last))


def _called(body: AttemptStarted) -> Line:
    if body.channel is Channel.MODEL:
        return Line("agent", "thinks (a model call)")
    tool = body.point.partition(":")[2]
    level = _LEVELS[body.level]
    return Line("agent", f"calls {tool} ({level}), request {body.request_digest[:8]}")


def _answer(body: AttemptEnded, *, thinks: bool) -> str:
    """What came of an attempt; "" where a model answered, for what it said comes next."""
    if not body.answered:
        return _NOTHING
    if thinks:
        return ""
    if body.domain_error:
        return "the tool refused: its own error"
    return f"an answer, {body.response_digest[:8]}"


def _ran(body: EffectExecuted) -> Line:
    """A tool that really ran: which rows of the world it changed."""
    what = f"{body.tool} ran" + (" for the user" if body.actor == "user" else "")
    what += f" with arguments {body.args_digest[:8]}"
    if body.changed:
        rows = ", ".join(body.changed[:_ROWS])
        more = f" and {len(body.changed) - _ROWS} more" if len(body.changed) > _ROWS else ""
        return Line("world", f"{what} and changed {rows}{more}", loud=True)
    unseen = body.level is SideEffect.IRREVERSIBLE and not body.domain_error
    if unseen:
        return Line("world", f"{what}; nobody can look up what it did", loud=True)
    return Line("world", f"{what} and changed nothing")


def _said(body: Said) -> str:
    to = "user" if body.who == "agent" else "agent"
    return f"says {body.length} characters to the {to}, {body.text_digest[:8]}"
