"""Escalations that wait for a person: what they were handed, and what was answered.

In an experiment the person is modelled and priced; this queue is for whoever looks at what would
have reached a desk. Read from the traces of each pair group's last complete round. Answers go to
`inbox.jsonl`, append-only; no trial and no result is touched by them.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.redact import Redactor
from hfr_bench.lab.register import Experiment
from hfr_bench.lab.rounds import Counted, last_rounds
from hfr_bench.lab.runlog import now
from hfr_bench.lab.store import BadLine
from hfr_bench.model.inbox import Answer, Word
from hfr_bench.model.ledger import EscalationPacket
from hfr_bench.model.record import Record
from hfr_bench.model.task import task_name
from hfr_bench.model.terms import Origin

INBOX = "inbox.jsonl"
_MARK = b'"type":"escalated"'
_SHOWN = 10


class Waiting(Record):
    """An escalation. `arm` "" = blinded. `at_us`: trial clock. `answers`: oldest first.

    The packet's fields are as the strategy handed them over, redacted.
    """

    trial_id: str
    round: int
    suite: str
    task_id: str
    seed: int
    rate: float
    origin: Origin
    arm: str = ""
    step: int
    at_us: int
    reason: str
    status: str
    committed: tuple[str, ...]
    unknown: tuple[str, ...]
    evidence: str
    suggestion: str
    answers: tuple[Answer, ...] = ()


class Inbox(Record):
    """The queue of an experiment in plan order; `bad_lines` of inbox.jsonl name file and line."""

    name: str
    origin: Origin
    waiting: tuple[Waiting, ...]
    bad_lines: tuple[str, ...] = ()

    @property
    def unanswered(self) -> tuple[Waiting, ...]:
        return tuple(one for one in self.waiting if not one.answers)


def inbox(experiment: Experiment, redactor: Redactor, *, unblind: bool = False) -> Inbox:
    """Every escalation of the trials that count, with its answers.

    Args:
        experiment: the frozen experiment; it need not be finished.
        redactor: runs over the packets.
        unblind: name the arms; else whoever answers does not know whose packet it is.
    """
    said, bad = answers(experiment.path)
    found = [
        one
        for group in last_rounds(experiment, _MARK)
        for counted in group
        for one in _waiting(counted, redactor, said, unblind=unblind)
    ]
    return Inbox(
        name=experiment.prereg.name,
        origin=experiment.prereg.origin,
        waiting=tuple(found),
        bad_lines=tuple(map(str, bad)),
    )


def _waiting(
    counted: Counted, redactor: Redactor, said: Sequence[Answer], *, unblind: bool
) -> Iterable[Waiting]:
    trial, result = counted.row.trial, counted.reading.checked.result
    assert result is not None  # the round is complete
    for event in counted.reading.events:
        if event.body.type != "escalated":
            continue
        packet: EscalationPacket = event.body.packet
        yield Waiting(
            trial_id=trial.trial_id,
            round=result.round,
            suite=trial.suite,
            task_id=trial.task_id,
            seed=trial.seed,
            rate=trial.rate,
            origin=result.origin,
            arm=trial.arm if unblind else "",
            step=packet.step,
            at_us=event.t_us,
            reason=redactor.text(packet.reason),
            status=redactor.text(packet.status),
            committed=tuple(map(redactor.text, packet.committed)),
            unknown=tuple(map(redactor.text, packet.unknown)),
            evidence=redactor.text(packet.evidence),
            suggestion=redactor.text(packet.suggestion),
            answers=tuple(
                one for one in said if (one.trial_id, one.round) == (trial.trial_id, result.round)
            ),
        )


def answers(folder: Path) -> tuple[list[Answer], list[BadLine]]:
    """All answers in the order they were given, and the lines that are none."""
    try:
        raw = (folder / INBOX).read_bytes()
    except FileNotFoundError:
        return [], []
    found, bad = [], []
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            found += [Answer.loads(line)] if line else []
        except ValidationError:
            bad.append(BadLine(INBOX, number, "not an answer"))
    return found, bad


def find(box: Inbox, name: str) -> Waiting:
    """The escalation of the trial whose id begins so.

    Raises BadInputError for none or more than one, listing what waits.
    """
    matching = [one for one in box.waiting if name and one.trial_id.startswith(name)]
    if len({one.trial_id for one in matching}) == 1:
        return matching[-1]
    listed = matching or box.unanswered or box.waiting
    shown = "\n".join(
        f"  {one.trial_id}  {task_name(one.suite, one.task_id)}: {one.reason}"
        for one in listed[:_SHOWN]
    )
    more = f"\n  and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    what = f"{len(matching)} escalations begin with" if matching else "no escalation is named"
    rest = f". There are:\n{shown}{more}" if listed else "; nothing was escalated here"
    raise BadInputError(f"{what} {name!r}{rest}")


def answer(
    folder: Path, to: Waiting, word: Word, who: str, note: str, redactor: Redactor
) -> Answer:
    """Append an answer; an earlier one stays, and the last one counts.

    Raises InfrastructureError if the file cannot be written.
    """
    line = Answer(
        at=now(),
        who=who,
        trial_id=to.trial_id,
        round=to.round,
        answer=word,
        note=redactor.text(note),
    )
    try:
        with (folder / INBOX).open("a+b") as file:
            if file.tell():  # close a line that a dying process left half-written
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(line.dumps().encode() + b"\n")
    except OSError as error:
        raise InfrastructureError(
            f"{folder / INBOX}: the answer was not written: {error.strerror or error}"
        ) from error
    return line
