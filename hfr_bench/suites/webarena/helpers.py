"""The helper functions that WebArena's page checks call, by the names they have there.

Two ask the shop's REST interface as its administrator, one cuts an address short, one is a look at
a table of members and becomes the expression for it.
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.webarena.episode import Episode
from hfr_bench.suites.webarena.urls import Sites

_CALL = re.compile(r"(\w+)\((.*)\)\s*")
_ARGUMENT = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_NAMES = (
    *("reddit_get_post_url", "shopping_get_latest_order_url", "gitlab_get_project_memeber_role"),
    *("shopping_get_sku_latest_review_author", "shopping_get_sku_latest_review_rating"),
)
_ROLE = (
    "(() => { const shown = [...document.querySelectorAll("
    "\"td[data-label='Account'] span.gl-avatar-labeled-sublabel\")];"
    " const at = shown.findIndex(one => one.outerText === '@%s');"
    ' return document.querySelectorAll("td.col-max-role span")[at].outerText; })()'
)
_ORDERS = {
    "searchCriteria[sortOrders][0][field]": "created_at",
    "searchCriteria[sortOrders][0][direction]": "DESC",
    "searchCriteria[pageSize]": "1",
}


@dataclass(frozen=True, slots=True)
class RestAccount:
    """Who asks the shop's REST interface; WebArena's sites all come with the same administrator."""

    username: str = "admin"
    password: str = "admin1234"  # noqa: S105 - published with the benchmark, opens nothing else


def called(call: str, episode: Episode, sites: Sites, account: RestAccount) -> str:
    """What a helper answers: an address, a text, or (members' roles) an expression for `look`.

    Raises BadInputError for a helper that is not known, InfrastructureError if the API refuses.
    """
    found = _CALL.fullmatch(call.strip())
    if not found or found[1] not in _NAMES:
        raise BadInputError(f"no helper {call!r}: there are {', '.join(_NAMES)}")
    name = found[1]
    words = [one or other for one, other in _ARGUMENT.findall(found[2])]
    if name == "shopping_get_latest_order_url":
        orders = _asked("/rest/V1/orders?" + urlencode(_ORDERS), episode, sites, account)
        if not orders.get("items"):
            raise InfrastructureError("the shop knows no order at all: it was not set up")
        order = int(orders["items"][0]["increment_id"])
        return sites.render(f"__SHOPPING__/sales/order/view/order_id/{order}/")
    if not words:
        raise BadInputError(f"the helper {call!r} takes a text")
    if name == "reddit_get_post_url":
        return post_url(words[0].replace("__last_url__", episode.url))
    if name == "gitlab_get_project_memeber_role":
        return str(_ROLE % words[0].replace("'", ""))
    reviews = _asked(f"/rest/V1/products/{words[0]}/reviews", episode, sites, account)
    if not reviews:
        return ""
    if name.endswith("author"):
        return str(reviews[-1]["nickname"])
    return str(reviews[-1]["ratings"][0]["percent"])


def post_url(url: str) -> str:
    """The address of a forum's post, of any address within it; another address as it is."""
    parts = urlsplit(url)
    steps = parts.path.split("/")
    if len(steps) < 4 or steps[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{steps[2]}/{steps[3]}/"


def _asked(path: str, episode: Episode, sites: Sites, account: RestAccount) -> Any:
    shop = sites.render("__SHOPPING__")
    kind = {"Content-Type": "application/json"}
    body = json.dumps({"username": account.username, "password": account.password})
    token = _answer("POST", f"{shop}/rest/default/V1/integration/admin/token", kind, body, episode)
    return _answer("GET", shop + path, {**kind, "Authorization": f"Bearer {token}"}, "", episode)


def _answer(method: str, url: str, headers: dict[str, str], body: str, episode: Episode) -> Any:
    status, text = episode.rest(method, url, headers, body)
    try:
        if status != 200:
            raise ValueError(f"HTTP {status}")
        return json.loads(text)
    except ValueError as error:
        raise InfrastructureError(
            f"the grader asked {method} {url.partition('?')[0]}: {error}"
        ) from None
