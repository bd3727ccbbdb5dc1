"""Traces that a real browser recorded before a real site: read whole, and graded as upstream does.

Runs where HFR_BENCH_WEBARENA_HARS names a folder of `.har` files, such as those of upstream's
repository (examples/agent_logs/demo/108/network.har, tests/assets/network.har); none is shipped.
"""

import json
import os
import re
from pathlib import Path

import pytest
from golds import AT, entries, gold_answer, gold_exchanges

from hfr_bench.suites.webarena.episode import Episode, from_entries, from_har, to_har
from hfr_bench.suites.webarena.grade import grade

HARS = "HFR_BENCH_WEBARENA_HARS"
ADMIN = re.compile(r"http://[^/\"]+:7780")


@pytest.fixture(scope="module")
def recorded():
    """{file: entries}, of which the shop's administration is where the tests say it is."""
    folder = os.environ.get(HARS)
    found = sorted(Path(folder).glob("*.har")) if folder else []
    if not found:
        pytest.skip(f"{HARS} names no folder with .har files")
    return {
        path.name: json.loads(ADMIN.sub("http://shop.test:7780", path.read_text()))["log"][
            "entries"
        ]
        for path in found
    }


def test_what_a_browser_recorded_is_read_whole(recorded):
    for name, lines in recorded.items():
        exchanges = from_entries(lines, name)
        assert len(exchanges) == len(lines)
        assert any(exchange.navigates for exchange in exchanges)
        assert from_har(to_har(exchanges)) == exchanges


def test_recorded_traces_are_graded_as_upstream_does(recorded, official, rows, records):
    """Each alone, and with what a task asks for at its end, for every task of that site."""
    given, asked = [], []
    admins = [r for r in records("verified") if r.problem.sites == ("shopping_admin",)]
    for name, lines in recorded.items():
        kept = [line for line, one in zip(lines, from_entries(lines), strict=True) if not one.asset]
        for record in admins:
            row = rows("verified")[record.id]
            answer = json.dumps(gold_answer(row))
            for trace in (kept, [*kept, *entries(gold_exchanges(row))]):
                episode = Episode(answer=answer, exchanges=from_entries(trace, name))
                given.append((record, episode))
                asked.append({"ask": "verified", "record": row, "answer": answer, "entries": trace})
    found = official(asked)
    apart = [
        (record.id, ours.why)
        for (record, episode), answer in zip(given, found, strict=True)
        if (ours := grade(record, episode, AT)).score != answer["score"]
    ]
    assert not apart, f"{len(apart)} of {len(given)}: {apart[:10]}"
    scores = [answer["score"] for answer in found]
    assert 0 < sum(scores) < len(scores)
