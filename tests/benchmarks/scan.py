"""Scans 790 MB of traces for secrets and names: `python tests/benchmarks/scan.py`.

Lines of real layout, written into memory file by file (`--mb`), scanned with all formats, ten
secrets of the environment in all their forms, paths and a host name. Prints processor seconds and
MB a second as one line of JSON; a planted key must be found. `--censor` measures redaction instead,
which also reads every line as JSON.
"""

import argparse
import json
import os
import time
from pathlib import Path

from hfr_bench.lab.redacting.policy import Censor, Texts
from hfr_bench.lab.scan import Scanner
from hfr_bench.model.record import text_digest
from hfr_bench.model.terms import Action, FaultClass
from hfr_bench.model.trace import AttemptEnded, Decided, TraceEvent
from hfr_bench.testing.results import sent

LINES = 90  # a trace


def trace(number: int) -> bytes:
    """A trace of usual lines, no two alike."""
    lines = []
    for seq in range(LINES):
        mark = text_digest(f"{number}.{seq}")
        bodies = (
            sent(operation_id=f"{mark[:16]}.{seq}", intent_id=mark[:16], key=mark),
            AttemptEnded(answered=True, status=200, response_digest=mark, cost_microusd=1830),
            Decided(
                on="Attempted",
                action=Action.RETRY,
                reason="no answer in time",
                fault_class=FaultClass.TRANSIENT,
                evidence="HTTP 503: service unavailable, retry-after 30",
            ),
        )
        body = bodies[seq % len(bodies)]
        event = TraceEvent(trial_id=mark[:16], seq=seq, t_us=seq, prev=mark, body=body)
        lines.append(event.dumps())
    return "".join(f"{line}\n" for line in lines).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=790)
    parser.add_argument("--censor", action="store_true")
    asked = parser.parse_args()
    environ = {f"SECRET_{n}_KEY": f"hunter/{n}+{text_digest(str(n))[:30]}" for n in range(10)}
    scanner = Scanner(environ, [Path("/home/somebody/experiments")], host="somebodys-laptop")
    planted = f'{{"reason":"{environ["SECRET_3_KEY"]}"}}\n'.encode()
    made = [trace(number) for number in range(50)]
    assert list(scanner.scan("f", made[0] + planted))
    done, files, began = 0, 0, time.process_time()
    censor = Censor(environ, b"k" * 32)
    while done < asked.mb * 1_000_000:
        data = made[files % len(made)]
        if asked.censor:
            for line in data.splitlines():
                censor.body(json.loads(line)["body"], Texts.REDACTED)
        else:
            assert not list(scanner.scan(f"trials/{files}/r1/hfr.jsonl", data))
        done, files = done + len(data), files + 1
    took = time.process_time() - began
    told = {"mb": done // 1_000_000, "files": files, "cpu_s": round(took, 1)}
    print(json.dumps(told | {"mb_per_s": round(done / 1e6 / took), "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
