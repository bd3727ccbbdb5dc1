"""The state of being logged in that a task starts with: who, where, and the cookies for it.

Each trial logs in anew, through the site's own form: cookies kept from an earlier trial outlive the
session that a reset or an agent's "sign out" has ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx

from hfr_bench.errors import InfrastructureError
from hfr_bench.suites.webarena.places import LoginPage, shipped
from hfr_bench.suites.webarena.rows import Problem
from hfr_bench.suites.webarena.urls import Sites


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie as browsers keep it."""

    name: str
    value: str
    domain: str
    path: str = "/"


@dataclass(slots=True)
class _Form:
    action: str
    method: str
    fields: dict[str, str]
    user: str = ""
    secret: str = ""


def logins(problem: Problem) -> tuple[str, ...]:
    """The sites that a task starts logged in to, in its order.

    An original record names them by its file of cookies; of a Verified one it is all that have an
    account.
    """
    named = problem.storage_state.rpartition("/")[2].removesuffix("_state.json").split(".")
    return tuple(
        site
        for site in problem.sites
        if shipped().of(site).login and (problem.shape == "verified" or site in named)
    )


def log_in(problem: Problem, sites: Sites, client: httpx.Client) -> tuple[Cookie, ...]:
    """Log in to each of a task's sites; the cookies to open the browser with.

    Raises InfrastructureError: a site shows no form, or refuses the account.
    """
    client.cookies.clear()
    for site in logins(problem):
        page = shipped().of(site).login
        assert page is not None
        _submit(site, sites.render(f"__{site.upper()}__") + page.path, page, client)
    return _kept(client)


def _submit(site: str, url: str, page: LoginPage, client: httpx.Client) -> None:
    shown = _answer(client.build_request("GET", url), client)
    form = _form_in(shown)
    if form is None:
        raise InfrastructureError(f"{site}: {shown.url} shows no form to log in with")
    form.fields[form.user], form.fields[form.secret] = page.username, page.password
    target = urljoin(str(shown.url), form.action)
    done = _answer(client.build_request(form.method, target, data=form.fields), client)
    if _form_in(done) is not None:
        raise InfrastructureError(
            f"{site}: {target} refused the account {page.username}: was the site set up anew?"
        )


def _answer(request: httpx.Request, client: httpx.Client) -> httpx.Response:
    try:
        answer = client.send(request, follow_redirects=True)
    except httpx.HTTPError as error:
        raise InfrastructureError(f"{request.url}: {type(error).__name__}: {error}") from error
    if answer.status_code >= 500:
        raise InfrastructureError(f"{request.url}: HTTP {answer.status_code}")
    return answer


def _kept(client: httpx.Client) -> tuple[Cookie, ...]:
    found: Iterable[Cookie] = (
        Cookie(one.name, one.value or "", one.domain.removesuffix(".local"), one.path)
        for one in client.cookies.jar  # which writes localhost as localhost.local
    )
    return tuple(sorted(found, key=lambda one: (one.domain, one.path, one.name)))


def _form_in(answer: httpx.Response) -> _Form | None:
    """The form that asks for a password; None if a page has none."""
    reader = _Forms()
    reader.feed(answer.text)
    return next((form for form in reader.forms if form.secret and form.user), None)


class _Forms(HTMLParser):
    """Collects a page's forms: the field before the password is the user's name."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[_Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        if tag == "form":
            method = held.get("method", "get").upper()
            self.forms.append(_Form(held.get("action", ""), method, {}))
        if tag != "input" or not self.forms or not held.get("name"):
            return
        form, kind = self.forms[-1], held.get("type", "text").lower()
        if kind == "password" and not form.secret:
            form.secret = held["name"]
        elif kind in ("text", "email") and not form.secret:
            form.user = held["name"]
        if kind not in ("checkbox", "radio", "submit", "button") or "checked" in held:
            form.fields[held["name"]] = held.get("value", "")
