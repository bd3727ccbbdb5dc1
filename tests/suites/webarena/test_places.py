"""Where the environment says the sites are, and what is said of those that are absent."""

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.places import places_in, shipped
from hfr_bench.suites.webarena.rows import SITES


def test_both_kinds_of_names_are_read():
    places = places_in(
        {
            "SHOPPING": "http://a:7770/",
            "WA_REDDIT": "http://a:9999",
            "REDDIT": "http://a:9999/",
            "MAP": "todo",
            "WA_REDDIT_CTRL": "http://a:9998/",
            "WA_FULL_RESET": "http://a:7565",
        }
    )
    assert places.there == {"shopping", "reddit"}
    assert places.sites.render("__SHOPPING__/x") == "http://a:7770/x"
    assert (places.controls["reddit"], places.reset) == ("http://a:9998", "http://a:7565")
    places.need(["reddit"])


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"MAP": "http://a", "WA_MAP": "http://b"}, "MAP and WA_MAP differ"),
        ({"MAP": "a:3000"}, "URL of map must begin with http"),
        ({"WA_FULL_RESET": "yes"}, "WA_FULL_RESET must begin with http"),
        ({"WA_MAP_CTRL": "8877"}, "WA_MAP_CTRL must begin with http"),
    ],
)
def test_values_that_are_wrong(environ, message):
    with pytest.raises(BadInputError, match=message):
        places_in(environ)


def test_what_is_absent_is_named_with_its_size():
    with pytest.raises(BadInputError) as refused:
        places_in({}).need(["gitlab", "wikipedia", "homepage"])
    said = str(refused.value).splitlines()
    assert said[1] == (
        "  gitlab: set GITLAB=http://HOST:8023 to a running copy, such as of the image "
        "am1n3e/webarena-verified-gitlab (31.6 GB to pull, 155 GB in its original form)"
    )
    assert "100 GB of data" in said[2]
    assert said[3] == "  homepage: set HOMEPAGE=http://..."


def test_every_site_has_its_facts():
    assert all(shipped().of(site).health.startswith("/") for site in SITES)
