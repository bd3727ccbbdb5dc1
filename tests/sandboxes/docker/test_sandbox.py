"""The container sandbox: what every sandbox must do, names and labels, and that nothing is left."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from docker import APIClient

from hfr_bench.errors import BadInputError
from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import HostDiedError, ImageSpec, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.testing.conformance import check_sandbox
from hfr_bench.testing.hosts import echo_command

docker = pytest.mark.docker
QUICK_S = 8.0


@docker
@pytest.mark.parametrize("warm", [0, 1])
def test_it_does_what_every_sandbox_must(make: Any, echo: Any, warm: int) -> None:
    sandbox = make(warm=warm)
    assert (sandbox.name, sandbox.contained, sandbox.image_id) == ("docker", True, None)
    check_sandbox(sandbox, echo())
    assert sandbox.image_id.startswith("sha256:")


@docker
def test_a_trial_waits_for_nothing_beyond_its_work(sandbox: Any, echo: Any) -> None:
    """The quickest of a few: other work on the machine only adds to it.

    What it costs is measured by `make bench`; an engine that is asked to stop what it could kill
    takes ten seconds.
    """
    sandbox.start(echo()).close()  # once: the image is made
    took_s = []
    while len(took_s) < 3 and min(took_s, default=QUICK_S) >= QUICK_S:
        began = time.monotonic()
        host = sandbox.start(echo())
        host.request("echo", {"text": "x"}, 30)
        host.close()
        took_s.append(time.monotonic() - began)
    assert min(took_s) < QUICK_S


@docker
def test_containers_are_named_and_labelled(
    sandbox: Any, echo: Any, engine: APIClient, run: str
) -> None:
    hosts = [sandbox.start(echo(trial=trial)) for trial in ("t1", "t1", "")]
    found = engine.containers(filters={"label": f"hfr.run={run}"})
    names = [item["Names"][0] for item in found]
    assert len(set(names)) == 3
    assert all(name.startswith(f"/hfr-{run}-") for name in names)
    assert sorted(item["Labels"]["hfr.trial"] for item in found) == ["pool", "t1", "t1"]
    assert {item["Labels"]["hfr.owner"] for item in found} == {this_process()}
    assert {item["Id"] for item in found} == {host.container for host in hosts}


@docker
def test_closing_one_sandbox_leaves_another_of_the_same_run_alone(
    make: Any, echo: Any, left: Callable[..., list[str]]
) -> None:
    one, other = make(), make()
    hosts = [sandbox.start(echo(network="n")) for sandbox in (one, other)]
    one.close()
    assert len(left()) == 2  # a container and its network
    assert hosts[1].request("echo", {"text": "x"}, 30)["said"] == "x"
    with pytest.raises(HostDiedError):
        hosts[0].request("echo", {"text": "x"}, 30)


@docker
def test_closing_ends_what_is_just_being_started(
    make: Any, echo: Any, left: Callable[..., list[str]]
) -> None:
    sandbox = make(warm=2)
    sandbox.start(echo()).close()
    errors: list[BaseException] = []

    def start_and_start() -> None:
        try:
            while True:
                sandbox.start(echo())
        except HostDiedError as error:
            errors.append(error)

    threads = [threading.Thread(target=start_and_start) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    began = time.monotonic()
    sandbox.close()
    assert left() == []
    assert time.monotonic() - began < 30
    for thread in threads:
        thread.join(60)
    assert len(errors) == 3
    assert left() == []


@docker
def test_volumes_that_an_image_declares_are_removed(
    make: Any, probe: Any, do: Any, engine: APIClient
) -> None:
    sandbox = make()
    image = ImageSpec(role="test-volume", dockerfile="FROM base\nVOLUME /data\n")

    def volume() -> tuple[Any, str]:
        host = sandbox.start(probe(image=image))
        mounts = engine.inspect_container(host.container)["Mounts"]
        return host, next(mount["Name"] for mount in mounts if mount["Destination"] == "/data")

    closed, ended = volume(), volume()
    closed[0].close()
    with pytest.raises(HostDiedError):
        do(ended[0], "os._exit(3)")  # it goes by itself
    sandbox.close()
    names = {item["Name"] for item in engine.volumes()["Volumes"] or ()}
    assert not names & {closed[1], ended[1]}


@docker
def test_a_program_that_is_not_in_the_image_is_said(sandbox: Any, echo: Any) -> None:
    host = sandbox.start(echo_command(python="/no/such/program", image=echo().image))
    with pytest.raises(HostDiedError, match=r"exit code 127.*\n.*/no/such/program"):
        host.request("echo", {"text": "x"}, 30)


@docker
def test_what_an_image_would_start_itself_is_not_started(
    sandbox: Any, echo: Any, engine: APIClient
) -> None:
    text = 'FROM base\nENTRYPOINT ["false"]\nHEALTHCHECK CMD false\nUSER root\nWORKDIR /var\n'
    host = sandbox.start(echo(image=ImageSpec(role="test-entry", dockerfile=text)))
    assert host.request("echo", {"text": "x"}, 30)["said"] == "x"
    assert "Health" not in engine.inspect_container(host.container)["State"]


@docker
def test_what_the_engine_refuses_is_said(make: Any, echo: Any) -> None:
    with pytest.raises(HostDiedError, match=r"cannot start the tool host python3: .*CPUs"):
        make(cpus=100_000).start(echo())


@docker
def test_an_image_that_somebody_removed_is_made_again(
    sandbox: Any, echo: Any, engine: APIClient
) -> None:
    image = ImageSpec(role="test-removed", dockerfile="FROM base\nENV A=1\n")
    sandbox.start(echo(image=image)).close()
    engine.remove_image(sandbox.image_id, force=True)
    with pytest.raises(HostDiedError, match="No such image"):
        sandbox.start(echo(image=image))
    assert sandbox.start(echo(image=image)).request("echo", {"text": "x"}, 30)["said"] == "x"


def test_a_command_without_an_image_is_refused() -> None:
    sandbox = DockerSandbox(SandboxContext(run="r", owner="o"))
    with pytest.raises(BadInputError, match="has no image to run in; use --sandbox process"):
        sandbox.start(echo_command())
    sandbox.close()  # without ever having asked an engine


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"memory": 1}, "memory: unknown key"),
        ({"warm": -1}, "warm: Input should be greater than or equal to 0"),
        ({"pids": "many"}, "pids: Input should be a valid integer"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInputError, match=f"sandbox docker: {what}"):
        DockerSandbox(SandboxContext(run="r", owner="o"), **settings)
