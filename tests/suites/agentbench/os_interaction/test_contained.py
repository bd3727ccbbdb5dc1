"""The shells in containers: our own pack as here; upstream's tasks, each in one of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.agentbench.os_interaction import OsInteractionSuite, OsMiniSuite

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture
def sandbox() -> Iterator[DockerSandbox]:
    made = DockerSandbox(SandboxContext("oscontained", this_process()))
    yield made
    made.close()


def test_our_own_pack_is_fit_to_be_registered(sandbox: DockerSandbox) -> None:
    found = validate(OsMiniSuite(sandbox), SuiteSelection(suite="os_mini", pool="base"))
    assert found.problems == ()


def test_upstream_s_tasks_with_known_answers_are_solved(sandbox: DockerSandbox, root: Path) -> None:
    suite = OsInteractionSuite(sandbox, root)
    found = validate(suite, SuiteSelection(suite="os_interaction", pool="answer"))
    assert found.problems == ()
    assert len(found.tasks) == 6
