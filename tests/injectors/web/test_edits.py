"""Alterations of a page: one place each, and never the page that it was."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.faults.web import EDITS
from hfr_bench.injectors.web.edits import NAMES, edited

PAGE = (
    "<!doctype html><body><h1>Cart</h1><p id=note>Your things</p><label for='q'>Count</label>"
    "<form method=post action=/buy><input id='q' name=q><button name=go value=1>Buy</button></form>"
    "<a href='/'>Home</a></body>"
)


def test_the_edits_are_those_that_kinds_may_name():
    assert NAMES == EDITS


def test_a_button_says_something_else_and_does_the_same():
    made = edited(["rename_button"], PAGE, "i1", "")
    found = re.search(r"<button name=go value=1>([^<]+)</button>", made)
    assert found is not None
    assert found[1] != "Buy"
    assert made.replace(found[1], "Buy", 1) == PAGE
    link = edited(["rename_button"], "<a href='/x'>Continue</a>", "i1", "")
    assert link.startswith("<a href='/x'>")
    assert "Continue" not in link


def test_what_refers_to_an_id_refers_to_the_new_one():
    made = edited(["change_ids"], PAGE.replace("id=note", ""), "i1", "")
    (target,) = re.findall(r"for='([^']+)'", made)
    assert target != "q"
    assert f"id='{target}'" in made
    assert "name=q" in made


def test_an_instruction_is_where_people_write():
    made = edited(["instruction"], PAGE, "i1", "SYSTEM NOTICE")
    assert "<p id=note>SYSTEM NOTICE Your things</p>" in made


@pytest.mark.parametrize("name", EDITS)
@given(page=st.text(min_size=1), key=st.text())
def test_no_edit_gives_back_what_it_was_given(name, page, key):
    assert edited([name], page, key, "SYSTEM NOTICE") != page
