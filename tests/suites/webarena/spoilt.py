"""Answers and exchanges that are nearly what a record asks for: what graders may disagree about."""

import json
from dataclasses import replace

from golds import gold_answer, gold_exchanges

from hfr_bench.suites.webarena.episode import DROPPED, Exchange

NOISE = Exchange("GET", "http://git.test:8023/assets/a.css", 200)


def answers(record):
    """(what was done to it, the answer as text)."""
    gold = gold_answer(record)
    data = gold["retrieved_data"]
    whole = json.dumps(gold)
    changed = {
        "gold": gold,
        "status": {**gold, "status": "UNKNOWN_ERROR"},
        "lower": {**gold, "status": gold["status"].lower(), "task_type": " Retrieve "},
        "old name": {n.replace("task_type", "performed_operation"): v for n, v in gold.items()},
        "no type": {n: v for n, v in gold.items() if n != "task_type"},
        "no data": {n: v for n, v in gold.items() if n != "retrieved_data"},
        "empty status": {**gold, "status": ""},
        "odd status": {**gold, "status": 3},
        "more": {**gold, "note": "x"},
        "data": {**gold, "retrieved_data": ["something else"]},
        "empty": {**gold, "retrieved_data": []},
        "zero": {**gold, "retrieved_data": 0},
        **({} if data is None else _of_data(gold, data)),
    }
    yield from ((name, json.dumps(value)) for name, value in changed.items())
    yield from (("fenced", f"Here:\n```json\n{whole}\n```\nDone."), ("none", None), ("words", "42"))
    yield from (("null", "null"), ("list", "[1]"), ("no JSON", whole[:-1]), ("blank", "  "))


def _of_data(gold, data):
    def of(changed):
        return {**gold, "retrieved_data": changed}

    return {
        "reversed": of(data[::-1]),
        "twice": of(data + data),
        "fewer": of(data[1:]),
        "alone": of(data[0]),
        "as text": of([json.dumps(d) if isinstance(d, dict) else str(d) for d in data]),
        "loud": of([d.upper() + ".  " if isinstance(d, str) else d for d in data]),
        "quoted": of([f'"{d}"' for d in data]),
        "one text": of(json.dumps(data)),
        "nested": of([data]),
        "more names": of([{**d, "x": 1} if isinstance(d, dict) else d for d in data]),
        "hedged": of([[d, "x"] if not isinstance(d, dict) else _hedged(d) for d in data]),
        "wild": of(["^.*$" if not isinstance(d, dict) else dict.fromkeys(d, "^.*$") for d in data]),
        "near": of([_near(d) for d in data]),
    }


def _hedged(item):
    return {name: [held, "x"] for name, held in item.items()}


def _near(value):
    if isinstance(value, dict):
        return {name: _near(held) for name, held in value.items()}
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"${value + 0.05:,.2f}"
    return f"{value}s" if isinstance(value, str) else value


def exchanges(record):
    """(what was done to them, the exchanges)."""
    opened, *found = gold_exchanges(record)
    yield "gold", (opened, NOISE, *found)
    if not found:
        return
    *before, last = found
    lost = replace(last, status=503)
    url = last.url
    for name, more in {
        "none": (),
        "lost": (*before, lost),
        "lost, sent again": (*before, lost, last),
        "sent, again lost": (*before, last, lost),
        "dropped": (*before, replace(last, status=DROPPED)),
        "other order": tuple(found[::-1]),
        "method": (*before, replace(last, method="PATCH")),
        "small method": (*before, replace(last, method=last.method.lower())),
        "query": (*before, replace(last, url=f"{url}{'&' if '?' in url else '?'}zz=1")),
        "known query": (*before, replace(last, url=f"{url}{'&' if '?' in url else '?'}page=2")),
        "longer": (*before, replace(last, url=f"{url.partition('?')[0]}x")),
        "slash": (*before, replace(last, url=f"{url.partition('?')[0]}/")),
        "escaped": (*before, replace(last, url=url.replace("-", "%2D"))),
        "loud host": (*before, replace(last, url=url.replace("test", "TEST", 1))),
        "other host": (*before, replace(last, url=url.replace(".test", ".else", 1))),
        "no form": (*before, replace(last, post_data="", post_type="")),
        "other form": (*before, replace(last, post_data=last.post_data.replace("=", "=q"))),
        "more form": (*before, replace(last, post_data=f"{last.post_data}&zz=1&form_key=3")),
        "other JSON": (*before, replace(last, post_data=last.post_data.replace('": "', '": "q'))),
        "typed JSON": (*before, replace(last, post_data=last.post_data.replace('"', "'"))),
        "no headers": (*before, replace(last, request_headers=())),
        "referer": (
            *before,
            replace(last, request_headers=(("Referer", f"{url}?a=1"), *last.request_headers)),
        ),
        "other body": (*before, replace(last, body='{"items_qty": 9}')),
        "no cookie": (*before, replace(last, cookies=())),
        "then elsewhere": (*found, replace(opened, url=opened.url + "/elsewhere")),
        "a script's": (*before, replace(last, request_headers=(("accept", "*/*"),))),
    }.items():
        yield name, (opened, *more)
