"""Answers and exchanges that records ask for, right ones and spoilt ones, made from the records."""

import json
import re
from urllib.parse import urlencode

from hfr_bench.suites.webarena.episode import Exchange, to_har
from hfr_bench.suites.webarena.urls import is_pattern, sites_at

URLS = {
    "shopping": "http://shop.test:7770",
    "shopping_admin": "http://shop.test:7780/admin",
    "reddit": "http://forum.test:9999",
    "gitlab": "http://git.test:8023",
    "wikipedia": "http://wiki.test:8888",
    "map": "http://map.test:3000",
    "homepage": "http://home.test:4399",
}
AT = sites_at(URLS)
HTML = ("Accept", "text/html,application/xhtml+xml")
FORM = "application/x-www-form-urlencoded"
_SPELT = (
    (r"\(\?!(?:[^()]|\([^()]*\))*\)", ""),
    (r"\(\?[:=]", "("),
    (r"\((?:[^()]|\([^()]*\))*\)\?", ""),
    (r"\(([^()|]*)(\|[^()]*)*\)", r"\1"),
    (r"\[\.\\s\]\+", ". "),
    (r"\[[^\]]*\]\*", ""),
    (r"\\s\+", " "),
    (r"\\s\*|#\?|0\*|/\?|\\\.\?", ""),
    (r"\\d\+", "7"),
    (r"\.[*+]", "x"),
    (r"\\(.)", r"\1"),
)


def fitting(pattern):
    """A text that a pattern `^...$` matches."""
    ahead = " ".join(re.findall(r"\(\?=\.\*(\w+)\)", pattern))
    text = re.sub(r"\(\?=\.\*\w+\)", "", pattern[1:-1])
    if ahead:
        text = text.replace(".*", f"{ahead} ", 1)
    for what, instead in _SPELT:
        text = re.sub(what, instead, text)
    assert re.match(pattern, text, re.DOTALL), (pattern, text)
    return text


def literal(value):
    """One of the values that would do."""
    return fitting(value) if is_pattern(value) else value


def first(value):
    return value[0] if isinstance(value, list) else value


def gold_answer(record):
    """The strict JSON answer of a Verified record, of alternatives the first."""
    expected = next(one["expected"] for one in record["eval"] if "results_schema" in one)
    data = expected.get("retrieved_data")
    return {
        "task_type": expected["task_type"].upper(),
        "status": expected["status"],
        "retrieved_data": None if data is None else [first(item) for item in data],
        "error_details": None,
    }


def gold_exchange(grading):
    """The exchange that a network check asks for."""
    want = grading["expected"]
    url = AT.render(literal(first(want["url"])))
    query = want.get("query_params") or {}
    if query:
        pairs = [(name, literal(v)) for name, values in query.items() for v in [first(values)]]
        url = f"{url.partition('?')[0]}?{urlencode(pairs)}"
    headers = [(n, AT.render(literal(first(v)))) for n, v in (want.get("headers") or {}).items()]
    post, kind = _form(grading, want.get("post_data") or {})
    body = _nested(want.get("response_content") or {})
    cookies = want.get("response_cookies") or {}
    return Exchange(
        method=want.get("http_method", "GET"),
        url=url,
        status=want.get("response_status", 200),
        request_headers=(HTML, *headers),
        post_data=post,
        post_type=kind,
        body=json.dumps(body) if body else "",
        body_type="application/json" if body else "",
        cookies=tuple((name, literal(value)) for name, value in cookies.items()),
    )


def _form(grading, form):
    if not form:
        return "", ""
    properties = (grading.get("post_data_schema") or {}).get("properties", {})
    values = {}
    for name, value in form.items():
        held = value
        if properties.get(name, {}).get("type") != "array":
            held = first(value)
        values[name] = literal(held) if isinstance(held, str) else held
    if any(name.startswith("$") and "^" not in name for name in form) or any(
        isinstance(value, list | dict) for value in values.values()
    ):
        return AT.render(json.dumps(_nested(values))), "application/json"
    named = {
        fitting(n[2:]).replace("file_path|", "") if n[:3] == "$.^" else n: v
        for n, v in values.items()
        if v is not None
    }
    return urlencode(named or {"more": 1}), FORM


def _nested(values):
    """Values by JSONPath as the object that holds them there."""
    root = {}
    for name, value in values.items():
        if not name.startswith("$"):
            root[name] = value
            continue
        if "?(@.newProduct" in name:
            root["configurable-matrix-serialized"] = json.dumps(
                [{"newProduct": 1, "attributes": one} for one in value] + [{"newProduct": 0}]
            )
            continue
        if name.startswith("$.^"):
            root[fitting(name[2:])] = value
            continue
        if value is None:
            continue
        steps = re.findall(r"\.(\w+)|\[(\d+)\]", name)
        _put(root, [step or int(index) for step, index in steps], value)
    return root


def _put(root, steps, value):
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        empty = [] if isinstance(after, int) else {}
        if isinstance(step, int):
            while len(root) <= step:
                root.append({})
            if after is None:
                root[step] = value
            root = root[step]
        else:
            root[step] = value if after is None else root.get(step, empty)
            root = root[step]


def gold_exchanges(record):
    """Every exchange that a record asks for, in order; at least one, so that there is a trace."""
    found = [
        gold_exchange(one)
        for one in record["eval"]
        if one["evaluator"].startswith("Net") and not one.get("should_not_exist")
    ]
    opened = Exchange("GET", AT.render(record["start_urls"][0]), 200, (HTML,))
    return (opened, *found)


def gold_words(record):
    """The answer that the words of an original record ask for; "" if it asks for none."""
    wanted = record["eval"]["reference_answers"] or {}
    if "must_include" in wanted:
        return wanted.get("exact_match") or ", ".join(wanted["must_include"])
    if "fuzzy_match" in wanted:
        fuzzy = wanted["fuzzy_match"]
        return fuzzy if isinstance(fuzzy, str) else "; ".join(fuzzy)
    return wanted.get("exact_match", "")


def entries(exchanges):
    return to_har(exchanges)["log"]["entries"]
