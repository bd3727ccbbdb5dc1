"""The tool host: a program of its own, its sites, its control, and how quickly it is reset."""

import base64
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostRefusedError, SandboxContext, ToolHost
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.webarena.mini import content, image

HOST = Path("hfr_bench/suites/webarena/mini/host/main.py").resolve()
FORUM, SHOP, OFFICE, TRACKER = "reddit", "shopping", "shopping_admin", "gitlab"


@pytest.fixture(scope="module")
def host() -> Iterator[ToolHost]:
    sandbox = ProcessSandbox(SandboxContext("webhost", this_process()))
    made = sandbox.start(image.command(contained=False))
    columns = made.request("hello", {}, 30)["tables"]
    fields = {"tables": content.filled(columns), "sessions": content.sessions()}
    made.request("init", fields, 30)
    yield made
    sandbox.close()


@pytest.fixture
def sites(host: ToolHost) -> "Sites":
    host.request("reset", {}, 30)
    return Sites(host)


class Sites:
    """Asks a host's sites, signed in as the seed says unless told otherwise."""

    def __init__(self, host: ToolHost) -> None:
        self.host = host
        self.cookies = host.request("hello", {}, 30)["cookies"]
        self.tokens = {row["site"]: row["token"] for row in content.sessions()}

    def ask(self, site: str, target: str, form: Any = None, *, signed: bool = True) -> Any:
        headers = [["content-type", "application/x-www-form-urlencoded"]]
        if signed and site in self.tokens:
            headers.append(["cookie", f"{self.cookies[site]}={self.tokens[site]}"])
        body = urlencode(form or {}).encode()
        fields = {
            "site": site,
            "method": "GET" if form is None else "POST",
            "target": target,
            "headers": headers,
            "body": base64.b64encode(body).decode(),
        }
        return self.host.request("http", fields, 30)

    def changed(self) -> list[str]:
        told = self.host.request("changes", {}, 30)["changed"]
        return [f"{one['table']}/{one['key']}" for one in told]


def test_it_outlives_bad_requests() -> None:
    lines = ["{", "[]", '{"op": "x"}', '{"op": "reset"}', '{"op": "init", "tables": 3}']
    fresh = [sys.executable, "-B", "-E", "-S", str(HOST)]
    told = subprocess.run(
        fresh, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True, timeout=30
    ).stdout.splitlines()
    kinds = [json.loads(line)["error"]["type"] for line in told]
    assert kinds == ["bad_json", "bad_request", "unknown_op", "not_ready", "bad_request"]


def test_rows_that_do_not_fit_are_refused(host: ToolHost) -> None:
    with pytest.raises(HostRefusedError, match=r"bad_request.*cannot be filled in"):
        host.request("init", {"tables": {"shop_cart": [{}]}, "sessions": []}, 30)
    columns = host.request("hello", {}, 30)["tables"]
    fields = {"tables": content.filled(columns), "sessions": content.sessions()}
    host.request("init", fields, 30)


def test_a_reset_takes_everything_back_and_is_quick(sites: Sites) -> None:
    def state() -> Any:
        return {**sites.host.request("state", {}, 30), "id": 0}

    first = state()
    sites.ask(FORUM, "/submit/books", {"submission[title]": "x", "submission[forum]": "books"})
    assert sites.changed() == ["forum_submissions/11"]
    assert state() != first
    assert sites.host.request("reset", {}, 30)["state"] == first["state"]
    assert state() == first
    took = []
    for _ in range(20):
        began = time.perf_counter()
        sites.host.request("reset", {}, 30)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.1  # tables put back take 1 ms, a host that is started anew 100


def test_the_control_speaks_as_env_ctrl(sites: Sites) -> None:
    def told(target: str, form: Any = None) -> Any:
        return json.loads(sites.ask("control", target, form)["body"])

    assert told("/status") == {"status": "ready"}
    assert told("/reset", {})["message"] == "Ready for duty!"
    assert told("/init", {})["success"] is True
    assert told("/__ctrl/state")["shop_orders"][0]["items"] == "1 x LT-01"
    assert sites.ask("control", "/nothing")["status"] == 404


@pytest.mark.parametrize(
    ("site", "target"),
    [
        (FORUM, "/submit"),
        (SHOP, "/sales/order/history/"),
        (OFFICE, "/admin/"),
        (TRACKER, "/-/profile"),
    ],
)
def test_who_is_signed_out_is_sent_to_sign_in(sites: Sites, site: str, target: str) -> None:
    assert sites.ask(site, target)["status"] == 200
    done = sites.ask(site, target, signed=False)
    where = dict(done["headers"])["location"]
    assert (done["status"], "log" in where or "sign" in where) == (302, True)
    assert "<form" in sites.ask(site, where, signed=False)["body"]


@pytest.mark.parametrize(
    ("site", "path", "form"),
    [
        (FORUM, "/login", {"_username": "maya", "_password": "maya-pw"}),
        (SHOP, "/customer/account/login",
         {"login[username]": "emma.lind@example.com", "login[password]": "emma-pw"}),
        (OFFICE, "/admin/auth/login/",
         {"login[username]": "admin", "login[password]": "admin1234"}),
        (TRACKER, "/users/sign_in", {"user[login]": "noor", "user[password]": "noor-pw"}),
    ],
)  # fmt: skip
def test_signing_in_changes_nothing_in_the_world(
    sites: Sites, site: str, path: str, form: dict[str, str]
) -> None:
    done = sites.ask(site, path, form, signed=False)
    assert done["status"] == 302
    assert any(name == "set-cookie" for name, _ in done["headers"])
    wrong = {name: value + "x" for name, value in form.items()}
    assert sites.ask(site, path, wrong, signed=False)["status"] == 401
    assert sites.changed() == []


@pytest.mark.parametrize(
    ("site", "target", "form", "status"),
    [
        (FORUM, "/nowhere/at/all", None, 404),
        (FORUM, "/f/books/1/-/comment", None, 405),
        (FORUM, "/submit/books", {"submission[title]": " "}, 422),
        (FORUM, "/f/books/2/-/delete", {}, 403),
        (FORUM, "/user/oskar/edit_biography", {"user_biography[biography]": "x"}, 403),
        (SHOP, "/checkout/cart/add/product/8/", {"qty": "1"}, 409),
        (SHOP, "/checkout/cart/add/product/1/", {"qty": "0"}, 422),
        (SHOP, "/sales/order/cancel/order_id/101/", {}, 409),
        (SHOP, "/sales/order/view/order_id/103/", None, 404),
        (SHOP, "/rest/default/V1/carts/mine/payment-information", {}, 409),
        (OFFICE, "/admin/catalog/product/save/id/1/", {"product[price]": "cheap"}, 422),
        (TRACKER, "/projects", {"project[name]": "tide-tables"}, 409),
        (TRACKER, "/kofi/paint-remover", None, 404),
        (
            TRACKER,
            "/noor/tide-tables/-/project_members",
            {"user_ids": "x", "access_level": "30"},
            422,
        ),
    ],
)
def test_a_refusal_changes_nothing(
    sites: Sites, site: str, target: str, form: Any, status: int
) -> None:
    assert sites.ask(site, target, form)["status"] == status
    assert sites.changed() == []


def test_words_are_shown_as_they_are(sites: Sites) -> None:
    title = "<script>alert('x')</script> & \"more\""
    sites.ask(FORUM, "/submit/books", {"submission[title]": title, "submission[forum]": "books"})
    body = sites.ask(FORUM, "/f/books")["body"]
    assert "<script>" not in body
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; &quot;more&quot;" in body


def test_the_sites_are_served_to_people_too() -> None:
    columns = content.seed()["columns"]
    given = {"tables": content.filled(columns), "sessions": content.sessions()}
    child = subprocess.Popen(
        [sys.executable, "-B", "-E", "-S", str(HOST), "--serve", "0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(given))
        child.stdin.close()
        urls = json.loads(child.stdout.readline())
        reset = urllib.request.Request(urls["control"] + "/reset", data=b"", method="POST")
        with urllib.request.urlopen(reset, timeout=10) as answer:
            assert b"Ready for duty!" in answer.read()
        with urllib.request.urlopen(urls[FORUM] + "/f/books", timeout=10) as answer:
            assert b"Books about lighthouses" in answer.read()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
