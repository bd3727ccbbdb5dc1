"""`hfr-bench images`: which image each suite runs in, built if missing."""

import json

import docker
import pytest

from hfr_bench import plugins
from hfr_bench.cli.main import run

LARGE = ("swe_mini", "swe_bench", "os_interaction")
"""On a base of its own, with packages of Debian: minutes, where it is not there yet. Of swe_bench
each task has an image of its own."""
OTHERS = ("swe_bench", "dbbench", "os_interaction", "osworld", "webarena")
"""Tasks of other people, of which none are here: what is told of them is no image."""


@pytest.mark.docker
def test_images_tells_the_image_of_a_suite(
    engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [suite for suite in plugins.offered("suites") if suite not in (*LARGE, *OTHERS)]
    assert run(["images", *small, "--json", "--sandbox", "docker"]) == 0
    assert_told(small, engine, capsys)


@pytest.mark.docker
@pytest.mark.slow
def test_images_tells_the_image_of_every_suite(
    engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["images", "--json", "--sandbox", "docker"]) == 0
    every = [suite for suite in plugins.offered("suites") if suite not in OTHERS]
    assert_told(every, engine, capsys)


def assert_told(
    suites: list[str], engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    told = json.loads(capsys.readouterr().out)
    assert [row["suite"] for row in told] == suites
    for row in told:
        labels = engine.inspect_image(row["image_id"])["Config"]["Labels"]
        assert (row["sandbox"], labels["hfr.image"]) == ("docker", row["suite"])


def test_an_unknown_suite_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["images", "nothing", "--sandbox", "process"]) == 2
    offered = "db_mini, dbbench, desk_mini, os_interaction, os_mini, osworld, shopdesk, swe_bench"
    assert f"unknown suite 'nothing'; there are: {offered}" in capsys.readouterr().err


def test_tasks_with_images_of_their_own_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["images", "swe_bench", "--sandbox", "process"]) == 2
    assert "each task of suite swe_bench has an image of its own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "said"),
    [("x", "say KEY=VALUE"), ("x={", "is no YAML value"), ("x=1", "no setting 'x'; there are:")],
)
def test_a_setting_that_is_none_is_bad_input(
    setting: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["images", "swe_bench", "--set", setting, "--sandbox", "process"]) == 2
    assert said in capsys.readouterr().err
