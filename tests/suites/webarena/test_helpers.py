"""The helper functions of page checks, over an API whose answers are given."""

import json

import pytest
from golds import AT

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.suites.webarena.episode import Episode
from hfr_bench.suites.webarena.helpers import RestAccount, called, post_url

ACCOUNT = RestAccount()
REVIEWS = [{"nickname": "A"}, {"nickname": "B", "ratings": [{"percent": 80}]}]


def asked(call, held, status=200):
    seen = []

    def rest(method, url, headers, body):
        seen.append((method, url, headers, body))
        if method == "POST":
            return status, '"token"'
        return status, json.dumps(held)

    return called(call, Episode(rest=rest), AT, ACCOUNT), seen


def test_the_latest_order():
    found, seen = asked("shopping_get_latest_order_url()", {"items": [{"increment_id": "000192"}]})
    assert found == "http://shop.test:7770/sales/order/view/order_id/192/"
    assert json.loads(seen[0][3])["username"] == "admin"
    assert seen[1][1].startswith("http://shop.test:7770/rest/V1/orders?searchCriteria")
    assert seen[1][2]["Authorization"] == "Bearer token"


def test_reviews():
    assert asked("shopping_get_sku_latest_review_author('B0')", REVIEWS)[0] == "B"
    found, seen = asked("shopping_get_sku_latest_review_rating('B0')", REVIEWS)
    assert (found, seen[1][1]) == ("80", "http://shop.test:7770/rest/V1/products/B0/reviews")
    assert asked("shopping_get_sku_latest_review_author('B0')", [])[0] == ""


def test_members_roles_are_an_expression():
    found = called("gitlab_get_project_memeber_role(__page__, 'koush')", Episode(), AT, ACCOUNT)
    assert "'@koush'" in found


def test_an_api_that_refuses_grades_nothing():
    with pytest.raises(InfrastructureError, match=r"POST .*/token: HTTP 503"):
        asked("shopping_get_latest_order_url()", {}, status=503)
    with pytest.raises(InfrastructureError, match="no order at all"):
        asked("shopping_get_latest_order_url()", {"items": []})


def test_helpers_that_are_none():
    for call in ("rm('x')", "shopping_get_latest_order_url", "reddit_get_post_url()"):
        with pytest.raises(BadInputError, match="helper"):
            called(call, Episode(), AT, ACCOUNT)


def test_a_posts_address():
    assert post_url("http://a/f/b/7/title/-/comment/3") == "http://a/f/b/7/"
    assert post_url("http://a/submit/b") == "http://a/submit/b"
    assert post_url("http://a/x/b/7/title") == "http://a/x/b/7/title"
