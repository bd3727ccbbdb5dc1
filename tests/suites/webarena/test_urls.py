"""Addresses: placeholders, one spelling, sameness."""

import pytest
from golds import AT, URLS
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.rows import SITES
from hfr_bench.suites.webarena.urls import (
    Reading,
    canonical,
    placeholder,
    read_address,
    sites_at,
)

READING = Reading(AT, SITES)
PATHS = st.text("abAB/.-_~%20", max_size=12)


@given(st.sampled_from(sorted(URLS)), st.from_regex(r"(/[a-z]{0,3}){0,3}", fullmatch=True))
def test_what_is_rendered_is_read_back(site, path):
    text = placeholder(site) + path
    assert AT.derender(AT.render(text), SITES) == text


@given(PATHS, st.from_regex(r"([a-c]=[a-c%]{0,2}&){0,2}a", fullmatch=True))
def test_one_spelling_is_final(path, query):
    once = canonical(f"HTTP://Host.test:80/{path}?{query}")
    assert canonical(once) == once
    assert once.startswith("http://host.test/")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://git.test:8023/A/", "__GITLAB__/a", True),
        ("http://x.test/a/./b/../c", "http://x.test/a/c", True),
        ("http://x.test/../a", "http://x.test/a", True),
        ("http://x.test:80/a%2db", "http://X.test/a-b", True),
        ("http://x.test/a", "https://x.test/a", False),
        ("git@a.test:B/c.git", "ssh://git@b.test:2222/b/c.git", True),
        ("^__GITLAB__/\\d+$", "http://git.test:8023/12", True),
        ("^__GITLAB__/\\d+$", "^__GITLAB__/\\d+$", False),
        ("http://shop.test:7780/admin/x", "__SHOPPING_ADMIN__/x", True),
    ],
)
def test_the_same_place(one, other, same):
    assert read_address(one, READING).same_place(read_address(other, READING)) is same
    assert read_address(other, READING).same_place(read_address(one, READING)) is same


def test_queries_are_read_sorted_and_without_what_is_ignored():
    reading = Reading(AT, SITES, ignored=frozenset({"b"}), ignored_patterns=("^X",))
    assert read_address("http://a.test/?c=2&c=1&b=3&xy=4&d=%20E", reading).query == {
        "c": ("1", "2"),
        "d": ("e",),
    }
    hidden = Reading(AT, SITES, base64=True)
    found = read_address("http://a.test/x/YT0xJmI9Mg/y?c=3", hidden)
    assert (found.base, found.query) == (
        "http://a.test/x/y",
        {"a": ("1",), "b": ("2",), "c": ("3",)},
    )


def test_a_site_that_is_not_known():
    with pytest.raises(BadInputError, match=r"needs the site map, .* set MAP"):
        sites_at({}).render("__MAP__/x")
    assert sites_at({}).render("__SSH_HOST__") == "__SSH_HOST__"
    with pytest.raises(BadInputError, match="no site 'intranet'"):
        sites_at({"intranet": "http://a"})
    with pytest.raises(BadInputError, match="must begin with http"):
        sites_at({"map": "todo"})
    assert sites_at({"map": ["http://a/", "http://b"]}).derender("http://b/x", ["map"]) == (
        "__MAP__/x"
    )


def test_the_longest_address_goes_first():
    nested = sites_at({"shopping": "http://a", "shopping_admin": "http://a/admin"})
    assert nested.derender("http://a/admin/x", ["shopping", "shopping_admin"]) == (
        "__SHOPPING_ADMIN__/x"
    )


def test_no_address():
    with pytest.raises(ValueError, match="empty"):
        read_address("  ", READING)
