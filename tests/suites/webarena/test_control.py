"""Starting, restoring and asking real servers on loopback; nothing waits on the wall clock."""

import httpx
import pytest
from living import Site, living

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.webarena.control import READY, Control
from hfr_bench.suites.webarena.places import places_in


@pytest.fixture
def site():
    made = Site({})
    made.statuses = [READY]
    return made


@pytest.fixture
def url(site):
    with living(site) as found:
        yield found


@pytest.fixture
def control():
    """Makes a control of what an environment names, on a clock that each pause moves."""
    made = []

    def make(**environ):
        clock = [0.0]

        def pause(seconds):
            clock[0] += seconds

        found = Control(places_in(environ), pause, lambda: clock[0], httpx.Client(trust_env=False))
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()


def test_a_reset_server_is_waited_for(site, url, control):
    site.statuses = ["Reset ongoing", "Reset ongoing", READY]
    control(WA_FULL_RESET=url).reset(["reddit", "gitlab"])
    assert site.asked == ["GET /reset", *["GET /status"] * 3]


def test_a_control_that_restores_is_used(site, url, control):
    control(WA_REDDIT_CTRL=url).reset(["reddit"])
    assert site.asked == ["GET /status", "GET /reset", "GET /status"]


def test_an_env_ctrl_is_not_taken_for_a_reset(site, url, control):
    site.statuses = ['{"success": true, "message": "running"}']
    with pytest.raises(BadInputError, match="keeps the data"):
        control(WA_REDDIT_CTRL=url).reset(["reddit"])
    with pytest.raises(BadInputError, match="nothing restores gitlab"):
        control(WA_REDDIT_CTRL=url).reset(["gitlab"])


def test_services_are_started(site, url, control):
    site.statuses = ['{"success": false}', "starting", '{"success": true}']
    control(WA_REDDIT_CTRL=url).start(["reddit"])
    assert site.asked == ["POST /start?wait=1", *["GET /status"] * 3]
    with pytest.raises(BadInputError, match="set WA_MAP_CTRL"):
        control().start(["map"])


def test_what_never_gets_ready_is_given_up(site, url, control):
    site.statuses = ["Error executing reset script!"]
    with pytest.raises(InfrastructureError, match=r"not ready after 600 s.*Error executing"):
        control(WA_FULL_RESET=url).reset([])


def test_a_control_that_is_not_there(control):
    with pytest.raises(InfrastructureError, match=r"GET http://127\.0\.0\.1:1/reset: Connect"):
        control(WA_FULL_RESET="http://127.0.0.1:1").reset([])


def test_health(site, url, control):
    found = control(REDDIT=url, GITLAB="http://127.0.0.1:1")
    assert found.ailing(["reddit"]) == {}
    site.health = 503
    ailing = found.ailing(["reddit", "gitlab"])
    assert ailing["reddit"] == f"{url}/login: HTTP 503"
    assert "ConnectError" in ailing["gitlab"]
