"""What swe_mini costs in containers: grading a task, a trial's container, and what trials leave.

    python tests/benchmarks/swe_mini.py [TRIALS]     (default 100)

Prints JSON. `grade`: over the twelve tasks, the fix graded once each in a fresh container: wall
seconds, and CPU seconds of the container and of this process. `trial`: what a container costs a
trial beyond its work, cold and from the warm pool: a host, the task's repository, the end.
`left`: after so many trials (each a container of its own, with volumes that outlive a restart;
every tenth one is started anew), what still bears the run's label, and the images that came to be.
"""

import json
import secrets
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from docker import APIClient

from hfr_bench.owner import this_process
from hfr_bench.ports.sandbox import Restart, SandboxContext
from hfr_bench.sandboxes.docker import DockerSandbox
from hfr_bench.sandboxes.docker.engine import Engine
from hfr_bench.suites.swe_bench.grading import Grader
from hfr_bench.suites.swe_bench.mini import catalog
from hfr_bench.suites.swe_bench.mini.catalog import MiniTask
from hfr_bench.suites.swe_bench.mini.repository import MiniRoom

EVAL_S = 60.0
REFILL_S = 2.0  # the pool is filled behind a trial, as it is behind real work
ROUNDS, EVERY = 8, 10


class Measured(MiniRoom):
    """A room that tells what its container has used before it goes."""

    def __init__(
        self, sandbox: DockerSandbox, client: APIClient, told: list[tuple[float, float]]
    ) -> None:
        """`told`: CPU seconds, and the wall seconds that asking for them took."""
        super().__init__(sandbox)
        self._client, self._told = client, told

    def close(self) -> None:
        host: Any = self.host
        began = time.monotonic()
        used = self._client.stats(host.container, stream=False, one_shot=True)
        cpu_s = used["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
        self._told.append((cpu_s, time.monotonic() - began))
        super().close()


def graded(sandbox: DockerSandbox, client: APIClient) -> dict[str, float]:
    """Grade every task's own fix once."""
    told: list[tuple[float, float]] = []
    wall: list[float] = []

    def fresh(task: MiniTask) -> Measured:
        room = Measured(sandbox, client, told)
        room.make(task)
        return room

    grader = Grader(fresh, lambda _task: "bench", EVAL_S)
    began_cpu = time.process_time()
    for task in catalog.tasks().values():
        began = time.monotonic()
        assert grader.grade(task, task.instance.gold.patch).resolved
        wall.append(time.monotonic() - began - told[-1][1])
    own = (time.process_time() - began_cpu) / len(wall)
    return {
        "wall_s": round(statistics.median(wall), 3),
        "wall_max_s": round(max(wall), 3),
        "container_cpu_s": round(statistics.median(cpu_s for cpu_s, _ in told), 3),
        "own_cpu_s": round(own, 3),
    }


def trial(sandbox: DockerSandbox, *, anew: bool = False) -> None:
    """What is there around a trial's work."""
    task = next(iter(catalog.tasks().values()))
    room = MiniRoom(sandbox, persists=True)
    room.make(task)
    if anew:
        host: Any = room.host
        host.inflict(Restart())
        host.heal()
        room.state()
    room.close()


def around(warm: int) -> float:
    """Median wall seconds of it, in a sandbox of its own, after the first."""
    sandbox = DockerSandbox(SandboxContext("bench", this_process()), warm=warm)
    try:
        trial(sandbox)
        took = []
        for _ in range(ROUNDS):
            time.sleep(REFILL_S if warm else 0)
            took.append(timed(lambda: trial(sandbox)))
        return round(statistics.median(took), 3)
    finally:
        sandbox.close()


def timed(act: Callable[[], object]) -> float:
    """Wall seconds."""
    began = time.monotonic()
    act()
    return time.monotonic() - began


def left(client: APIClient, count: int) -> dict[str, object]:
    """What is there of a run after so many trials, and which images are new."""
    run = f"bench{secrets.token_hex(4)}"
    filters = {"label": f"hfr.run={run}"}
    images = {image["Id"] for image in client.images()}
    sandbox = DockerSandbox(SandboxContext(run, this_process()), warm=1)
    try:
        for number in range(count):
            trial(sandbox, anew=number % EVERY == EVERY - 1)
    finally:
        sandbox.close()
    return {
        "trials": count,
        "containers": len(client.containers(all=True, filters=filters)),
        "networks": len(client.networks(filters=filters)),
        "volumes": len(client.volumes(filters=filters)["Volumes"] or ()),
        "new_images": len({image["Id"] for image in client.images()} - images),
    }


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if sys.argv[1:] else 100
    engine = Engine()
    sandbox = DockerSandbox(SandboxContext("bench", this_process()))
    try:
        MiniRoom(sandbox).close()  # the image is there from now on
        with engine.client() as client:
            found = {"grade": graded(sandbox, client)}
            found |= {"trial": {"cold_s": around(0), "warm_s": around(1)}}
            print(json.dumps(found | {"left": left(client, count)}, indent=2))
    finally:
        sandbox.close()
        engine.close()


if __name__ == "__main__":
    main()
