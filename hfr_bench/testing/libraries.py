"""Other people's libraries and programs, in an interpreter of their own: we import none of them."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hfr_bench import content

VARIABLE = "HFR_BENCH_LIBRARIES"
QUIET: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "LITELLM_LOCAL_MODEL_COST_MAP",
            "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS",
            "LITELLM_LOCAL_BLOG_POSTS",
            "LITELLM_LOCAL_POLICY_TEMPLATES",
            "LITELLM_LOCAL_AUTOROUTER_PRESETS",
        ),
        "True",
    )
}
"""What keeps litellm from fetching things at import."""


class MissingLibraryError(LookupError):
    """A library that a test needs is not installed; says where, and what to do."""


def python() -> Path:
    """The interpreter that has them: $HFR_BENCH_LIBRARIES, .hosts/libraries, or our own."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    made = content.root() / ".hosts" / "libraries" / "bin" / "python"
    return made if made.is_file() else Path(sys.executable)


def program(name: str) -> Path:
    """A command that a library brings. Raises MissingLibraryError."""
    found = python().with_name(name)
    if not found.is_file():
        raise MissingLibraryError(_missing(name))
    return found


def call(script: Path, asked: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
    """Run a script there; JSON in, and JSON in the last line out, an object.

    A script that lacks a library says so: `{"missing": name}`. Raises MissingLibraryError, and
    RuntimeError with its last words if it fails.
    """
    done = subprocess.run(
        [str(python()), str(script)],
        input=json.dumps(asked),
        text=True,
        capture_output=True,
        timeout=timeout_s,
        check=False,
        env={**os.environ, **QUIET},
    )
    if done.returncode != 0:
        raise RuntimeError(f"{script.name} ended with {done.returncode}: {done.stderr[-2000:]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if missing := told.get("missing"):
        raise MissingLibraryError(_missing(missing))
    return told


def _missing(name: str) -> str:
    return (
        f"{name} is not installed beside {python()}: `make libraries` installs it where PyPI is "
        f"reachable; {VARIABLE} names another interpreter"
    )
