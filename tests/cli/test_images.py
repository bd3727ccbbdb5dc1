"""`hfr-bench images`: which image each suite runs in, built if missing."""

import json

import docker
import pytest

from hfr_bench import plugins
from hfr_bench.cli.main import run


@pytest.mark.docker
def test_images_tells_the_image_of_every_suite(
    engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["images", "--json", "--sandbox", "docker"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["suite"] for row in told] == list(plugins.offered("suites"))
    for row in told:
        labels = engine.inspect_image(row["image_id"])["Config"]["Labels"]
        assert (row["sandbox"], labels["hfr.image"]) == ("docker", row["suite"])


def test_an_unknown_suite_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["images", "nothing", "--sandbox", "process"]) == 2
    assert "unknown suite 'nothing'; there are: shopdesk, swe_mini, tau2" in capsys.readouterr().err
