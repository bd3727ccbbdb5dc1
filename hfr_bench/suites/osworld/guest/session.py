"""The screen of a guest: what starts it, and what is answered by it."""

from pathlib import Path

from .api import Screen
from .commands import Runner


def start_session(runner: Runner, state: Path) -> Screen:
    """Start a screen. Raises NotImplementedError: this guest has none yet."""
    raise NotImplementedError(f"no screen for {runner.home} ({state})")
