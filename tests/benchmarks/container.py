"""A container trial beyond its work: a host that does nothing, cold and from the warm pool.

Beside it the engine's own price for the same: docker run, one exec, rm -f, through the very same
API. Prints medians of wall seconds as JSON; nothing where no engine is reachable.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import (
    HostCommand,
    ImageSpec,
    SandboxContext,
    SandboxUnavailableError,
)
from hfr_bench.sandboxes.docker import DockerSandbox, images
from hfr_bench.sandboxes.docker.engine import Engine
from hfr_bench.testing.hosts import ECHO_HOST

NOTHING = ImageSpec("bench", "FROM base\n")
COMMAND = HostCommand(("python3", "-I", "-S", "-c", ECHO_HOST), image=NOTHING)


def median_s(act: Callable[[], object], count: int) -> float:
    """Median wall time of an action."""
    took = []
    for _ in range(count):
        began = time.monotonic()
        act()
        took.append(time.monotonic() - began)
    return statistics.median(took)


def trial(sandbox: DockerSandbox) -> None:
    """What a container trial is beyond its work: start, one request, end."""
    host = sandbox.start(COMMAND)
    host.request("echo", {"text": "x"}, 30)
    host.close()


def ours(count: int, warm: int) -> float:
    """Median of a trial in a sandbox of its own, after the first one."""
    sandbox = DockerSandbox(SandboxContext("bench", this_process()), warm=warm)
    try:
        trial(sandbox)
        if warm:
            time.sleep(1.5)  # the pool is filled behind the first trial, as it is behind real work
        return median_s(lambda: (trial(sandbox), time.sleep(0.5 if warm else 0)), count) - (
            0.5 if warm else 0
        )
    finally:
        sandbox.close()


def raw(count: int) -> float:
    """Median of run, exec, rm -f."""
    engine = Engine()
    with engine.client() as client:
        image = images.ensure(client, NOTHING, lambda _: None)

        def once() -> None:
            made = client.create_container(
                image,
                ["sleep", "60"],
                labels={"hfr.run": "bench", "hfr.owner": this_process()},
                host_config=client.create_host_config(init=True, network_mode="none"),
            )
            client.start(made["Id"])
            ran = client.exec_create(made["Id"], ["true"])
            client.exec_start(ran["Id"])
            client.remove_container(made["Id"], force=True, v=True)

        return median_s(once, count)


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1])
    try:
        found = {"cold_s": ours(count, 0), "warm_s": ours(count, 2), "raw_s": raw(count)}
    except SandboxUnavailableError as error:
        print(error, file=sys.stderr)
        found = {}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
