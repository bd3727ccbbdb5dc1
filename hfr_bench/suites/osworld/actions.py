"""OSWorld's actions: the 13 of `computer_13`, `pyautogui` strings, and how an episode ends. Pure.

Each action is one piece of Python for the guest, as upstream's controller writes it (desktop-env
1.0.2, `controllers/python.py`), with two differences that a comparison of trials needs: how long a
movement takes and how it eases is fixed, not drawn; and SCROLL by both axes is one piece, not two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hfr_bench.errors import HfrError

DONE, FAIL, WAIT = "DONE", "FAIL", "WAIT"
ENDS = (DONE, FAIL)
BUTTONS = ("left", "right", "middle")
MOVE_S = 0.5

_NAMED_KEYS = """
accept add alt altleft altright apps backspace browserback browserfavorites browserforward
browserhome browserrefresh browsersearch browserstop capslock clear convert ctrl ctrlleft ctrlright
decimal del delete divide down end enter esc escape execute f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12
f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23 f24 final fn hanguel hangul hanja help home insert junja
kana kanji launchapp1 launchapp2 launchmail launchmediaselect left modechange multiply nexttrack
nonconvert num0 num1 num2 num3 num4 num5 num6 num7 num8 num9 numlock pagedown pageup pause pgdn pgup
playpause prevtrack print printscreen prntscrn prtsc prtscr return right scrolllock select separator
shift shiftleft shiftright sleep stop subtract tab up volumedown volumemute volumeup win winleft
winright yen command option optionleft optionright
"""
KEYS = frozenset(_NAMED_KEYS.split()) | frozenset("\t\n\r" + "".join(map(chr, range(32, 127))))
"""What a key may be called (pyautogui's names, letters in lower case)."""


class BadActionError(HfrError, ValueError):
    """What an agent asked for is no action; the message says what is wrong, and what there is."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action for the guest. `code`: Python, in which `pyautogui` and `time` are imported.

    `looks`: it only points or scrolls, so nothing is done by it. `typed`: the text it types.
    `keys`: those that it presses together.
    """

    code: str
    looks: bool = False
    typed: str = ""
    keys: tuple[str, ...] = ()


def computer_13(action_type: object, parameters: object = None) -> Action:
    """An action of the space `computer_13`. Raises BadActionError."""
    given = {} if parameters is None else parameters
    make = _MAKERS.get(action_type) if isinstance(action_type, str) else None
    if make is None:
        raise BadActionError(
            f"no action_type {action_type!r}; there are: {', '.join(_MAKERS)} "
            f"(and the tools `wait` and `finish` for {WAIT}, {DONE}, {FAIL})"
        )
    if not isinstance(given, Mapping):
        raise BadActionError(f"{action_type}: `parameters` must be an object")
    names = _TAKES[str(action_type)]
    if unknown := sorted(set(given) - set(names)):
        raise BadActionError(
            f"{action_type} takes {', '.join(names) or 'no parameters'}; not {', '.join(unknown)}"
        )
    return make(str(action_type), given)


def pyautogui(command: object) -> Action:
    """An action of the space `pyautogui`. Raises BadActionError.

    `<` is typed as upstream types it: by the keys Shift and `,`, since pyautogui gives `>` for it.
    """
    if not isinstance(command, str) or not command.strip():
        raise BadActionError("`command` must be a piece of Python, not empty")
    if command.strip() in (DONE, FAIL, WAIT):
        raise BadActionError(f"{command.strip()} is no code: call the tool `wait` or `finish`")
    code = command.replace("pyautogui.press('<')", _LESS).replace('pyautogui.press("<")', _LESS)
    return Action(code, looks=all(_looks(line) for line in code.splitlines() if line.strip()))


_LESS = "pyautogui.hotkey('shift', ',')"
_LOOKING = ("pyautogui.moveTo(", "pyautogui.scroll(", "pyautogui.hscroll(", "time.sleep(")


def _looks(line: str) -> bool:
    """Whether a line of code does nothing but point, scroll or wait."""
    plain = line.strip()
    return (
        plain.startswith(_LOOKING)
        and plain.count("(") == plain.count(")") == 1
        and plain.endswith(")")
    )


# -- the 13 ----------------------------------------------------------------------------------------


def _move(name: str, given: Mapping[str, Any]) -> Action:
    x, y = _number(name, given, "x"), _number(name, given, "y")
    return Action(f"pyautogui.moveTo({x}, {y}, {MOVE_S})", looks=True)


def _click(name: str, given: Mapping[str, Any]) -> Action:
    said = []
    if "button" in given:
        said.append(f"button={_button(name, given)!r}")
    if "x" in given or "y" in given:
        said += [f"{axis}={_number(name, given, axis)}" for axis in ("x", "y")]
    if "num_clicks" in given:
        clicks = given["num_clicks"]
        if clicks not in (1, 2, 3) or isinstance(clicks, bool):
            raise BadActionError(f"{name}: `num_clicks` is 1, 2 or 3, not {clicks!r}")
        said.append(f"clicks={clicks}")
    return Action(f"pyautogui.click({', '.join(said)})")


def _held(name: str, given: Mapping[str, Any]) -> Action:
    verb = {"MOUSE_DOWN": "mouseDown", "MOUSE_UP": "mouseUp"}[name]
    said = f"button={_button(name, given)!r}" if "button" in given else ""
    return Action(f"pyautogui.{verb}({said})")


def _at(name: str, given: Mapping[str, Any]) -> Action:
    verb = {"RIGHT_CLICK": "rightClick", "DOUBLE_CLICK": "doubleClick"}[name]
    if not given:
        return Action(f"pyautogui.{verb}()")
    x, y = _number(name, given, "x"), _number(name, given, "y")
    return Action(f"pyautogui.{verb}(x={x}, y={y})")


def _drag(name: str, given: Mapping[str, Any]) -> Action:
    x, y = _number(name, given, "x"), _number(name, given, "y")
    return Action(f"pyautogui.dragTo({x}, {y}, duration=1.0, button='left', mouseDownUp=True)")


def _scroll(name: str, given: Mapping[str, Any]) -> Action:
    if not given:
        raise BadActionError(f"{name} needs dx, dy or both")
    said = [
        f"pyautogui.{verb}({_number(name, given, axis)})"
        for axis, verb in (("dx", "hscroll"), ("dy", "vscroll"))
        if axis in given
    ]
    return Action("; ".join(said), looks=True)


def _type(name: str, given: Mapping[str, Any]) -> Action:
    text = given.get("text")
    if not isinstance(text, str):
        raise BadActionError(f"{name} needs `text`, a text")
    return Action(f"pyautogui.typewrite({text!r})", typed=text)


def _key(name: str, given: Mapping[str, Any]) -> Action:
    verb = {"PRESS": "press", "KEY_DOWN": "keyDown", "KEY_UP": "keyUp"}[name]
    key = _known(name, given.get("key"))
    return Action(f"pyautogui.{verb}({key!r})", keys=(key,))


def _hotkey(name: str, given: Mapping[str, Any]) -> Action:
    keys = given.get("keys")
    if not isinstance(keys, Sequence) or isinstance(keys, str) or not keys:
        raise BadActionError(f"{name} needs `keys`, a list of keys")
    known = tuple(_known(name, key) for key in keys)
    return Action(f"pyautogui.hotkey({', '.join(map(repr, known))})", keys=known)


_MAKERS = {
    "MOVE_TO": _move,
    "CLICK": _click,
    "MOUSE_DOWN": _held,
    "MOUSE_UP": _held,
    "RIGHT_CLICK": _at,
    "DOUBLE_CLICK": _at,
    "DRAG_TO": _drag,
    "SCROLL": _scroll,
    "TYPING": _type,
    "PRESS": _key,
    "KEY_DOWN": _key,
    "KEY_UP": _key,
    "HOTKEY": _hotkey,
}
_TAKES: Mapping[str, tuple[str, ...]] = {
    "MOVE_TO": ("x", "y"),
    "CLICK": ("button", "x", "y", "num_clicks"),
    "MOUSE_DOWN": ("button",),
    "MOUSE_UP": ("button",),
    "RIGHT_CLICK": ("x", "y"),
    "DOUBLE_CLICK": ("x", "y"),
    "DRAG_TO": ("x", "y"),
    "SCROLL": ("dx", "dy"),
    "TYPING": ("text",),
    "PRESS": ("key",),
    "KEY_DOWN": ("key",),
    "KEY_UP": ("key",),
    "HOTKEY": ("keys",),
}
COMPUTER_13 = tuple(_MAKERS)
"""The names of the 13."""


def _number(name: str, given: Mapping[str, Any], axis: str) -> int | float:
    value = given.get(axis)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadActionError(f"{name} needs `{axis}`, a number, not {value!r}")
    return value


def _button(name: str, given: Mapping[str, Any]) -> str:
    button = given["button"]
    if button not in BUTTONS:
        raise BadActionError(f"{name}: `button` is one of {', '.join(BUTTONS)}, not {button!r}")
    return str(button)


def _known(name: str, key: object) -> str:
    if not isinstance(key, str) or key.lower() not in KEYS:
        raise BadActionError(f"{name}: no key {key!r}; keys are called as in pyautogui")
    return key
