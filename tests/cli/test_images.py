"""`hfr-bench images`: which image each suite runs in, built if missing."""

import json

import docker
import pytest

from hfr_bench.cli.main import run


@pytest.mark.docker
def test_images_tells_the_image_of_every_suite(
    engine: docker.APIClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["images", "--json", "--sandbox", "docker"]) == 0
    (tau2,) = json.loads(capsys.readouterr().out)
    assert (tau2["suite"], tau2["sandbox"]) == ("tau2", "docker")
    assert engine.inspect_image(tau2["image_id"])["Config"]["Labels"]["hfr.image"] == "tau2"


def test_an_unknown_suite_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["images", "nothing", "--sandbox", "process"]) == 2
    assert "unknown suite 'nothing'; there are: tau2" in capsys.readouterr().err
