"""A real browser before the same sites: the same verdicts, the same doubled rows."""

from collections.abc import Iterator

import pytest

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import SandboxContext
from hfr_bench.sandboxes.process import ProcessSandbox
from hfr_bench.suites.webarena.browse.browser import lacking
from hfr_bench.suites.webarena.mini import WebMiniSuite
from hfr_bench.suites.webarena.mini.catalog import tasks
from hfr_bench.suites.webarena.mini.world import WebWorld

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(lacking() is not None, reason=str(lacking())),
]


@pytest.fixture(scope="module")
def browsed() -> Iterator[WebWorld]:
    suite = WebMiniSuite(ProcessSandbox(SandboxContext("webreal", this_process())), "chromium")
    made = suite.open()
    yield made
    made.close()
    suite.close()


def play(world: WebWorld, name: str, twice: str = "") -> list[str]:
    """The oracle, the button `twice` clicked again; all rows that changed, in order."""
    world.reset(name)
    changed: list[str] = []
    for step in tasks()[name].sealed.oracle:
        for _ in range(1 + (step.arguments.get("name") == twice)):
            done = world.execute(step.tool, step.arguments, actor="agent", operation_id="o")
            changed += done.changed
    return changed


@pytest.mark.parametrize("name", ["shop-open-wish-list", "tracker-issue-moon"])
def test_all_rules_agree_on_the_oracle(browsed: WebWorld, name: str) -> None:
    play(browsed, name)
    found = browsed.grade(())
    assert found.goal_met
    assert [found.components[one] for one in ("verified", "original", "state")] == [1.0] * 3


def test_going_back_to_a_form_brings_back_what_was_typed(browsed: WebWorld) -> None:
    changed = play(browsed, "forum-post-lighthouse", twice="Create submission")
    assert changed == ["forum_submissions/11", "forum_submissions/12"]
    found = browsed.grade(())
    assert (found.official, found.goal_met) == (1.0, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", tasks())
def test_every_oracle_is_right_in_a_real_browser(browsed: WebWorld, name: str) -> None:
    play(browsed, name)
    found = browsed.grade(())
    assert found.goal_met
    assert (found.official, found.components["original"]) == (1.0, 1.0)
