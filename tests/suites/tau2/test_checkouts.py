"""Tasks from an upstream checkout: how it is told, what the suite makes of it, real ones if named.

Set HFR_BENCH_TAU2_CHECKOUT to a checkout of sierra-research/tau2-bench (1.0.1) and
HFR_BENCH_TAU_CHECKOUT to one of sierra-research/tau-bench to try the real thing.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.tau2.adapter import Tau2Suite, contained_command, host_python

TOY = Path(__file__).parent / "toy_tau_bench"
REAL = {"HFR_BENCH_TAU2_CHECKOUT": (50, 74, 114), "HFR_BENCH_TAU_CHECKOUT": (50, 115)}


@pytest.fixture
def box():
    sandbox = ProcessSandbox(SandboxContext(run="test", owner=this_process()))
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    """The layout of tau2-bench, made of the installed distribution's files."""
    where = "import importlib.util as u; print(u.find_spec('tau2').submodule_search_locations[0])"
    found = subprocess.run(
        [host_python(), "-c", where], check=True, capture_output=True, text=True
    ).stdout.strip()
    top = tmp_path_factory.mktemp("checkout")
    (top / "pyproject.toml").write_text('[project]\nname = "tau2"\nversion = "9.9"\n')
    for there, here in ((Path(found), "src/tau2"), (Path(found, "data/tau2"), "data/tau2")):
        (top / here).mkdir(parents=True)
        for entry in there.iterdir():
            (top / here / entry.name).symlink_to(entry)
    package = top / "src/tau2/__init__.py"
    package.unlink()
    package.write_text("raise SystemExit('heavy upstream: never import me')\n")
    return top


def test_what_is_no_checkout_is_refused(box, tmp_path):
    (tmp_path / "src" / "tau2" / "domains").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(BadInputError, match="neither src/tau2/domains and data/tau2") as error:
            Tau2Suite(box, folder)
        assert str(folder) in str(error.value)


def test_the_host_refuses_it_too(start_with, tmp_path):
    host = start_with(Path(sys.executable), {"HFR_TAU2_DATA_DIR": str(tmp_path)})
    for request in ({"op": "hello"}, {"op": "catalog", "domain": "airline"}):
        answer = host.ask(**request)
        assert answer["error"]["type"] == "bad_checkout"
        assert "tau_bench/envs/airline" in answer["error"]["message"]


def test_in_a_container_the_checkout_is_in_the_image():
    plain, ours = contained_command(), contained_command(TOY)
    assert plain.argv == ours.argv
    assert plain.env == {}
    assert ours.env == {"HFR_TAU2_DATA_DIR": "/opt/hfr/checkout"}
    assert plain.image != ours.image


@pytest.mark.tau2
def test_a_checkout_is_a_source_of_its_own(box, rebuilt, new_host, catalogs):
    suite = Tau2Suite(box, rebuilt)
    source = suite.pin(SuiteSelection(suite="tau2", tasks=("airline/2",)))
    assert source.distribution == "tau2-bench checkout"
    assert source.version.startswith("9.9+")
    assert source.domains["airline.db"] == catalogs["airline"]["digests"]["db"]
    installed = Tau2Suite(box).pin(SuiteSelection(suite="tau2", tasks=("airline/2",)))
    assert installed.content_digest != source.content_digest  # checkouts.yaml counts for one


@pytest.mark.tau2
def test_a_checkout_plays_as_the_installed_one(rebuilt, new_host, catalogs):
    host = new_host({"HFR_TAU2_DATA_DIR": str(rebuilt)})
    for domain, installed in catalogs.items():
        catalog = host.ok("catalog", domain=domain)
        assert catalog["digests"] == installed["digests"]
        task = next(t for t in catalog["tasks"] if t["n_writes"])
        host.ok("open", domain=domain, task_id=task["task_id"])
        for action in task["gold"]:
            host.play(action)
        assert host.ok("grade", said=task["communicate"])["official"] == 1.0


@pytest.mark.tau2
def test_base_tasks_without_splits_and_tasks_that_need_a_judge(rebuilt, new_host, tmp_path):
    """Older checkouts have no splits; newer ones have assertions that only a model can judge."""
    probe = (
        "import json, sys; sys.path.insert(0, sys.argv[1]);"
        "from host.checkout import enter; from pathlib import Path;"
        "enter('tau2', Path(sys.argv[2]) / 'src/tau2');"
        "from host import tau2_domain as d; from host.tau2_load import load;"
        "utils = load('domains.retail.utils');"
        "utils.RETAIL_TASK_SET_PATH = sys.argv[3];"
        "found = d.Tau2Domain('retail'); print(json.dumps([list(found.tasks), found.ungraded]))"
    )
    host = new_host().ok("catalog", domain="retail")
    assert host["ungraded"] == {}
    package = Path(__file__).parents[3] / "hfr_bench" / "suites" / "tau2"
    tasks = (rebuilt / "data/tau2/domains/retail/tasks.json").read_text(encoding="utf-8")
    (tmp_path / "tasks.json").write_text(_with_basis(tasks))
    done = subprocess.run(
        [host_python(), "-c", probe, package, rebuilt, tmp_path / "tasks.json"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    offered, ungraded = json.loads(done.stdout.splitlines()[-1])
    assert len(offered) == 113
    assert list(ungraded) == ["0"]
    assert "NL_ASSERTION" in ungraded["0"]


@pytest.mark.tau2
@pytest.mark.parametrize("variable", REAL)
def test_a_real_checkout_is_fit_to_be_registered(box, variable):
    checkout = _named(variable)
    suite = Tau2Suite(box, checkout)
    found = validate(suite, SuiteSelection(suite="tau2", pool="base"))
    assert found.problems == ()
    counts = [sum(t.domain == d for t in found.tasks) for d in ("airline", "retail", "telecom")]
    assert tuple(n for n in counts if n) == REAL[variable]
    tried = {tool.tool for tool in found.tools if tool.verdict == "tested"}
    assert {tool.tool for tool in found.tools} - tried == {"transfer_to_human_agents"}


@pytest.mark.tau2
@pytest.mark.parametrize("variable", REAL)
def test_a_real_checkouts_pool_of_duplicates_is_what_its_world_says(box, variable):
    suite = Tau2Suite(box, _named(variable))
    pool = {t.task_id for t in suite.select(SuiteSelection(suite="tau2", pool="duplicates"))}
    world = suite.open()
    losing = set()
    for task in suite.select(SuiteSelection(suite="tau2", pool="base")):
        sealed = suite.sealed(task.task_id)
        for n, step in enumerate(sealed.oracle):
            spec = task.tool(step.tool) if step.actor == "agent" else None
            if spec is None or not spec.level.writes or task.task_id in losing:
                continue
            world.reset(task.task_id)
            for again in (*sealed.oracle[: n + 1], *sealed.oracle[n:]):
                world.execute(again.tool, again.arguments, actor=again.actor, operation_id="x")
            if world.grade(sealed.say).official == 0.0:
                losing.add(task.task_id)
    assert losing == pool


@pytest.mark.tau2
@pytest.mark.parametrize("variable", REAL)
def test_a_real_checkouts_own_verdict_is_ours(new_host, variable):
    """On gold, and on gold without its last write."""
    host = new_host({"HFR_TAU2_DATA_DIR": str(_named(variable))})
    for domain in host.ok("hello")["domains"]:
        tasks = [t for t in host.ok("catalog", domain=domain)["tasks"] if t["n_writes"]]
        for task in tasks[::20]:
            last = max(n for n, action in enumerate(task["gold"]) if action["kind"] == "write")
            for calls in (task["gold"], task["gold"][:last] + task["gold"][last + 1 :]):
                host.ok("open", domain=domain, task_id=task["task_id"])
                for action in calls:
                    host.play(action)
                quick = host.ok("grade", said=task["communicate"])
                official = host.ok("grade_official", said=task["communicate"])
                assert official["components"] == quick["components"], task["task_id"]


def _with_basis(text: str) -> str:
    """Every task also graded by assertions, of which only the first has any."""
    rows = json.loads(text)
    for row in rows:
        row["evaluation_criteria"] |= {
            "reward_basis": ["DB", "NL_ASSERTION"],
            "nl_assertions": ["The agent is kind."] if row["id"] == "0" else None,
        }
    return json.dumps(rows)


def _named(variable: str) -> Path:
    if variable not in os.environ:
        pytest.skip(f"{variable} names no checkout to try")
    return Path(os.environ[variable])
