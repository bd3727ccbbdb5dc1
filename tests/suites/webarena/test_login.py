"""Logging in through a real form on loopback, anew for each task."""

from dataclasses import replace

import httpx
import pytest
from living import Site, living

from hfr_bench.errors import InfrastructureError
from hfr_bench.suites.webarena.login import Cookie, log_in, logins
from hfr_bench.suites.webarena.rows import Problem
from hfr_bench.suites.webarena.urls import sites_at

TASK = Problem(1, "verified", ("reddit",), "i", ("__REDDIT__",), 1)


@pytest.fixture
def client():
    with httpx.Client(trust_env=False) as made:
        yield made


def test_who_logs_in_where():
    both = replace(TASK, sites=("gitlab", "map", "reddit"))
    assert logins(both) == ("gitlab", "reddit")
    original = replace(both, shape="original")
    assert logins(original) == ()
    assert logins(replace(original, storage_state="./.auth/gitlab.reddit_state.json")) == (
        "gitlab",
        "reddit",
    )
    assert logins(replace(original, storage_state="./.auth/reddit_state.json")) == ("reddit",)


def test_cookies_of_the_sites_own_form(client):
    site = Site({"MarvelsGrantMan136": "test1234"})
    with living(site) as url:
        found = log_in(TASK, sites_at({"reddit": url}), client)
        assert found == (Cookie("session", "s1", "127.0.0.1"),)
        assert log_in(TASK, sites_at({"reddit": url}), client) == found
    assert site.asked[:3] == ["GET /login", "POST /login_check", "GET /"]
    assert log_in(replace(TASK, sites=("map",)), sites_at({}), client) == ()


def test_an_account_that_is_refused(client):
    with (
        living(Site({})) as url,
        pytest.raises(InfrastructureError, match="refused the account MarvelsGrantMan136"),
    ):
        log_in(TASK, sites_at({"reddit": url}), client)


def test_a_site_that_is_down(client):
    site = Site({})
    site.health = 503
    with living(site) as url:
        sites = sites_at({"reddit": url})
        with pytest.raises(InfrastructureError, match="HTTP 503"):
            log_in(TASK, sites, client)
        site.health = 404
        with pytest.raises(InfrastructureError, match="shows no form"):
            log_in(TASK, sites, client)
    with pytest.raises(InfrastructureError, match="ConnectError"):
        log_in(TASK, sites, client)
