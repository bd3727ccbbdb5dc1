"""What people said to escalations: a line each of inbox.jsonl."""

from typing import Literal, get_args

from hfr_bench.model.record import Record

Word = Literal["approve", "reject", "settle"]
WORDS: tuple[str, ...] = get_args(Word)
"""What a person may say: go on as suggested; do not; what was unknown is found out and settled."""


class Answer(Record):
    """One line of inbox.jsonl: who said what when, about which round of a trial."""

    at: str
    who: str
    trial_id: str
    round: int
    answer: Word
    note: str = ""
