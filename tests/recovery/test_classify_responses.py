"""Every row of `test_classify_responses.jsonl`: what providers and tools send, and what it means.

The first 32 rows are recorded shapes; the others are worded as providers document and word their
errors. A row that fails asks for a rule about its meaning, never for one about its exact words.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.model.attempt import Fault, Observation
from hfr_bench.model.terms import Channel
from hfr_bench.recovery.classifier import families, statuses
from hfr_bench.recovery.classifier.signals import signal
from hfr_bench.recovery.classify import classify, flaw, readable

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
]


def seen(row: dict[str, Any]) -> tuple[Channel, Observation]:
    channel = Channel(row.get("channel") or ("tool" if "exit_code" in row else "model"))
    success = row["status"] is not None and 200 <= row["status"] < 300
    answered = readable(channel, row["body"]) if success else row.get("exit_code") == 0
    more = {name: row[name] for name in ("exit_code", "sent", "phase") if name in row}
    return channel, Observation(
        answered=answered and "exception" not in row,
        status=row["status"],
        headers=row["headers"],
        body=row["body"],
        exception=row.get("exception"),
        **more,
    )


def judged(row: dict[str, Any]) -> Fault | None:
    channel, observation = seen(row)
    return (flaw if observation.answered else classify)(channel, observation)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['id']} {row['hfr_class']}")
def test_what_a_response_means(row: dict[str, Any]) -> None:
    fault = judged(row)
    assert (fault.fault_class if fault else None) == row["hfr_class"], fault
    if fault is not None:
        assert fault.evidence
        assert fault.secondary is not fault.fault_class
        assert fault.confidence >= 0.5 or fault.evidence == "unclassified"
        assert not (fault.repairable and row["status"] in (401, 402, 403))
        assert not (fault.repairable and fault.fault_class == "T8")


def test_the_table_is_long_and_knows_every_class() -> None:
    assert len(ROWS) > 300
    assert {row["hfr_class"] for row in ROWS} == {None, "V1", *(f"T{n}" for n in range(1, 9))}
    assert len({row["id"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    "family",
    [*families.CODES, *families.WORDS, families.AUTH, *statuses.EXCEPTIONS],
    ids=lambda one: one.name,
)
def test_stems_never_hide_a_match(family: families.Family) -> None:
    """Stems are asked first to save time: they must not change any answer."""
    said = [signal(*seen(row)) for row in ROWS]
    for text in [words for one in said for words in (one.words, *one.codes)]:
        assert family.says(text) == bool(family.pattern.search(text)), text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_class_does_not_hang_on_letter_case_of_codes(row: dict[str, Any]) -> None:
    """Spelling a code differently (snake, camel, upper) changes nothing."""
    fault = judged(row)
    for before, after in (
        ("rate_limit_exceeded", "RateLimitExceeded"),
        ("insufficient_quota", "INSUFFICIENT_QUOTA"),
        ("overloaded_error", "OverloadedError"),
        ("context_length_exceeded", "contextLengthExceeded"),
        ("content_filter", "ContentFilter"),
    ):
        if row["status"] != 200 and before in row["body"]:
            again = judged(row | {"body": row["body"].replace(before, after)})
            assert again is not None
            assert fault is not None
            assert again.fault_class is fault.fault_class
