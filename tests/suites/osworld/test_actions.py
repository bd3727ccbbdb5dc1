"""The 13 actions and pyautogui strings as pieces of Python; what is none is refused in words."""

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfr_bench.suites.osworld.actions import (
    COMPUTER_13,
    KEYS,
    BadActionError,
    computer_13,
    pyautogui,
)


@pytest.mark.parametrize(
    ("name", "parameters", "code"),
    [
        ("MOVE_TO", {"x": 3, "y": 4.5}, "pyautogui.moveTo(3, 4.5, 0.5)"),
        ("CLICK", {}, "pyautogui.click()"),
        (
            "CLICK",
            {"button": "right", "x": 1, "y": 2, "num_clicks": 2},
            "pyautogui.click(button='right', x=1, y=2, clicks=2)",
        ),
        ("MOUSE_DOWN", {}, "pyautogui.mouseDown()"),
        ("MOUSE_UP", {"button": "left"}, "pyautogui.mouseUp(button='left')"),
        ("RIGHT_CLICK", {}, "pyautogui.rightClick()"),
        ("DOUBLE_CLICK", {"x": 1, "y": 2}, "pyautogui.doubleClick(x=1, y=2)"),
        (
            "DRAG_TO",
            {"x": 1, "y": 2},
            "pyautogui.dragTo(1, 2, duration=1.0, button='left', mouseDownUp=True)",
        ),
        ("SCROLL", {"dy": -3}, "pyautogui.vscroll(-3)"),
        ("SCROLL", {"dx": 1, "dy": 2}, "pyautogui.hscroll(1); pyautogui.vscroll(2)"),
        ("TYPING", {"text": "it's\n"}, 'pyautogui.typewrite("it\'s\\n")'),
        ("PRESS", {"key": "enter"}, "pyautogui.press('enter')"),
        ("KEY_DOWN", {"key": "shift"}, "pyautogui.keyDown('shift')"),
        ("KEY_UP", {"key": "shift"}, "pyautogui.keyUp('shift')"),
        ("HOTKEY", {"keys": ["ctrl", "s"]}, "pyautogui.hotkey('ctrl', 's')"),
    ],
)
def test_each_is_a_piece_of_python(name: str, parameters: dict[str, Any], code: str) -> None:
    assert computer_13(name, parameters).code == code


def test_there_are_thirteen() -> None:
    assert len(COMPUTER_13) == 13


@pytest.mark.parametrize(
    ("name", "parameters", "why"),
    [
        ("JUMP", {}, "no action_type 'JUMP'; there are: MOVE_TO, CLICK"),
        ("DONE", {}, "tools `wait` and `finish`"),
        (None, {}, "no action_type None"),
        (["CLICK"], {}, "no action_type"),
        ("CLICK", [], "must be an object"),
        ("CLICK", {"z": 1}, "CLICK takes button, x, y, num_clicks; not z"),
        ("CLICK", {"x": 1}, "CLICK needs `y`, a number, not None"),
        ("CLICK", {"button": "top"}, "one of left, right, middle"),
        ("CLICK", {"num_clicks": True}, "1, 2 or 3"),
        ("MOVE_TO", {}, "needs `x`"),
        ("SCROLL", {}, "needs dx, dy or both"),
        ("TYPING", {}, "needs `text`"),
        ("PRESS", {"key": "any"}, "no key 'any'"),
        ("HOTKEY", {"keys": "ctrl"}, "a list of keys"),
        ("HOTKEY", {"keys": []}, "a list of keys"),
    ],
)
def test_what_is_none_is_refused_in_words(name: Any, parameters: Any, why: str) -> None:
    with pytest.raises(BadActionError, match=why.replace("(", r"\(")):
        computer_13(name, parameters)


@settings(max_examples=40)
@given(st.text(), st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=3))
def test_no_text_and_no_key_breaks_out_of_the_code(text: str, keys: list[str]) -> None:
    typed = ast.parse(computer_13("TYPING", {"text": text}).code)
    pressed = ast.parse(computer_13("HOTKEY", {"keys": keys}).code)
    for tree, held in ((typed, [text]), (pressed, keys)):
        assert len(tree.body) == 1
        call = tree.body[0].value  # type: ignore[attr-defined]
        assert [one.value for one in call.args] == held


@pytest.mark.parametrize(
    ("code", "looks"),
    [
        ("pyautogui.moveTo(1, 2)", True),
        ("pyautogui.scroll(-5)\ntime.sleep(1)", True),
        ("pyautogui.moveTo(1, 2); pyautogui.click()", False),
        ("pyautogui.scroll(open('x', 'w').write('y'))", False),
        ("pyautogui.click(1, 2)", False),
    ],
)
def test_only_pointing_and_scrolling_does_nothing(code: str, looks: bool) -> None:
    assert pyautogui(code).looks is looks


def test_a_less_than_sign_is_typed_by_its_keys() -> None:
    assert pyautogui("pyautogui.press('<')").code == "pyautogui.hotkey('shift', ',')"


@pytest.mark.parametrize("command", [None, "", " \n", "DONE", " FAIL "])
def test_what_is_no_code_is_refused(command: Any) -> None:
    with pytest.raises(BadActionError):
        pyautogui(command)
