"""db_mini in child processes; a database of the host's own in a test's folder; a checkout."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.agentbench.dbbench import DbBenchSuite, DbMiniSuite
from hfr_bench.suites.agentbench.dbbench.catalog import make_task
from hfr_bench.suites.agentbench.dbbench.host.sqlite import Database
from hfr_bench.suites.agentbench.dbbench.rows import read_row
from hfr_bench.suites.agentbench.dbbench.world import DbWorld
from hfr_bench.suites.agentbench.source import ROOT

STOCK = {
    "name": "stock",
    "columns": ["Item", "Shelf", "Pieces"],
    "rows": [["rope", "S1", "40"], ["fender", "S2", "9"], ["fender", "S3", "9"]],
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Callable[..., Database]]:
    """Makes a database with these tables, by default one of stock."""
    made: list[Database] = []

    def make(*tables: Any) -> Database:
        made.append(Database(str(tmp_path / f"test{len(made)}")))
        made[-1].fill(list(tables) or [STOCK])
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def suite() -> Iterator[DbMiniSuite]:
    made = DbMiniSuite(ProcessSandbox(SandboxContext("dbmini", this_process())))
    yield made
    made.close()


@pytest.fixture(scope="session")
def world(suite: DbMiniSuite) -> Iterator[DbWorld]:
    made = suite.open()
    yield made
    made.close()


@pytest.fixture(scope="session")
def upstream() -> Iterator[DbBenchSuite]:
    """dbbench of the checkout that is named; else the test is skipped."""
    root = os.environ.get(ROOT)
    if not root:
        pytest.skip(f"{ROOT} names no checkout of THUDM/AgentBench: clone it and set it")
    sandbox = ProcessSandbox(SandboxContext("dbbench", this_process()))
    made = DbBenchSuite(sandbox, Path(root))
    yield made
    made.close()


@pytest.fixture(scope="session")
def stock_world(suite: DbMiniSuite) -> Iterator[DbWorld]:
    """A world with one task, `stock`: a question about that table."""
    info = {"columns": [{"name": c} for c in STOCK["columns"]], "rows": STOCK["rows"]}
    row = {
        "description": "How many ropes?",
        "type": ["other"],
        "label": ["40"],
        "table": {"table_name": "stock", "table_info": info},
    }
    task = make_task("db_mini", read_row(row, "here"), "stock")
    host = suite.open()._host
    yield DbWorld(host, {"stock": task}.__getitem__)
    host.close()
