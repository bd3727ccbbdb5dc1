"""Every kind that a desktop bears, in trials on real ones: what is reached is delivered."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hfr_bench import content
from hfr_bench.model.attempt import Observation
from hfr_bench.model.record import digest
from hfr_bench.model.trial import Grade
from hfr_bench.ports.exposure import Exposure
from hfr_bench.ports.sandbox import FaultyHost, Sandbox
from hfr_bench.ports.suite import Execution, UserAct
from hfr_bench.suites.osworld.desktop import Desktop, exposure
from hfr_bench.suites.osworld.image import Profile
from hfr_bench.testing.bench import FakeBench, FakeScope
from hfr_bench.testing.breaking import check_bears
from hfr_bench.testing.shop import ShopUser, agent_step
from hfr_bench.testing.stockroom import StockSuite

from .conftest import TASK, Room, fault

pytestmark = pytest.mark.docker

APP = "mousepad"
WRITES = "sleep 0.4; cp /etc/hostname ~/Desktop/note || exit 1"
ELSEWHERE = "sleep 0.4; true"
ON_A_SHELL = (
    *("env_pause", "env_process_stall", "env_process_crash"),
    *("env_disk_full", "env_container_restart", "env_read_only"),
)


class DeskWorld:
    """A desktop on which `book` runs its text as a command."""

    def __init__(self, suite: "DeskSuite") -> None:
        self.exposure: Exposure = suite.exposure
        self._suite = suite
        self._desktop = Desktop.start(suite.sandbox, suite.profile)
        self._listed: frozenset[str] = frozenset()

    @property
    def host(self) -> FaultyHost:
        host: Any = self._desktop.host
        made: FaultyHost = host
        return made

    @property
    def guest(self) -> Any:
        return self._desktop.guest

    def reset(self, task_id: str) -> str:
        self.guest.execute("rm -rf ~/Desktop/*", shell=True)
        self._listed = frozenset()
        return "empty"

    def execute(
        self, tool: str, arguments: Mapping[str, Any], *, actor: str, operation_id: str
    ) -> Execution:
        given = arguments["text"]
        ran = self.guest.execute(given, shell=True, operation_id=operation_id)
        code = ran.returncode if ran.returncode >= 0 else 128 - ran.returncode
        body = ran.output if code == 0 else f"exit code {code}\n{ran.error}"
        listed = frozenset(self.guest.execute("ls ~/Desktop", shell=True).output.split())
        before, self._listed = self._listed, listed
        seen = Observation(
            answered=True,
            status=200,
            body=body,
            payload=body,
            domain_error=code != 0,
            exit_code=code,
        )
        return Execution(seen, tuple(sorted(listed - before)), digest(sorted(listed)))

    def user(self, task_id: str, act: UserAct) -> ShopUser:
        return ShopUser(self._suite.sealed(task_id), act)

    def grade(self, said: Sequence[str]) -> Grade:
        return Grade(official=1.0, goal_met=True, state_digest=digest(sorted(self._listed)))

    def close(self) -> None:
        self._desktop.close()


class DeskSuite(StockSuite):
    """The stock room's tasks on a desktop."""

    def __init__(self, sandbox: Sandbox, profile: Profile) -> None:
        super().__init__(sandbox, {})
        self.sandbox, self.profile = sandbox, profile
        self.exposure = exposure(profile, app=APP)

    def open(self) -> Any:
        return DeskWorld(self)


class DeskRoom(Room):
    """One desktop for several trials."""

    def __init__(self, sandbox: Sandbox, folder: Path, profile: Profile) -> None:
        self.sandbox, self._folder = sandbox, folder
        self.suite = DeskSuite(sandbox, profile)
        self.kinds = dict(content.kinds())
        shop: Any = self.suite
        self.scope = FakeScope(FakeBench(shop=shop))


@pytest.fixture(scope="module")
def make_desk(docker: Sandbox, tmp_path_factory: Any) -> Callable[[Profile], DeskRoom]:
    def make(profile: Profile) -> DeskRoom:
        return DeskRoom(docker, tmp_path_factory.mktemp("desk") / "traces", profile)

    return make


@pytest.fixture(scope="module")
def shell(make_desk: Any) -> Any:
    made = make_desk(Profile.SHELL)
    yield made
    made.world.close()


@pytest.fixture(scope="module")
def gui(make_desk: Any) -> Any:
    made = make_desk(Profile.GUI)
    yield made
    made.world.close()


@pytest.mark.parametrize("kind", ON_A_SHELL)
def test_what_is_reached_is_delivered(kind: str, shell: Any) -> None:
    ended = shell.run([agent_step("book", text=WRITES)], [fault(kind, "tool:book")])
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": 1, "reached": 1, "delivered": 1}
    assert not shell.world.host.standing


@pytest.mark.parametrize("kind", ["env_disk_full", "env_read_only"])
def test_a_call_that_goes_by_it_has_not_met_it(kind: str, shell: Any) -> None:
    ended = shell.run([agent_step("book", text=ELSEWHERE)], [fault(kind, "tool:book")])
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": 1, "reached": 0, "delivered": 0}


def test_the_read_only_folder_is_told_of_by_name_and_is_whole_afterwards(shell: Any) -> None:
    steps = [agent_step("book", text=WRITES), agent_step("book", text=WRITES)]
    ended = shell.run(steps, [fault("env_read_only", "tool:book")])
    first, second = ended.bodies("attempt_ended")
    assert (first.domain_error, first.signs) == (True, ("EACCES",))
    assert (second.domain_error, second.exit_code) == (False, 0)
    assert [look.protected for look in ended.bodies("host")] == [True, True, False]


@pytest.mark.slow
def test_the_desktop_bears_what_it_says(shell: Any) -> None:
    shell.suite.add(TASK, [agent_step("book", text=WRITES)])
    check_bears(shell.world, TASK, agent_step("book", text=WRITES))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "kind", ["env_app_killed", "env_app_frozen", "env_modal", "env_clock_skew"]
)
def test_so_it_is_on_a_screen(kind: str, gui: Any) -> None:
    """The program is started by the first call; the second one meets the fault."""
    start = "touch ~/Desktop/n; setsid mousepad ~/Desktop/n >/dev/null 2>&1 & until wmctrl -l"
    steps = [
        agent_step("book", text=f"{start} | grep -q Mousepad; do sleep 0.1; done"),
        agent_step("book", text="date >~/Desktop/date"),
        agent_step("book", text="wmctrl -l"),
    ]
    ended = gui.run(steps, [fault(kind, "tool:book", 2)])
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": 1, "reached": 1, "delivered": 1}
    host = gui.world.host
    assert not host.standing
    state = host.look("/home/user", "none")
    assert (state.app_stopped, state.modal, state.skew_s) == (0, False, 0)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["env_app_killed", "env_app_frozen"])
def test_where_no_program_runs_it_is_not_reached(kind: str, gui: Any) -> None:
    gui.world.guest.execute(["pkill", "-9", APP])
    ended = gui.run([agent_step("book", text="true")], [fault(kind, "tool:book")])
    assert ended.wrong == ()
    assert ended.sums == {"scheduled": 1, "reached": 0, "delivered": 0}
