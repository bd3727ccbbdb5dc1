"""Who imports whom: the layers hold, their contracts bite, and a light command stays light."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from importlinter.cli import lint_imports

from hfr_bench import plugins

REPO = Path(__file__).resolve().parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = {c["id"]: c["name"] for c in PYPROJECT["tool"]["importlinter"]["contracts"]}
ENTRY_POINTS = [
    (group.removeprefix("hfr_bench."), name)
    for group, points in PYPROJECT["project"]["entry-points"].items()
    if group.startswith("hfr_bench.")
    for name in points
]

HEAVY = {
    "aiohttp",
    "httpx",
    "uvloop",
    "numpy",
    "scipy",
    "pandas",
    "duckdb",
    "rich",
    "docker",
    "matplotlib",
    "jinja2",
    "psycopg",
}
HEAVY |= {"litellm", "datasets", "opentelemetry", "psycopg", "pyarrow", "tree_sitter"}
HEAVY |= {"mcp", "starlette", "uvicorn", "huggingface_hub"}
PLUGS = ("suites", "injectors", "agents", "sandboxes", "llms", "executors", "stores", "baselines")

# One line that breaks each contract: contract -> (file under hfr_bench/, line).
OFFENCES = {
    "layers": ("lab/clock.py", "import hfr_bench.suites.tau2.adapter"),
    "acyclic": ("model/terms.py", "import hfr_bench.model.trial"),
    "core-parts": ("stats/exact.py", "import hfr_bench.faults.generate"),
    "pure": ("recovery/backoff.py", "import random"),
    "plug-siblings": ("agents/nop.py", "import hfr_bench.agents.oracle"),
    "home-docker": ("ports/user.py", "import docker"),
    "home-litellm": ("ports/user.py", "import litellm"),
    "home-mcp": ("ports/user.py", "import mcp"),
    "home-playwright": ("ports/user.py", "import playwright"),
    "home-psycopg": ("ports/user.py", "import psycopg"),
    "home-office": ("ports/user.py", "import openpyxl"),
    "home-datasets": ("ports/user.py", "import datasets"),
    "home-pyarrow": ("ports/user.py", "import pyarrow"),
    "home-tree-sitter": ("ports/user.py", "import tree_sitter"),
    "home-duckdb": ("ports/user.py", "import duckdb"),
    "home-pandas": ("ports/user.py", "import pandas"),
    "home-huggingface": ("ports/user.py", "import huggingface_hub"),
    "home-matplotlib": ("ports/user.py", "import matplotlib"),
    "home-jinja2": ("ports/user.py", "import jinja2"),
    "home-opentelemetry": ("ports/user.py", "import opentelemetry"),
    "home-rich": ("ports/user.py", "import rich"),
    "home-click": ("ports/user.py", "import click"),
    "home-aiohttp": ("ports/user.py", "import aiohttp"),
    "home-httpx": ("ports/user.py", "import httpx"),
    "testing-knows": ("testing/results.py", "import hfr_bench.agents.oracle"),
    "testing-known": ("cli/__init__.py", "import hfr_bench.testing"),
    "host-known": ("suites/tau2/adapter.py", "import hfr_bench.suites.tau2.host.errors"),
    "host-knows": ("suites/tau2/host/errors.py", "import hfr_bench.errors"),
}


def test_the_contracts_hold(capsys):
    code = lint_imports(
        config_filename=str(REPO / "pyproject.toml"), no_cache=True, is_debug_mode=True
    )
    assert code == 0, capsys.readouterr().out


def test_every_contract_bites(tmp_path):
    """A contract that cannot be broken says nothing: plant one offence against each."""
    assert OFFENCES.keys() == CONTRACTS.keys()
    shutil.copytree(REPO / "hfr_bench", tmp_path / "hfr_bench")
    shutil.copy(REPO / "pyproject.toml", tmp_path)
    for file, line in OFFENCES.values():
        with (tmp_path / "hfr_bench" / file).open("a", encoding="utf-8") as source:
            source.write(f"\n{line}\n")
    lint = "from importlinter.cli import lint_imports as lint; lint(no_cache=True, no_logo=True)"
    report = _python("-c", lint, cwd=tmp_path)
    words = " ".join(report.split())
    assert not [name for name in CONTRACTS.values() if f"{name} BROKEN" not in words], report
    edges = {
        f"{_module(file)} -> {line.split()[1]} (l."
        for contract, (file, line) in OFFENCES.items()
        if contract != "acyclic"  # reports siblings, not modules
    }
    assert not [edge for edge in edges if edge not in words], report


@pytest.mark.parametrize(
    "code",
    ["import hfr_bench.cli.main", "from hfr_bench.cli.main import run; run(['--help'])"],
    ids=["import", "--help"],
)
def test_help_loads_nothing_heavy(code):
    loaded = _loaded_by(code)
    assert "hfr_bench.cli.main" in loaded
    assert not _heavy(loaded)


def test_the_system_under_test_stands_alone():
    loaded = _loaded_by("import hfr_bench.recovery.hfr, hfr_bench.recovery.strategies")
    assert not _heavy(loaded)
    assert "asyncio" not in loaded


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("verification.verify", {"numpy", "scipy", "duckdb", "http.client", "hfr_bench.recovery"}),
        ("verification.verify", {"hfr_bench.lab.wire"}),
        ("verification.helper", {"numpy", "scipy", "duckdb", "http.client", "hfr_bench.lab.wire"}),
        ("rendering.html", {"numpy", "scipy", "duckdb", "matplotlib", "hfr_bench.lab.wire"}),
    ],
)
def test_what_verifies_a_bundle_loads_no_more_than_it_needs(module, without):
    """Both processes of a verification begin with this; numbers are made in one of them."""
    assert not _loaded_by(f"import hfr_bench.lab.{module}") & without


def test_importing_the_package_does_nothing():
    ours = {name for name in _loaded_by("import hfr_bench") if name.startswith("hfr_bench")}
    assert ours == {"hfr_bench"}


@pytest.mark.parametrize(("group", "name"), ENTRY_POINTS)
def test_every_plug_loads(group, name):
    assert group in plugins.GROUPS
    assert callable(plugins.find(group, name))


def _heavy(loaded: set[str]) -> set[str]:
    ours = {f"hfr_bench.{part}" for part in ("lab", "stats", "testing", *PLUGS)}
    return {m for m in loaded if m.split(".")[0] in HEAVY or ".".join(m.split(".")[:2]) in ours}


def _loaded_by(code: str) -> set[str]:
    """Names of the modules in a fresh interpreter after the code has run or exited."""
    program = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print('\\n' + json.dumps(sorted(sys.modules))))\n" + code
    )
    return set(json.loads(_python("-c", program, cwd=REPO).splitlines()[-1]))


def _python(*arguments: str, cwd: Path) -> str:
    """What a fresh interpreter prints; the folder it starts in comes first on its path."""
    env = {**os.environ, "PYTHONPATH": str(cwd), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=env, text=True, capture_output=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


def _module(file: str) -> str:
    return "hfr_bench." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
