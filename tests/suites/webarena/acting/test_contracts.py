"""Levels by a call's text, and what a page that was read back tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.suites.webarena.acting.contracts import END, PAGE_CHANGED, landed, level_of, whole
from hfr_bench.suites.webarena.mini.content import offer

PAGE = f"""http://forum.example/user/maya/comments
[1] RootWebArea 'Comments by maya'
  [2] main ''
    [3] heading 'Comments by maya'
    [4] listitem ''
{END}"""
MESSAGE = PAGE.replace(
    "    [3]", "    [3] alert ''\n      [4] StaticText 'Your comment was posted.'\n    [5]"
)


@pytest.mark.parametrize(
    ("tool", "arguments", "level"),
    [
        ("click", {"role": "link", "name": "Place Order"}, SideEffect.READ),
        ("click", {"role": "button", "name": "Search"}, SideEffect.READ),
        ("click", {"role": "button", "name": "Upvote"}, SideEffect.IDEMPOTENT),
        ("click", {"role": "button", "name": "Remove Desk Lamp"}, SideEffect.IDEMPOTENT),
        ("click", {"role": "button", "name": "Place Order"}, SideEffect.QUERYABLE),
        ("click", {"role": "button", "name": "Send Email"}, SideEffect.IRREVERSIBLE),
        ("click", {"role": "button", "name": "Detonate"}, None),
        ("click", {"role": "link", "name": "Home", "element": 4}, None),
        ("click", {"element": 4}, None),
        ("click", {"role": 4, "name": []}, None),
        ("press", {"key": "Tab"}, SideEffect.READ),
        ("press", {"key": "Enter"}, None),
        ("press", {}, None),
        ("type", {"text": "x", "enter": True}, SideEffect.QUERYABLE),
        ("type", {"text": "x"}, None),
        ("goto", {"url": "x"}, None),
    ],
)
def test_a_call_has_the_level_of_what_it_does(
    tool: str, arguments: dict[str, object], level: SideEffect | None
) -> None:
    assert level_of(tool, arguments, offer().button) is level


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (PAGE, PAGE, Landed.ABSENT),
        (PAGE, MESSAGE, Landed.ABSENT),
        (PAGE, PAGE.replace("listitem ''", "listitem 'new'"), Landed.COMMITTED),
        (PAGE, PAGE.removesuffix(END), Landed.UNKNOWN),
        (PAGE, "Error: no page shows it", Landed.UNKNOWN),
        (PAGE, None, Landed.UNKNOWN),
        (PAGE, PAGE.replace("listitem ''", "textbox 'Password'"), Landed.UNKNOWN),
        (None, PAGE, Landed.UNKNOWN),
    ],
)
def test_a_changed_page_is_a_write_that_landed(
    before: str | None, after: str | None, found: Landed
) -> None:
    assert landed(PAGE_CHANGED, before, after, {}) is found


def test_no_other_predicate_is_known() -> None:
    with pytest.raises(ValueError, match="no predicate 'x'; there is: page_changed"):
        landed("x", None, None, {})


LINES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), max_size=8)


@given(LINES, st.integers(1, 50))
def test_the_numbers_of_elements_tell_nothing(lines: list[tuple[int, str]], by: int) -> None:
    def page(first: int) -> str:
        told = [f"{'  ' * d}[{n}] text '{name}'" for n, (d, name) in enumerate(lines, first)]
        return "\n".join((*told, END))

    assert whole(page(1))
    assert landed(PAGE_CHANGED, page(1), page(by), {}) is Landed.ABSENT
