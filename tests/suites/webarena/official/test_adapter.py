"""WebArena as a suite, on living sites: controls, effects by requests, verdicts, what lacks."""

import json
from pathlib import Path
from typing import Any

import pytest

from hfr_bench.errors import BadInputError, InfrastructureError
from hfr_bench.lab.validate import validate
from hfr_bench.model.prereg import SuiteSelection
from hfr_bench.model.task import OPEN
from hfr_bench.model.terms import Landed, SideEffect
from hfr_bench.ports.suite import Execution, Levelled, Solved
from hfr_bench.ports.verifier import Checked
from hfr_bench.ports.web import Fronted
from hfr_bench.suites.webarena.official import WebArenaSuite
from hfr_bench.suites.webarena.official.world import SitesWorld
from hfr_bench.testing.conformance import check_suite

POST, ORDER = "verified-900001", "verified-900101"
ISSUE = "original-900301"


def do(world: SitesWorld, tool: str, **arguments: Any) -> Execution:
    return world.execute(tool, arguments, actor="agent", operation_id="o")


def play(suite: WebArenaSuite, world: SitesWorld, name: str, twice: str = "") -> list[Execution]:
    """The task's solution; the button `twice` is clicked again."""
    world.reset(name)
    return [
        do(world, step.tool, **step.arguments)
        for step in suite.sealed(name).oracle
        for _ in range(1 + (step.arguments.get("name") == twice))
    ]


def test_it_is_a_suite_with_levels_checks_and_sites(
    suite: WebArenaSuite, world: SitesWorld
) -> None:
    assert isinstance(suite, Levelled)
    assert isinstance(suite, Checked)
    assert isinstance(suite, Solved)
    assert isinstance(world, Fronted)
    check_suite(suite, SuiteSelection(suite="webarena", tasks=(POST, ISSUE)))


@pytest.mark.parametrize("pool", [pytest.param("original", marks=pytest.mark.slow), "verified"])
def test_every_oracle_is_right_on_living_sites(suite: WebArenaSuite, pool: str) -> None:
    if pool == "verified":  # a task a site; all of them by the slow one
        names = tuple(f"verified-{n}" for n in (900002, 900103, 900202, 900304))
        chosen = SuiteSelection(suite="webarena", tasks=names)
    else:
        chosen = SuiteSelection(suite="webarena", pool=pool)
    found = validate(suite, chosen)
    assert [one.oracle for one in found.tasks] == [1.0] * len(found.tasks)
    assert len(found.tasks) == (4 if pool == "verified" else 36)
    # A record's page checks alone cannot tell that nothing was done to what is not looked at.
    blind = "original-900006: doing nothing scores 1 although work is wanted"
    assert found.problems == (() if pool == "verified" else (blind,))


@pytest.mark.slow
def test_all_verified_records_are_fit_to_be_registered(suite: WebArenaSuite) -> None:
    found = validate(suite, SuiteSelection(suite="webarena", pool="verified"))
    assert found.problems == ()
    assert len(found.tasks) == 36


@pytest.mark.parametrize(
    ("name", "button", "route"),
    [(POST, "Create submission", "submit"), (ORDER, "Place Order", "place_order")],
)
def test_a_form_sent_twice_is_one_effect_twice_and_the_official_rule_is_blind(
    suite: WebArenaSuite, world: SitesWorld, name: str, button: str, route: str
) -> None:
    done = play(suite, world, name, twice=button)
    twins = [one for one in done if any(f"/{route}#" in what for what in one.changed)]
    assert len(twins) == 2
    assert twins[0].key == twins[1].key != ""
    grade = world.grade(())
    assert (grade.official, grade.goal_met) == (1.0, False)
    assert grade.components["repeated"] == 1.0


def test_what_was_done_once_is_no_repeat_and_the_state_is_told_by_it(
    suite: WebArenaSuite, world: SitesWorld
) -> None:
    first = world.reset(POST)
    done = play(suite, world, POST)
    assert [one.changed for one in done if one.changed] == [("reddit/submit#1",)]
    grade = world.grade(())
    assert (grade.official, grade.goal_met) == (1.0, True)
    assert grade.state_digest != first
    assert world.reset(POST) == first


def test_nothing_is_called_unwanted_where_nobody_wrote_down_what_is(suite: WebArenaSuite) -> None:
    assert [one.natural_key for one in suite.sealed(POST).expected] == [OPEN]


def test_sites_are_restored_when_something_was_written(
    suite: WebArenaSuite, world: SitesWorld
) -> None:
    def comments() -> str:
        world.reset(POST)
        url = "http://forum.example/user/MarvelsGrantMan136/submissions"
        return do(world, "goto", url=url).observation.body

    before = comments()
    play(suite, world, POST)
    assert comments() == before


def test_answers_show_no_port_of_the_day(suite: WebArenaSuite, world: SitesWorld) -> None:
    for one in play(suite, world, ORDER):
        assert "127.0.0.1" not in one.observation.body
    assert "127.0.0.1" not in suite.select(_tasks(ORDER))[0].prompt


def test_a_page_is_read_back_as_the_buttons_say(suite: WebArenaSuite, world: SitesWorld) -> None:
    world.reset(POST)
    steps = suite.sealed(POST).oracle
    where = {"name": "Create submission", "on": "/submit/books"}
    pages = []
    for step in steps:
        sends = step.arguments.get("name") == "Create submission"
        if sends:
            pages += [do(world, "read_back", **where).observation.body for _ in range(2)]
        do(world, step.tool, **step.arguments)
        if sends:
            pages.append(do(world, "read_back", **where).observation.body)
    before, again, after = pages
    assert suite.landed("page_changed", before, again, {}) is Landed.ABSENT
    assert suite.landed("page_changed", before, after, {}) is Landed.COMMITTED
    aged = before.replace("Submissions", "Submissions 3 minutes ago")
    older = before.replace("Submissions", "Submissions 4 minutes ago")
    assert suite.landed("page_changed", aged, older, {}) is Landed.ABSENT


def test_a_page_that_is_not_there_tells_nothing(world: SitesWorld) -> None:
    """A shop without the page of one's own reviews."""
    world.reset(ORDER)
    seen = do(world, "read_back", name="Submit Review", on="/storm-lantern.html").observation
    assert (seen.answered, seen.domain_error) == (True, True)
    assert "HTTP 404" in seen.body


def test_the_level_of_a_click_is_its_buttons(suite: WebArenaSuite) -> None:
    assert suite.level_of("click", {"role": "button", "name": "Post"}) is SideEffect.QUERYABLE
    assert suite.level_of("click", {"role": "button", "name": "Submit"}) is SideEffect.IRREVERSIBLE
    assert suite.level_of("click", {"role": "button", "name": "Log in"}) is SideEffect.READ


def test_declining_is_told_apart(world: SitesWorld) -> None:
    world.reset(POST)
    said = {"task_type": "MUTATE", "status": "NOT_FOUND_ERROR", "retrieved_data": None}
    do(world, "stop", answer=json.dumps(said))
    grade = world.grade(())
    assert (grade.goal_met, grade.components["declined"]) == (False, 1.0)
    world.reset(ISSUE)
    do(world, "stop", answer="N/A")
    assert world.grade(()).components["declined"] == 1.0


def test_two_worlds_take_turns(suite: WebArenaSuite, world: SitesWorld) -> None:
    """In one thread the lock is the thread's own; graded worlds give it back."""
    other = suite.open()
    try:
        world.reset(POST)
        world.grade(())
        other.reset(ORDER)
        assert suite._shared.lock.acquire(blocking=False)
        suite._shared.lock.release()
    finally:
        other.close()


def _tasks(*names: str) -> SuiteSelection:
    return SuiteSelection(suite="webarena", tasks=names)


def test_what_lacks_is_named_with_image_and_size(make: Any, folder: Path, nowhere: None) -> None:
    suite = make(folder)
    with pytest.raises(BadInputError) as raised:
        suite.select(SuiteSelection(suite="webarena", pool="verified"))
    told = str(raised.value)
    assert "set GITLAB=http://HOST:8023" in told
    assert "am1n3e/webarena-verified-shopping (13.3 GB to pull, 117 GB" in told
    assert told.count("\n") == 4  # the four sites that the tasks lie on


def test_sites_that_do_not_answer_are_named(make: Any, folder: Path, there: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDDIT", "http://127.0.0.1:9")
        suite = make(folder)
    suite.select(_tasks(POST))
    with pytest.raises(InfrastructureError, match=r"do not answer:\n  reddit: http://127.0.0.1:9"):
        suite.open()


def test_a_site_that_nothing_restores_is_refused_unless_it_is_only_read(
    make: Any, folder: Path, there: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WA_FULL_RESET")
        with_resets, without = make(folder), make(folder, resets=False)
    with_resets.select(_tasks(POST))
    with pytest.raises(BadInputError, match="nothing restores reddit: set WA_FULL_RESET"):
        with_resets.open()
    without.select(_tasks(POST))
    world = without.open()
    try:
        play(without, world, POST)
        with pytest.raises(BadInputError, match="nothing restores reddit between trials"):
            world.reset(POST)
    finally:
        world.close()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"driver": "lynx"}, "no driver 'lynx'; there are: http, chromium"),
        ({"sites": ["ebay"]}, "no site 'ebay'; there are: shopping, "),
    ],
)
def test_a_setting_that_is_none_is_named(make: Any, settings: Any, why: str) -> None:
    with pytest.raises(BadInputError, match=why):
        make(None, **settings)


@pytest.mark.parametrize(
    ("selection", "why"),
    [
        ({"pool": "hard"}, "no pool 'hard'; there are: base, words, original"),
        ({"tasks": ("12",)}, "no task '12': they are named like original-12"),
        ({"tasks": ("verified-1",)}, r"no task 'verified-1' among 36 \(such as 900001"),
        ({}, "either a `pool` or `tasks`"),
    ],
)
def test_a_selection_that_is_none_is_named(suite: WebArenaSuite, selection: Any, why: str) -> None:
    with pytest.raises(BadInputError, match=why):
        suite.select(SuiteSelection(suite="webarena", **selection))


def test_the_pin_says_what_was_read_and_what_left_out(suite: WebArenaSuite) -> None:
    pin = suite.pin(SuiteSelection(suite="webarena", pool="reddit"))
    assert len(pin.tasks) == 9
    assert pin.version.endswith(", driver http")
    assert "left out: on shopping" in pin.domains
    assert {"solutions", "accepted"} <= set(pin.domains)


def test_its_diagnosis_names_records_sites_and_sizes(
    nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HFR_BENCH_WEBARENA_PYTHON", raising=False)
    bare = WebArenaSuite.diagnose()
    assert bare.ok is False
    assert "libwebarena 0.0.5, which is not installed here" in bare.found
    assert "without gitlab: set GITLAB=http://HOST:8023" in bare.found
    assert "pip install --no-deps libwebarena==0.0.5" in bare.advice
    monkeypatch.setenv("MAP", "a house")
    assert "the URL of map must begin with http" in WebArenaSuite.diagnose().found


def test_its_diagnosis_where_all_is_here(
    python: str, sites: Any, nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HFR_BENCH_WEBARENA_PYTHON", python)
    for name, url in {**sites, "MAP": "http://h:1", "WIKIPEDIA": "http://h:2"}.items():
        monkeypatch.setenv(name, url)
    found = WebArenaSuite.diagnose()
    assert found.ok is True
    assert found.found.startswith("records are here; sites named: gitlab, map")
