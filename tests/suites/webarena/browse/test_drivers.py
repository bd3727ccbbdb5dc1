"""What a page shows, and what actions do: alike with and without a real browser."""

import time
from urllib.parse import parse_qs

import pytest

from hfr_bench.suites.webarena.browse.actions import action_of
from hfr_bench.suites.webarena.browse.driver import BrowserError, Cookie, View


def names(view: View, role: str) -> list[str]:
    return [node.name for node in view.nodes if node.role == role]


def states(view: View, role: str, name: str) -> dict[str, str]:
    return dict(next(n.states for n in view.nodes if (n.role, n.name) == (role, name)))


def test_a_page_is_a_tree_with_ids(here):
    view = here.open("/")
    assert (view.status, view.title, view.url) == (200, "Site", f"{here.url}/")
    assert names(view, "link") == ["New item", "Log in", "File", "My account", "Again", "Again"]
    assert names(view, "heading") == ["Home"]
    assert names(view, "textbox") == ["Search"]
    assert names(view, "button") == ["Find"]
    assert "Hello & welcome" in names(view, "StaticText")
    assert "secret" not in view.tree
    assert [node.id for node in view.nodes] == list(range(1, len(view.nodes) + 1))
    assert view.tree.splitlines()[0].startswith("[1] RootWebArea 'Site'")


def test_a_link_is_followed_by_its_id_and_by_its_name(here):
    view = here.open("/")
    link = next(node for node in view.nodes if node.name == "New item" and node.role == "link")
    assert names(here.do("click", element=link.id), "heading") == ["New item"]
    here.do("go_back")
    assert here.do("click", role="link", name="Again", nth=2).url == f"{here.url}/new"


def test_a_form_is_filled_in_and_sent_once(here):
    here.open("/new")
    view = here.do("type", role="textbox", name="Title", text="Größe & co")
    assert states(view, "textbox", "Title")["value"] == "Größe & co"
    here.do("type", role="textbox", name="Text", text="two words")
    here.do("select", role="combobox", name="Sort", option="Apples")
    here.do("click", role="checkbox", name="Public")
    view = here.do("click", role="radio", name="Large")
    assert states(view, "checkbox", "Public")["checked"] == "true"
    assert states(view, "radio", "Small")["checked"] == "false"
    view = here.do("click", role="button", name="Draft")
    assert view.url == f"{here.url}/items/1"
    assert here.state.items == [
        {"token": "t-1", "title": "Größe & co", "text": "two words", "sort": "a", "public": "yes",
         "size": "l", "go": "draft"}
    ]  # fmt: skip


def test_typing_replaces_what_was_there_and_enter_sends_the_form(here):
    here.open("/")
    here.do("type", role="textbox", name="Search", text="old")
    view = here.do("type", role="textbox", name="Search", text="pears", enter=True)
    assert view.url == f"{here.url}/search?q=pears"
    assert here.driver.look(None, "document.querySelector('.q').outerText") == "pears"


def test_a_required_field_keeps_a_form_from_being_sent(here):
    here.open("/new")
    view = here.do("click", role="button", name="Save")
    assert view.url == f"{here.url}/new"
    assert here.state.items == []


def test_cookies_are_kept_and_redirects_followed(here):
    assert here.open("/account").url == f"{here.url}/login"
    here.do("type", role="textbox", name="Name", text="ann")
    view = here.do("click", role="button", name="Sign in")
    assert (view.url, view.status) == (f"{here.url}/account", 200)
    assert here.driver.look(None, "document.querySelector('#who').textContent") == "ann"
    assert here.driver.look(f"{here.url}/account", "").count("ann") == 1


def test_cookies_to_begin_with_are_of_one_session_only(here):
    view = here.driver.open([f"{here.url}/account"], [Cookie("who", "bea")])
    assert view.url == f"{here.url}/account"
    assert here.open("/account").url == f"{here.url}/login"


def test_tabs(here):
    view = here.open("/", "/new")
    assert (view.tabs, view.tab) == ((f"{here.url}/", f"{here.url}/new"), 0)
    view = here.do("tab_focus", tab=1)
    assert names(view, "heading") == ["New item"]
    here.do("tab_focus", tab=0)
    view = here.do("click", role="link", name="My account")  # it opens a tab of its own
    assert (view.tab, view.tabs[2], len(view.tabs)) == (2, f"{here.url}/login", 3)
    view = here.do("close_tab")
    assert len(view.tabs) == 2
    assert here.do("new_tab").tabs[-1] == "about:blank"
    assert "no tab 7" in here.do("tab_focus", tab=7).problem


def test_back_and_forward(here):
    here.open("/")
    here.do("goto", url=f"{here.url}/new")
    assert here.do("go_back").url == f"{here.url}/"
    view = here.do("go_forward")
    assert (view.url, names(view, "heading")) == (f"{here.url}/new", ["New item"])


def test_a_file_is_downloaded_and_the_page_stays(here):
    here.open("/")
    view = here.do("click", role="link", name="File")
    assert (view.downloads, view.url) == (("r.csv",), f"{here.url}/")


@pytest.mark.parametrize(
    ("path", "exception"), [("/drop", "ConnectionClosed"), ("/half", "BrokenAnswer")]
)
def test_a_page_that_does_not_come_says_why(here, path, exception):
    here.open("/")
    view = here.do("goto", url=here.url + path)
    assert (view.status, view.exception) == (None, exception)
    assert here.state.seen.count(("GET", path)) == 1
    assert here.do("goto", url=f"{here.url}/new").status == 200


def test_a_site_that_is_not_there(here):
    here.open("/")
    view = here.do("goto", url="http://127.0.0.1:9/")
    assert (view.status, view.exception) == (None, "ConnectError")


def test_a_page_that_is_too_slow(here):
    here.open("/")
    began_s = time.monotonic()
    view = here.driver.act(action_of("goto", {"url": f"{here.url}/never"}), timeout_s=0.3)
    assert (view.status, view.exception) == (None, "Timeout")
    assert time.monotonic() - began_s < 20


def test_an_error_page_is_a_page_with_its_status_and_headers(here):
    here.open("/")
    view = here.do("goto", url=f"{here.url}/busy")
    assert (view.status, view.headers["retry-after"]) == (429, "7")
    assert names(view, "heading") == ["Busy"]
    assert here.do("scroll", direction="down").status is None  # it asked for no page


@pytest.mark.parametrize(("button", "status"), [("Fail", 503), ("Drop", None)])
def test_a_form_whose_answer_is_lost_is_not_sent_again(here, button, status):
    here.open("/")
    here.do("goto", url=f"{here.url}/fails")
    view = here.do("click", role="button", name=button)
    assert view.status == status
    assert len(here.state.items) == 1
    posts = [e for e in here.driver.har()["log"]["entries"] if e["request"]["method"] == "POST"]
    assert [e["response"]["status"] for e in posts] == [status or -1]


def test_what_cannot_be_done_is_said_and_nothing_happens(here):
    here.open("/new")
    assert "no element" in here.do("click", role="button", name="Nowhere").problem
    assert "no element [999]" in here.do("click", element=999).problem
    assert "has no option 'Plums'" in here.do(
        "select", role="combobox", name="Sort", option="Plums"
    ).problem  # fmt: skip
    assert here.state.items == []


def test_stop_says_the_answer(here):
    here.open("/")
    assert here.do("stop", answer="42").answer == "42"
    assert here.open("/").answer is None


def test_the_har_tells_every_page_in_order(here):
    here.open("/new")
    here.do("type", role="textbox", name="Title", text="x")
    here.do("click", role="button", name="Save")
    entries = [
        e for e in here.driver.har()["log"]["entries"] if "favicon" not in e["request"]["url"]
    ]
    told = [(e["request"]["method"], e["response"]["status"]) for e in entries]
    assert told == [("GET", 200), ("POST", 302), ("GET", 200)]
    post = entries[1]["request"]
    assert parse_qs(post["postData"]["text"])["title"] == ["x"]
    assert post["postData"]["mimeType"].startswith("application/x-www-form-urlencoded")
    assert entries[1]["response"]["redirectURL"] == "/items/1"
    sent = {one["name"].lower(): one["value"] for one in post["headers"]}
    assert sent["referer"] == f"{here.url}/new"
    assert "Item" in entries[2]["response"]["content"]["text"]


def test_a_look_at_a_page_is_no_request_of_the_agents(here):
    here.open("/")
    before = len(here.driver.har()["log"]["entries"])
    assert "<h1>New item</h1>" in here.driver.look(f"{here.url}/new", "")
    assert here.driver.look(f"{here.url}/new", "document.querySelector('#none').value") == ""
    assert len(here.driver.har()["log"]["entries"]) == before
    with pytest.raises(BrowserError):
        here.driver.look(f"{here.url}/drop", "")


def test_after_the_end_nothing_is_done(here):
    here.open("/")
    here.driver.close()
    here.driver.close()
    with pytest.raises(BrowserError):
        here.do("scroll", direction="down")


def twelve(here) -> View:
    here.open("/")
    here.do("click", role="link", name="Log in")
    here.do("type", role="textbox", name="Name", text="ann")
    here.do("click", role="button", name="Sign in")
    here.do("goto", url=f"{here.url}/")
    here.do("type", role="textbox", name="Search", text="pears", enter=True)
    here.do("goto", url=f"{here.url}/new")
    here.do("type", role="textbox", name="Title", text="x")
    here.do("select", role="combobox", name="Sort", option="Apples")
    here.do("click", role="checkbox", name="Public")
    here.do("click", role="button", name="Save")
    here.do("go_back")
    return here.do("stop", answer="done")


def test_twelve_actions_are_quick(here):
    twelve(here)  # the browser is there, and warm
    took_s = []
    for _ in range(3):  # the machine may have other work
        began_s = time.monotonic()
        assert twelve(here).answer == "done"
        took_s.append(time.monotonic() - began_s)
        if took_s[-1] < here.bar_s:
            break
    assert min(took_s) < here.bar_s
