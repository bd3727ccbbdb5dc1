"""Faults of the container beneath real commands: felt, told in the tools' own words, undone.

The first build of the suite's image makes a base with git and patch, which may take minutes: hence
`slow`.
"""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from hfr_bench.model.breakage import DESKTOP, Breakage
from hfr_bench.model.signs import UNREACHED
from hfr_bench.model.task import OracleStep
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Restart, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.suites.swe_bench.mini import SweMiniSuite
from hfr_bench.testing.breaking import check_bears

from .broken import INSTALL, TASK, NetworkedSuite, Trials, fault

pytestmark = [pytest.mark.docker, pytest.mark.slow]

N = 20
FILE = "relay/queue.py"
MUCH = 'python3 -c \'x = b"x" * (150 << 20); open("relay/big", "a").write("x")\''

# What is run so often, each time in another way, so that each is an operation of its own.
COMMAND = {
    "env_pause": "echo '# {}' >> README.md",
    "env_process_stall": "echo '# {}' >> README.md",
    "env_process_crash": "echo '# {}' >> README.md",
    "env_disk_full": "python3 -c \"open('big{}', 'w').write('x' * 100000)\"",
    "env_oom": f"{MUCH} {{}}",
    "env_container_restart": "echo '# {}' >> README.md",
    "env_index_lock": "git add -A # {}",
}


@pytest.fixture(scope="module")
def trials(tmp_path_factory: Any) -> Iterator[Trials]:
    context = SandboxContext(f"test{secrets.token_hex(6)}", this_process(), tell=print)
    sandbox = DockerSandbox(context)
    yield Trials(SweMiniSuite(sandbox), tmp_path_factory.mktemp("traces"))
    sandbox.close()


@pytest.mark.parametrize("kind", COMMAND)
def test_what_is_reached_is_delivered(kind: str, trials: Trials) -> None:
    commands = [COMMAND[kind].format(number) for number in range(1, N + 1)]
    ended = trials.run(commands, *(fault(kind, number) for number in range(1, N + 1)))
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": N, "reached": N, "delivered": N}
    left = trials.world.host.look("/sandbox", "nobody")
    assert not trials.world.host.standing
    assert not left.left


@pytest.fixture(scope="module")
def networked(tmp_path_factory: Any) -> Iterator[Trials]:
    context = SandboxContext(f"test{secrets.token_hex(6)}", this_process(), tell=print)
    sandbox = DockerSandbox(context)
    yield Trials(NetworkedSuite(sandbox), tmp_path_factory.mktemp("networked"))
    sandbox.close()


def test_an_install_meets_a_partition_as_often_as_planned(networked: Trials) -> None:
    commands = [f"{INSTALL}\n# {number}" for number in range(1, N + 1)]
    ended = networked.run(commands, *(fault("env_partition", n) for n in range(1, N + 1)))
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": N, "reached": N, "delivered": N}


def test_an_install_that_was_cut_off_is_half_done_and_the_next_one_whole(
    networked: Trials,
) -> None:
    ended = networked.run([INSTALL, INSTALL], fault("env_partition", 1))
    assert ended.wrong == ()
    first, second = ended.bodies("attempt_ended")
    assert first.exit_code == 1
    assert UNREACHED.intersection(first.signs)
    assert second.exit_code == 0
    changed = [effect.changed for effect in ended.bodies("effect")]
    assert changed == [("requirements.txt",), ("requirements.txt", "vendored/tiny.py")]
    assert "tiny\ntiny\n" in networked.said("cat requirements.txt")


def test_under_a_full_disk_python_truncates_and_sed_keeps(trials: Trials) -> None:
    python = f"python3 -c \"open('{FILE}', 'w').write('x' * 100000)\""
    sed = "sed -i 's/relay/RELAY/' relay/util.py"
    ended = trials.run([python, sed], fault("env_disk_full", 1), fault("env_disk_full", 2))
    assert ended.wrong == ()
    first, second = ended.bodies("attempt_ended")
    assert (first.exit_code, first.signs, first.domain_error) == (1, ("ENOSPC",), False)
    assert (second.exit_code, second.signs, second.domain_error) == (4, ("ENOSPC",), True)
    assert [effect.changed for effect in ended.bodies("effect")] == [(FILE,), ()]
    assert "No space" not in trials.said(f"tail -c 1 {FILE}; echo more >> {FILE}")
    assert trials.said("git diff --stat -- relay/util.py").endswith("<output>\n</output>")


def test_a_killed_command_leaves_half_and_nobody(trials: Trials) -> None:
    command = "echo one >> README.md; sleep 20; echo two >> README.md"
    ended = trials.run([command], fault("env_process_crash"))
    assert ended.wrong == ()
    assert ended.bodies("attempt_ended")[0].exit_code == 137
    assert trials.said("tail -n 1 README.md").endswith("\none\n</output>")


def test_a_short_command_is_killed_when_its_work_is_done(trials: Trials) -> None:
    """The answer says that it was killed; who believes that of the work, too, does it twice."""
    command = "echo short >> README.md"
    ended = trials.run([command], fault("env_process_crash"))
    assert ended.wrong == ()
    assert [one.exit_code for one in ended.bodies("attempt_ended")] == [137]
    assert [effect.changed for effect in ended.bodies("effect")] == [("README.md",)]
    assert trials.said("grep -c short README.md").endswith("\n1\n</output>")


def test_a_short_command_is_stopped_there_and_lands_once_it_goes_on(trials: Trials) -> None:
    command = "echo late >> README.md"
    ended = trials.run([command], fault("env_process_stall"), arm="blind_resend")
    assert ended.wrong == ()
    assert trials.said("grep -c late README.md").endswith("\n2\n</output>")
    ended = trials.run([command], fault("env_process_stall"), arm="hfr")
    assert ended.wrong == ()
    assert [body.landed for body in ended.bodies("reconciled")] == ["committed"]
    assert trials.said("grep -c late README.md").endswith("\n1\n</output>")


def test_a_command_that_waits_for_nobody_is_not_met(trials: Trials) -> None:
    ended = trials.run(["trap : EXIT; echo x >> README.md"], fault("env_process_crash"))
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": 1, "reached": 0, "delivered": 0}
    assert [one.exit_code for one in ended.bodies("attempt_ended")] == [0]


def test_what_a_frozen_container_holds_up_is_written_later(trials: Trials) -> None:
    """The client gave up; the command goes on, once it can, and whoever resent it did it twice."""
    command = "echo late >> README.md"
    ended = trials.run([command], fault("env_pause"), arm="blind_resend")
    assert ended.wrong == ()
    assert trials.said("grep -c late README.md").endswith("\n2\n</output>")
    ended = trials.run([command], fault("env_pause"), arm="hfr")
    assert ended.wrong == ()
    assert [body.landed for body in ended.bodies("reconciled")] == ["committed"]
    assert trials.said("grep -c late README.md").endswith("\n1\n</output>")


def test_a_restart_takes_processes_and_memory_and_leaves_the_tree(trials: Trials) -> None:
    """What is done is known behind it; what was under way is known to have begun."""
    before = "echo kept >> README.md; echo gone > /tmp/x; (sleep 300; echo never) >/dev/null &"
    after = "cat /tmp/x; tail -n 1 README.md; cat /proc/[0-9]*/comm | grep -c sleep"
    ended = trials.run([before, after], fault("env_container_restart", 2))
    assert ended.wrong == ()
    first, then = (one for one in ended.bodies("host") if one.when in ("before", "after"))
    assert (first.restarted, then.restarted) == (True, True)
    said = trials.said(after)
    assert "cat: /tmp/x: No such file or directory\nkept\n0\n" in said
    status = trials.world.execute(
        "command_status", {"command": before}, actor="strategy", operation_id="t.s"
    )
    assert '"started": 1, "ended": 1' in status.observation.body


def test_a_lock_fails_git_in_its_own_words_until_it_is_removed(trials: Trials) -> None:
    move = "git mv relay/util.py relay/waits.py"
    commands = [move, "git status --short", "rm .git/index.lock", f"{move} # again"]
    ended = trials.run(commands, fault("env_index_lock", 1))
    assert ended.wrong == ()
    ends = ended.bodies("attempt_ended")
    assert [one.exit_code for one in ends] == [128, 0, 0, 0]
    assert ends[0].signs == ("EEXIST",)
    moved = [bool(effect.changed) for effect in ended.bodies("effect")]
    assert moved == [False, False, False, True]


def test_a_lock_is_gone_with_its_trial(trials: Trials) -> None:
    ended = trials.run(["ls"], fault("env_index_lock", 1))
    assert ended.wrong == ()
    assert "No such file" in trials.said("ls .git/index.lock")


def test_its_words_are_those_of_a_lock(trials: Trials) -> None:
    trials.world.reset(TASK)
    said = trials.said("touch .git/index.lock; git add -A")
    assert "Unable to create '/testbed/.git/index.lock': File exists." in said


def test_the_world_bears_what_it_says(trials: Trials) -> None:
    arguments = {"command": "sleep 0.3; echo x >> README.md"}
    step = OracleStep(actor="agent", tool="bash", arguments=arguments)
    check_bears(trials.world, TASK, step)


def test_whatever_is_broken_the_volumes_go_with_the_container(engine: Any) -> None:
    run = f"test{secrets.token_hex(6)}"
    sandbox = DockerSandbox(SandboxContext(run, this_process(), tell=print))
    world = SweMiniSuite(sandbox).open()
    filters = {"label": f"hfr.run={run}"}
    assert len(engine.volumes(filters=filters)["Volumes"]) == 2
    world.host.inflict(Restart())
    assert len(engine.containers(all=True, filters=filters)) == 1  # who held them is gone
    sandbox.close()
    assert engine.containers(all=True, filters=filters) == []
    assert not engine.volumes(filters=filters)["Volumes"]


def test_it_bears_all_but_a_partition() -> None:
    assert frozenset(Breakage) - SweMiniSuite.exposure.bears == {Breakage.PARTITION} | DESKTOP
