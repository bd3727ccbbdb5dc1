"""A row of our own in an image of our own making, as real ones run: /testbed, and a fresh grader.

The base of its image holds git and patch; where it is not there yet it takes minutes: hence `slow`.
"""

import json
import secrets
import tarfile

import pytest

from hfr_bench.errors import BadInputError
from hfr_bench.lab.validate import validate
from hfr_bench.model.breakage import DESKTOP, Breakage
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.task import OracleStep
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import ImageSpec, Restart, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.swe_bench.adapter import SweBenchSuite
from hfr_bench.testing.breaking import check_bears
from hfr_bench.testing.conformance import check_suite

from .mini.broken import Trials, fault

pytestmark = [pytest.mark.docker, pytest.mark.slow]

N = 5

TASK = "hfr__slug-1"
TEMPLATE = "hfr-bench/test-swe-bench-{id}:1"
DOCKERFILE = "FROM base\nADD testbed.tar /\nRUN mkdir -p /sandbox\nLABEL hfr.image=test-swe-bench\n"
# What pytest would say, without a pytest.
EVAL = """\
cd /testbed
: '>>>>> Start Test Output'
python3 - <<'EOF'
from slug import slug
for test, right in (("lower", slug("A b") == "a-b"), ("spaces", slug(" a b ") == "a-b")):
    print("PASSED" if right else "FAILED", f"tests/test_slug.py::test_{test}")
EOF
: '>>>>> End Test Output'
"""


@pytest.fixture(scope="module")
def sandbox():
    made = DockerSandbox(SandboxContext(f"test{secrets.token_hex(6)}", this_process(), tell=print))
    yield made
    made.close()


@pytest.fixture(scope="module")
def image(sandbox, slug, engine, tmp_path_factory):
    """The image that a user has brought: the repository at /testbed, its past and no more."""
    repo, _ = slug
    made = tmp_path_factory.mktemp("image") / "testbed.tar"

    def owned(info):
        info.uid = info.gid = 0
        return info

    with tarfile.open(made, "w") as tar:
        tar.add(repo, "testbed", filter=owned)
        tar.addfile(tarfile.TarInfo("testbed/left.txt"))  # by whoever made it, and unknown to git
    spec = ImageSpec("test-swe-bench", DOCKERFILE, {"testbed.tar": made}, packages=("git", "patch"))
    image_id = sandbox.make_image(spec)
    name = TEMPLATE.format(id="hfr_1776_slug-1")
    engine.tag(image_id, *name.rsplit(":", 1))
    yield image_id
    engine.remove_image(name)
    engine.remove_image(image_id)


@pytest.fixture(scope="module")
def rows(slug, tmp_path_factory):
    instance = slug[1]
    gold, problem = instance.gold, instance.problem
    row = {
        "instance_id": TASK,
        "repo": problem.repo,
        "version": problem.version,
        "base_commit": problem.base_commit,
        "problem_statement": problem.statement,
        "patch": gold.patch,
        "test_patch": gold.test_patch,
        "FAIL_TO_PASS": list(gold.fail_to_pass),
        "PASS_TO_PASS": ["tests/test_slug.py::test_spaces"],
        "image": "example.invalid/slug:1",
        "eval_script": f"#!/bin/bash\nset -uxo pipefail\n{EVAL}",
        "log_parser": "parse_log_pytest",
        "eval_type": "pass_and_fail",
    }
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path


@pytest.fixture(scope="module")
def suite(sandbox, rows, image):
    return SweBenchSuite(sandbox, rows, image_template=TEMPLATE)


@pytest.fixture
def world(suite):
    made = suite.open()
    yield made
    made.close()


def said(world, command):
    done = world.execute("bash", {"command": command}, actor="agent", operation_id="o")
    return done.observation.body


def play(suite, world, times=1):
    for step in suite.sealed(TASK).oracle:
        for _ in range(times):
            world.execute(step.tool, step.arguments, actor="agent", operation_id="o")


def test_it_keeps_the_ports_promises_and_its_controls_hold(suite):
    chosen = SuiteSelection(suite="swe_bench", tasks=(TASK,))
    check_suite(suite, chosen)
    found = validate(suite, chosen)
    assert found.problems == ()
    assert [(row.oracle, row.nop) for row in found.tasks] == [(1.0, 0.0)]


def test_the_image_is_the_one_that_was_named(suite, image, rows, sandbox):
    assert suite.image_of(TASK) == image
    unnamed = SweBenchSuite(sandbox, rows)
    assert unnamed.image_of(TASK) is None
    with pytest.raises(BadInputError, match=r"no image of hfr__slug-1: bring the image to the eng"):
        unnamed.pin(SuiteSelection(suite="swe_bench", tasks=(TASK,)))


def test_a_repeated_solution_undoes_itself(suite, world):
    for times, outcome in ((1, "resolved"), (2, "unresolved")):
        world.reset(TASK)
        play(suite, world, times)
        grade = world.grade([])
        assert grade.official == float(times == 1)
        assert grade.components[f"outcome:{outcome}"] == 1.0
    assert "nothing to commit" not in said(world, "git status")  # patch leaves slug.py.orig
    assert said(world, "git diff") == "<returncode>0</returncode>\n<output>\n</output>"


def test_outcomes_are_told_apart(world):
    for command, outcome in (
        ("sed -i s/strip/title/ slug.py", "unresolved"),
        ("sed -i s/return/retrun/ slug.py", "unresolved"),
        ("true", "empty_patch"),
    ):
        world.reset(TASK)
        said(world, command)
        assert world.grade([]).components[f"outcome:{outcome}"] == 1.0


def test_a_patch_alone_crosses(suite, world):
    world.reset(TASK)
    play(suite, world)
    said(world, "rm -rf /usr/lib/python3; echo x > /testbed/new.txt; git commit -qam done")
    assert world.grade([]).official == 1.0


def test_every_trial_has_a_container_of_its_own(world):
    initial = world.reset(TASK)
    assert "uid=0" in said(world, "id")
    said(world, "rm -rf .git slug.py; touch /elsewhere")
    assert world.reset(TASK) == initial
    assert "No such file" in said(world, "ls /elsewhere")


def test_commands_have_no_network_and_few_rights(world):
    world.reset(TASK)
    assert said(world, "ls /sys/class/net").split("\n")[2:-1] == ["lo"]
    status = said(world, "cat /proc/self/status")
    assert "NoNewPrivs:\t1" in status
    effective = int(status.split("CapEff:\t")[1].split("\n")[0], 16)
    assert effective & (1 << 21) == 0  # CAP_SYS_ADMIN
    assert effective == 0b11101011  # CHOWN DAC_OVERRIDE FOWNER KILL SETGID SETUID


def test_what_changed_is_told_by_its_path(world):
    world.reset(TASK)
    done = world.execute("bash", {"command": "echo x >> slug.py"}, actor="agent", operation_id="o")
    assert done.changed == ("slug.py",)
    asked = world.execute(
        "command_status", {"command": "echo x >> slug.py"}, actor="agent", operation_id="o"
    )
    assert json.loads(asked.observation.body)["started"] == 1


def test_it_bears_what_it_says(world):
    arguments = {"command": "sleep 0.3; echo x >> slug.py"}
    check_bears(world, TASK, OracleStep(actor="agent", tool="bash", arguments=arguments))


def test_a_restart_leaves_testbed_and_markers(world):
    world.reset(TASK)
    said(world, "echo kept >> slug.py; echo gone > /tmp/x; echo kept > /root/x")
    world.host.inflict(Restart())
    world.host.heal()
    assert "gone" not in said(world, "cat /tmp/x")
    assert said(world, "tail -n 1 slug.py; cat /root/x").count("kept") == 2
    status = {"command": "echo kept >> slug.py; echo gone > /tmp/x; echo kept > /root/x"}
    told = world.execute("command_status", status, actor="strategy", operation_id="s")
    assert json.loads(told.observation.body)["ended"] == 1
    assert world.grade([]).components["outcome:unresolved"] == 1.0


@pytest.mark.parametrize(
    ("kind", "command", "answered"),
    [
        ("env_pause", "echo '# {}' >> slug.py", False),
        ("env_process_stall", "echo '# {}' >> slug.py", False),
        ("env_process_crash", "echo '# {}' >> slug.py", True),
        ("env_container_restart", "echo '# {}' >> slug.py", True),
        ("env_index_lock", "git add -A # {}", True),
    ],
)
def test_what_is_reached_is_delivered(suite, tmp_path, kind, command, answered):
    trials = Trials(suite, tmp_path, TASK)
    planned = [fault(kind, number) for number in range(1, N + 1)]
    ended = trials.run([command.format(number) for number in range(1, N + 1)], *planned)
    trials.world.close()
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": N, "reached": N, "delivered": N}
    ends = ended.bodies("attempt_ended")
    assert [one.answered for one in ends] == [answered] * N
    if kind == "env_process_crash":
        assert [one.exit_code for one in ends] == [137] * N
    if "echo" in command:  # sooner or later each was done, and once
        assert len({e.natural_key for e in ended.bodies("effect") if e.changed}) == N


def test_nobody_fills_the_engine_s_disk():
    left = frozenset(Breakage) - SweBenchSuite.exposure.bears
    assert left == {Breakage.DISK_FULL, Breakage.PARTITION} | DESKTOP


def test_nothing_is_left(suite, sandbox, world):
    world.reset(TASK)
    play(suite, world)
    world.grade([])
    world.close()
    assert sandbox.reap() == ()
