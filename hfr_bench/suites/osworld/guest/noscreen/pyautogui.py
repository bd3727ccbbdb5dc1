"""What OSWorld's client puts before every command, in a guest without a screen.

Importing it works, since commands that ask for nothing on a screen are sent behind it, too.
"""

from typing import NoReturn

FAILSAFE = False


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise RuntimeError(f"pyautogui.{name} needs a screen, and this guest has none (profile shell)")
