"""What a browser itself says of its requests, for the audit of the faults it was to meet."""

from collections.abc import Mapping
from typing import Any

from hfr_bench.model.record import text_digest
from hfr_bench.model.web import WebSeen


def browsed(har: Mapping[str, Any], since: int = 0) -> tuple[WebSeen, ...]:
    """The requests of a driver's HAR from the `since`-th on (from 0), in the order of sending."""
    return tuple(_seen(entry) for entry in har["log"]["entries"][since:])


def _seen(entry: Mapping[str, Any]) -> WebSeen:
    request, response = entry["request"], entry["response"]
    failure, status = entry.get("_failureText"), response["status"]
    headers = {one["name"].lower(): one["value"] for one in response["headers"]}
    whole = not failure and status > 0
    told = whole and not 300 <= status < 400
    return WebSeen(
        method=request["method"],
        url=request["url"],
        status=status if whole else None,
        exception=failure or (None if whole else "NoAnswer"),
        response_digest=text_digest(response["content"]["text"]) if told else "",
        retry_after=headers.get("retry-after"),
    )
