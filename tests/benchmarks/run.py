"""`make bench`: measure beside the named peer in one run and rewrite docs/performance.md.

CPU seconds and ratios, medians of interleaved rounds: the machine may be shared. Nothing is
asserted here; the aims stand in the table.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPO = HERE.parents[1]
PEER = REPO / ".hosts" / "inspect" / "bin" / "python"
PAGE = REPO / "docs" / "performance.md"
ROUNDS, TRIALS, CALLS, STARTS = 5, 200, 300, 5
PROXIES = (
    ("ms of a call (p50) by a gateway of its own", "gateway_p50", "direct_p50", "≤ 5 times"),
    ("ms that it adds; beside: aiohttp pass-through", "gateway_added", "relay_added", "≤ 0.3"),
    ("ms that it adds; beside: mitmproxy", "gateway_added", "mitmproxy_added", "≤ 0.3"),
    ("ms that it adds; beside: litellm proxy", "gateway_added", "litellm_added", "≤ 0.3"),
    ("the same to the first streamed byte; mitmproxy", "gateway_first", "mitmproxy_first", "≤ 0.3"),
    ("calls a second on 16 connections; mitmproxy", "gateway_per_s", "mitmproxy_per_s", "≥ 4,000"),
)
"""Rows of the gateway as a process of its own: what, ours, beside, aim."""


def child_cpu_s(argv: list[str]) -> float:
    """CPU seconds that a command and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def told(python: Path | str, script: str, *arguments: int) -> dict[str, Any]:
    """Run a script of this folder and read the JSON it prints."""
    argv = [str(python), str(HERE / script), *map(str, arguments)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure() -> dict[str, float | None]:
    """Interleaved rounds; medians."""
    rounds: list[dict[str, Any]] = []
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
        ours = told(sys.executable, "ours.py", TRIALS)
        peer = told(PEER, "peer_inspect.py", TRIALS // 2) if PEER.exists() else {}
        wire = told(sys.executable, "model_call.py", CALLS)
        box = told(sys.executable, "container.py", STARTS)
        decide = told(sys.executable, "controller.py", 1000)
        ledger = told(sys.executable, "ledger.py", 300)
        rounds.append(
            {
                "trial": ours["cpu_ms_per_trial"],
                "peer_trial": peer.get("cpu_ms_per_trial"),
                "start": ours["start_cpu_s"],
                "peer_start": peer.get("start_cpu_s"),
                "help": child_cpu_s([sys.executable, "-m", "hfr_bench", "--help"]),
                "decide": decide["us_per_task"],
                "loop": decide["loop_ns"],
                "sqlite": ledger["sqlite_us"]["best"],
                **wire,
                **{name: box.get(name) for name in ("cold_s", "warm_s", "raw_s")},
            }
        )
    large = at_large() | demo()
    print("the gateway beside other proxies", file=sys.stderr)
    roads = told(sys.executable, "gateway.py", ROUNDS, 2000)
    return (
        wired(roads)
        | {
            name: None if rounds[0][name] is None else statistics.median(r[name] for r in rounds)
            for name in rounds[0]
        }
        | large
    )


def at_large() -> dict[str, float | None]:
    """What is measured once: reports, resamples, lines and bundles of a size."""
    print("20,400 traces to a report; a million lines; a bundle of 10,000 trials", file=sys.stderr)
    traces = told(sys.executable, "ingest.py")
    events = told(sys.executable, "events.py")
    verified = told(sys.executable, "verify.py")
    return {
        "ingest": traces["report_without_index_cpu_s"],
        "indexed": traces["report_with_index_cpu_s"],
        "bootstrap": told(sys.executable, "bootstrap.py")["cpu_s"],
        "few": events["8_files"]["cpu_s"],
        "many": events["10000_files"]["cpu_s"],
        "scan": told(sys.executable, "scan.py")["cpu_s"],
        "verify": verified["verify_wall_s"],
        "verify_cpu": verified["verify_cpu_s"],
    }


def demo() -> dict[str, float | None]:
    """Wall seconds of verifying the demo's two bundles, medians of ROUNDS."""
    print("the demo's bundles", file=sys.stderr)
    program = [sys.executable, "-m", "hfr_bench"]
    with tempfile.TemporaryDirectory(prefix="hfr-bench-") as folder:
        child_cpu_s([*program, "demo", folder, "--sandbox", "process"])
        taken: dict[str, list[float]] = {"sampled": [], "every-fault": []}
        for _ in range(ROUNDS):
            for name, found in taken.items():
                began = time.monotonic()
                child_cpu_s([*program, "verify", f"{folder}/{name}.zip"])
                found.append(time.monotonic() - began)
    return {name: statistics.median(found) for name, found in taken.items()}


def wired(roads: dict[str, dict[str, float]]) -> dict[str, float | None]:
    """What the table says of each road through a proxy; None for those that are not to be had."""
    found: dict[str, float | None] = {"direct_p50": roads["direct"]["p50_ms"]}
    for name in ("gateway", "relay", "mitmproxy", "litellm"):
        of = roads.get(name, {})
        found |= {
            f"{name}_added": of.get("added_p50_ms"),
            f"{name}_first": of.get("added_first_byte_ms"),
            f"{name}_per_s": of.get("per_s_of_16"),
            f"{name}_p50": of.get("p50_ms"),
        }
    return found


def cells(found: dict[str, float | None]) -> list[tuple[str, ...]]:
    """The table's rows: what, ours, beside, ratio, aim."""

    def figure(name: str) -> str:
        value = found[name]
        return "not to be had" if value is None else f"{value:.2f}"

    def row(what: str, ours: str, other: str = "", aim: str = "") -> tuple[str, ...]:
        mine, theirs = found[ours], found.get(other)
        ratio = f"{mine / theirs:.2f}" if mine and theirs else ""
        return (what, figure(ours), figure(other) if other else "", ratio, aim)

    return [
        row("CPU ms a trial (one tool call, in-process model)", "trial", "peer_trial", "≤ 5"),
        row("CPU s to start (imports)", "start", "peer_start", "≤ 1"),
        row("CPU s of `hfr-bench --help`", "help", aim="≤ 0.3"),
        row("CPU µs of hfr's decisions in a task of 6.7 attempts", "decide", "loop", "≤ 40"),
        row("CPU µs of PREPARED + COMMITTED in SQLite", "sqlite", aim="≤ 100"),
        row("CPU ms a model call, client → server", "direct_ms"),
        row("CPU ms a model call, client → gateway → server", "gateway_ms", "direct_ms"),
        *(row(*one) for one in PROXIES),
        row("s of a container trial beyond its work, cold", "cold_s", "raw_s", "≤ 1"),
        row("s of a container trial beyond its work, warm pool", "warm_s", "raw_s", "≤ 0.2"),
        row("CPU s from 20,400 traces (30 lines each) to a report", "ingest"),
        row("CPU s of the same report again, from the index", "indexed", aim="≤ 5"),
        row("CPU s of 10,000 resamples of 600 tasks, 8 arms, 9 metrics", "bootstrap", aim="≤ 1"),
        row("CPU s of a million trace lines into the store, from 8 files", "few", aim="≤ 7"),
        row("CPU s of the same from 10,000 files", "many", aim="≤ 19"),
        row("CPU s of 790 MB scanned for secrets", "scan", aim="≤ 100"),
        row("s of `verify` of 10,000 trials, a million events (wall)", "verify", aim="≤ 60"),
        row("CPU s of the same, in two processes", "verify_cpu"),
        row("s of `verify` of the demo's 1,224 sampled trials (wall)", "sampled", aim="≤ 3"),
        row("s of `verify` of its 531 trials of every fault (wall)", "every-fault", aim="≤ 3"),
    ]


def page(found: dict[str, float | None]) -> str:
    """The Markdown page."""
    table = "\n".join("| " + " | ".join(row) + " |" for row in cells(found))
    return f"""\
# Performance

Rewritten by `make bench`; not asserted by any test. CPU time of the whole process, medians of
{ROUNDS} interleaved rounds of {TRIALS} trials (the eight rows before the last two: once), on a
machine that others may use as well: trust the ratios before the figures.
Python {platform.python_version()}, {os.cpu_count()} cores.

| what | ours | beside | ratio | aim |
|---|---|---|---|---|
{table}

*Beside*: Inspect 0.3.285 with its mock model and one tool call a sample (first two rows), in the
same run; 1,000 turns of an empty loop, which take 15 µs where nobody else works; the call without
the gateway; for the gateway as a process of its own (wall time, one run in which all roads take
turns) the proxy that is named, none of which injects or records anything; for containers (wall
time, a host that does nothing) what
the engine itself takes for run, one exec and `rm -f`, through the same API. A trial of ours is the
whole one: guard, onion, fault cursor, hash-chained trace file synced at start and end, checker.
"""


if __name__ == "__main__":
    PAGE.write_text(page(measure()), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))
