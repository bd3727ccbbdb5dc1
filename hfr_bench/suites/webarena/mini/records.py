"""A task of web_mini as a record of WebArena and of WebArena-Verified: same keys, same rules."""

import json
from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

FOUND = 302
"""What a site answers to a form that it has taken."""
SUCCESS = "SUCCESS"


def site_of(row: Row) -> str:
    """`reddit` of a task that starts at `__REDDIT__/f/books`."""
    return str(row["start"]).split("__")[1].lower()


def said(row: Row) -> str:
    """The right answer, as Verified wants it."""
    told = {
        "task_type": row["type"],
        "status": row.get("status", SUCCESS),
        "retrieved_data": row.get("answer"),
        "error_details": None,
    }
    return json.dumps(told)


def plain_answer(answer: str | None) -> str:
    """Verified's JSON as the words that WebArena's string checks read; other words as they are."""
    try:
        told = json.loads(answer or "")
    except ValueError:
        return answer or ""
    if not isinstance(told, dict):
        return answer or ""
    if told.get("status") != SUCCESS:
        return "N/A"
    data = told.get("retrieved_data")
    return ", ".join(str(one) for one in data) if isinstance(data, list) else str(data or "")


def original_record(row: Row) -> dict[str, Any]:
    """WebArena's record (config_files)."""
    given = row["original"]
    kinds = {"reference_answers": "string_match", "reference_url": "url_match",
             "program_html": "program_html"}  # fmt: skip
    return {
        "sites": [site_of(row)],
        "task_id": row["id"],
        "require_login": True,
        "storage_state": f"./.auth/{site_of(row)}_state.json",
        "start_url": row["start"],
        "geolocation": None,
        "intent_template": row["intent"],
        "instantiation_dict": {},
        "intent": row["intent"],
        "require_reset": True,
        "eval": {
            "eval_types": [kind for key, kind in kinds.items() if key in given],
            "reference_answers": given.get("reference_answers"),
            "reference_url": given.get("reference_url", ""),
            "url_note": "GOLD in PRED",
            "program_html": given.get("program_html", []),
        },
        "intent_template_id": row["id"],
    }


def verified_record(row: Row) -> dict[str, Any]:
    """WebArena-Verified's record."""
    data, schema = row.get("answer"), row.get("schema")
    texts = {"type": "array", "items": {"type": "string"}}
    checks: list[dict[str, Any]] = [
        {
            "evaluator": "AgentResponseEvaluator",
            "results_schema": {"type": "null"} if data is None else schema or texts,
            "expected": {
                "task_type": row["type"],
                "status": row.get("status", SUCCESS),
                "retrieved_data": data,
            },
        }
    ]
    posts = row.get("posts", ())
    urls = [post["url"] for post in posts]
    for post in posts:
        check = _posted(post)
        if urls.count(post["url"]) > 1:  # the rule looks at the last one alone, unless told
            check["last_event_only"] = False
        checks.append(check)
    if "visits" in row:
        checks.append({"evaluator": "NetworkEventEvaluator", "expected": {"url": row["visits"]}})
    return {
        "sites": [site_of(row)],
        "task_id": row["id"],
        "intent_template_id": row["id"],
        "start_urls": [row["start"]],
        "intent": row["intent"],
        "intent_template": row["intent"],
        "instantiation_dict": {},
        "revision": 1,
        "eval": checks,
    }


def _posted(post: Row) -> dict[str, Any]:
    expected: dict[str, Any] = {
        "url": post["url"],
        "http_method": "POST",
        "response_status": post.get("status", FOUND),
    }
    if "data" in post:
        expected["post_data"] = post["data"]
    if "query" in post:
        expected["query_params"] = post["query"]
    return {"evaluator": "NetworkEventEvaluator", "expected": expected}
