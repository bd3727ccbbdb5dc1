"""The public records, where their distributions are at hand, and the graders that they bring."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # golds, spoilt: what several test files are made from
from golds import URLS

from hfr_bench.errors import BadInputError
from hfr_bench.suites.webarena.load import PYTHON, load

HERE = Path(__file__).parent
DEFAULT = HERE.parents[2] / ".hosts" / "webarena" / "bin" / "python"


@pytest.fixture(scope="session")
def python():
    """A Python that has the distributions; skips where there is none."""
    found = os.environ.get(PYTHON) or str(DEFAULT)
    if not Path(found).exists():
        pytest.skip(f"no {found} with libwebarena 0.0.5 and webarena-verified 1.2.3 ({PYTHON})")
    return found


@pytest.fixture(scope="session")
def packages(python):
    """The folder that a Python's packages lie in."""
    return next(Path(python).absolute().parent.parent.glob("lib/python3*/site-packages"))


@pytest.fixture(scope="session")
def records(packages):
    """A pool's records."""

    @cache
    def read(pool):
        try:
            return load(pool, packages)[0]
        except BadInputError as error:
            pytest.skip(str(error))

    return read


@pytest.fixture(scope="session")
def rows(packages):
    """A pool's rows as they are in the file: {task id: row}."""
    files = {"original": "webarena/test.raw.json"}
    verified = "webarena_verified/assets/dataset/webarena-verified.json"

    @cache
    def read(pool):
        path = packages / files.get(pool, verified)
        if not path.is_file():
            pytest.skip(f"no {path}")
        return {row["task_id"]: row for row in json.loads(path.read_text())}

    return read


@pytest.fixture(scope="session")
def official(python):
    """Asks the official graders: a list of requests -> a list of answers."""

    def ask(requests):
        done = subprocess.run(
            [python, str(HERE / "official.py"), json.dumps(URLS)],
            input="".join(json.dumps(request) + "\n" for request in requests),
            capture_output=True,
            text=True,
            check=False,
        )
        if "ModuleNotFoundError" in done.stderr:
            pytest.skip(f"{python}: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, done.stderr[-2000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask
