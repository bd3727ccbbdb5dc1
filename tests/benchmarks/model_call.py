"""CPU of one model call over real HTTP: client -> gateway -> rehearsal server, and without gateway.

Prints {"direct_ms", "gateway_ms"} as JSON. Everything runs in this process, so its CPU is all
there is.
"""

import json
import resource
import sys

from hfr_bench.faults.cursor import Cursor
from hfr_bench.injectors.gateway import GatewayInjector
from hfr_bench.llms.rehearsal import Rehearsal
from hfr_bench.model.attempt import Call
from hfr_bench.model.task import OracleStep, SealedTask
from hfr_bench.model.terms import Channel, Layer
from hfr_bench.ports.calls import CallPort
from hfr_bench.ports.injector import Scene
from hfr_bench.ports.llm import ModelScope
from hfr_bench.testing.fakes import FakeClock

SEALED = SealedTask(
    task_id="bench/1", suite="bench", oracle=(OracleStep(actor="agent", tool="look"),)
)
MESSAGES = [{"role": "system", "content": "policy " * 3000}, {"role": "user", "content": "hello"}]


def cpu_s() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def per_call_ms(port: CallPort, calls: int) -> float:
    """Mean CPU milliseconds of a call."""
    before = 0.0
    for n in range(-20, calls):
        if n == 0:
            before = cpu_s()
        call = Call(
            step=1,
            point="model:agent",
            occurrence=n + 21,
            attempt=1,
            channel=Channel.MODEL,
            target="rehearsal-primary",
            timeout_us=60_000_000,
            payload={"messages": MESSAGES},
        )
        seen = port.attempt(call)
        assert seen.answered, seen
    return 1000 * (cpu_s() - before) / calls


def main(calls: int) -> None:
    """Measure both roads in turn and print them."""
    backend, gateway, clock = Rehearsal(), GatewayInjector(), FakeClock()
    upstream = backend.start([SEALED])
    gateway.start(upstream)
    try:
        scope = ModelScope("bench", "bench/1", 1, clock, lambda: 0)
        labels = {"suite": "bench", "task": "bench/1", "seed": "1"}
        scene = Scene("bench", Cursor((), (Layer.MODEL,)), {}, clock, lambda _: None, labels)
        base_url = gateway.enter(scene)
        direct = per_call_ms(backend.client(upstream, scope), calls)
        through = per_call_ms(backend.client(base_url, scope), calls)
        gateway.leave("bench")
    finally:
        gateway.stop()
        backend.stop()
    print(json.dumps({"direct_ms": direct, "gateway_ms": through}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
