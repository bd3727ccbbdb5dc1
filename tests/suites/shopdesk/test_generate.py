"""Any seed gives solvable tasks, the same on every machine, and none that solve themselves."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hfr_bench.model.record import digest
from hfr_bench.suites.shopdesk.catalog import tools, with_what_they_need
from hfr_bench.suites.shopdesk.draft import GENERATOR
from hfr_bench.suites.shopdesk.generate import CELLS, Instance, generate

SEEDS = st.text(min_size=1, max_size=8) | st.integers().map(str)
MANY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

# Of the first tasks of one seed. If a change moves it, raise GENERATOR: the same seed then names
# other tasks, and earlier experiments do not compare.
KNOWN = {"1": "30c9a721c2f8c3a5333f4e9ac2fa855f4c590a4b3dc657d3e59bb03e8a05f573"}
"""Where faults may happen is not the generator's: schedules are frozen with each experiment."""


def whole(task: Instance) -> Any:
    public = task.public.model_dump(mode="json", exclude={"fault_points"})
    return [public, task.sealed.model_dump(mode="json"), task.tables]


def test_the_generator_gives_what_its_version_says() -> None:
    assert digest([whole(generate("pinned", n)) for n in range(24)]) == KNOWN[GENERATOR]


def test_hash_seeds_do_not_matter() -> None:
    program = (
        "from hfr_bench.suites.shopdesk.generate import generate\n"
        "from hfr_bench.model.record import digest\n"
        "made = [generate('x', n) for n in range(24)]\n"
        "print(digest([[t.public.digest(), t.sealed.digest(), t.tables] for t in made]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(said) == 1


@MANY
@given(seed=SEEDS, number=st.integers(0, 200))
def test_any_task_is_solved_by_its_oracle_and_not_by_doing_nothing(
    desk: Any, seed: str, number: int
) -> None:
    initial = desk.open(generate(seed, number))
    assert desk.grade().official == 0.0
    desk.play()
    assert desk.grade().official == 1.0
    effects = desk.effects()
    assert (effects.duplicates, effects.unwanted, effects.partial) == (0, 0, 0)
    assert effects.effects == CELLS[number % len(CELLS)][1]
    assert desk.open(desk.task) == initial


@MANY
@given(seed=SEEDS, number=st.integers(0, 200))
def test_any_task_without_one_of_its_writes_is_not_solved(
    desk: Any, seed: str, number: int
) -> None:
    task = generate(seed, number)
    desk.open(task)
    writes = [n for n, s in enumerate(task.sealed.oracle) if is_write(s)]
    left_out = writes[number % len(writes)]
    for n, step in enumerate(task.sealed.oracle):
        if n != left_out:
            desk.call(step.tool, step.actor, **step.arguments)
    assert desk.grade().official == 0.0


@MANY
@given(seed=SEEDS, number=st.integers(0, 200))
def test_any_task_offers_what_it_takes_and_what_its_contracts_need(seed: str, number: int) -> None:
    task = generate(seed, number)
    offered = {tool.name for tool in task.public.tools}
    assert {s.tool for s in task.sealed.oracle if s.actor == "agent"} <= offered
    assert with_what_they_need(offered) == offered
    points = {point.point for point in task.public.fault_points}
    assert {"model:agent", "model:compress"} <= points
    for tool in task.public.tools:
        contract = tool.reconcile
        assert (f"reconcile:{tool.name}" in points) == (contract is not None)
        assert (f"verify:{tool.name}" in points) == (contract is not None)
        assert (f"prepare:{tool.name}" in points) == bool(contract and contract.needs_before)


def test_a_task_says_what_it_wants(made: Callable[..., Instance]) -> None:
    task = made("refund", "mail")
    assert task.sealed.say[0] in task.sealed.opening
    assert "refund_sent" in task.sealed.opening
    assert "cannot be recalled" in task.public.prompt


def test_the_public_half_tells_neither_solution_nor_end(made: Callable[..., Instance]) -> None:
    task = made("refund")
    told = task.public.dumps()
    assert task.sealed.say[0] not in told
    assert str(task.sealed.oracle[-1].arguments["amount_cents"]) not in told


def is_write(step: Any) -> bool:
    return step.actor == "agent" and tools()[step.tool].level.writes
