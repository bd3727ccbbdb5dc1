"""What only a real browser does: scripts, dialogues, pop-ups, its own retries, and dying."""

import pytest

pytestmark = pytest.mark.browser


def posts(here):
    return here.state.seen.count(("POST", "/items-dropped"))


@pytest.fixture
def here(chromium_here):
    return chromium_here


def test_a_dialogue_is_accepted_and_told(here):
    here.open("/scripts")
    assert here.do("click", role="button", name="Warn").messages == ("Sure?",)
    assert here.do("scroll", direction="down").messages == ()


def test_a_pop_up_is_a_tab_in_front(here):
    here.open("/scripts")
    view = here.do("click", role="button", name="Pop")
    assert (view.tab, view.tabs) == (1, (f"{here.url}/scripts", f"{here.url}/new"))
    assert here.do("close_tab").tabs == (f"{here.url}/scripts",)


def test_what_a_script_writes_is_seen(here):
    here.open("/scripts")
    assert "Done" in here.do("click", role="button", name="Work").tree
    assert here.driver.look(None, "[...document.querySelectorAll('p')].length") == "1"


def test_over_a_kept_connection_the_browser_itself_sends_a_lost_form_again(here):
    """So whoever would know how often a form was sent must close connections: the proxy does."""
    here.state.keeps_connections = True
    here.open("/fails")
    here.do("click", role="button", name="Drop")
    assert (posts(here), len(here.state.items)) == (2, 2)
    told = [e["request"]["method"] for e in here.driver.har()["log"]["entries"]]
    assert told.count("POST") == 1  # and nobody above can tell


def test_one_browser_serves_many_sessions(here):
    for number in range(3):
        assert here.open("/account").url == f"{here.url}/login"  # nobody is logged in
        here.do("type", role="textbox", name="Name", text=f"ann{number}")
        view = here.do("click", role="button", name="Sign in")
        assert f"ann{number}" in view.tree
