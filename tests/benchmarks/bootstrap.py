"""The paired bootstrap beside `arch` on the same work: CPU seconds, memory, the same digits.

    python tests/benchmarks/bootstrap.py [PYTHON_WITH_ARCH]

600 tasks x 3 seeds x 8 arms x 9 metrics, 10,000 resamples of tasks: 72 intervals and 63 paired
differences. Each measurement is a process of its own, interleaved with the others; arch runs in an
environment of its own (`peer_arch.py`; by default `.hosts/arch`), or is said not to be had. Prints
one line of JSON: the best and the median of the rounds, the largest resident size, and whether 1
thread and 8 threads gave the same digits.
"""

import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hfr_bench.stats.bootstrap import Sample, draw, percentile, resample
from hfr_bench.stats.metrics import METRICS

HERE = Path(__file__).parent
PEER = HERE.parents[1] / ".hosts" / "arch" / "bin" / "python"
TASKS, SEEDS, ARMS, RESAMPLES, ROUNDS = 600, 3, 8, 10_000, 3
NAMES = ("sr", "csr", "scr", "dup_1000", "cps", "ra", "esc", "p95", "p95_auto")


def columns() -> dict[str, np.ndarray]:
    """Synthetic trials: num and den of every metric, shape (metrics, arms, tasks * seeds)."""
    rng = np.random.default_rng(20261130)
    n = TASKS * SEEDS
    hard = np.repeat(rng.normal(0, 1.2, TASKS), SEEDS)
    skill = np.linspace(0.2, 1.6, ARMS)[:, None]
    won = rng.random((ARMS, n)) < 1 / (1 + np.exp(hard - skill))
    gave_up = ~won & (rng.random((ARMS, n)) < 0.5)
    twice = rng.random((ARMS, n)) < np.array([0, 0, 0, 0.002, 0.005, 0.01, 0.02, 0.05])[:, None]
    steps = rng.integers(4, 12, (ARMS, n))
    attempts = steps + rng.poisson(1.5, (ARMS, n))
    cost = attempts * rng.integers(800, 1200, (ARMS, n)) + gave_up * 20_000
    late = (rng.lognormal(3, 0.7, (ARMS, n)) * 1e6).astype(np.int64)
    one = np.ones((ARMS, n), dtype=np.int64)
    num = [won, won & ~twice, (won | gave_up) & ~twice, twice, cost, attempts, gave_up, late, late]
    den = [one, one, one, one, won, steps, one, one, ~gave_up]
    return {"num": np.array(num, dtype=np.int64), "den": np.array(den, dtype=np.int64)}


def ours(threads: int) -> dict[str, Any]:
    """One measurement of ours, in this process; BLAS was told how many threads it has."""
    made = columns()
    task = np.repeat(np.arange(TASKS), SEEDS)
    samples = [
        Sample(METRICS[name], task, made["num"][m, arm], made["den"][m, arm])
        for arm in range(ARMS)
        for m, name in enumerate(NAMES)
    ]
    before, began = _resident(), _cpu_s()
    counts = draw([("s", f"t{i:04d}") for i in range(TASKS)], RESAMPLES, "0" * 64)
    found = resample(samples, counts)
    width = len(NAMES)
    bounds = [percentile(one, 0.95)[0] for one in found]
    bounds += [percentile(one - found[n % width], 0.95)[0] for n, one in enumerate(found)][width:]
    took = _cpu_s() - began
    text = json.dumps(bounds)
    return {
        "cpu_s": round(took, 3),
        "peak_mb": round(_resident()),
        "before_mb": round(before),
        "threads": threads,
        "digest": hashlib.sha256(text.encode()).hexdigest()[:16],
        "bounds": bounds[:width],
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _resident() -> float:
    """The largest resident size of this process so far, in MB.

    Where the kernel tells it of the program alone: `ru_maxrss` begins with that of the parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        told = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(told["VmHWM"].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _child(python: Path | str, script: str, argument: str, threads: int) -> dict[str, Any]:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    limited = os.environ | dict.fromkeys(names, str(threads))
    argv = [str(python), str(HERE / script), argument]
    done = subprocess.run(argv, env=limited, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1].startswith("--ours="):
        print(json.dumps(ours(int(sys.argv[1].removeprefix("--ours=")))))
        return
    peer = Path(sys.argv[1]) if len(sys.argv) > 1 else PEER
    mine, wide, theirs = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "columns.npz"
        np.savez(data, **columns())
        for number in range(ROUNDS):
            print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
            mine.append(_child(sys.executable, "bootstrap.py", "--ours=1", 1))
            if peer.exists():
                theirs.append(_child(peer, "peer_arch.py", str(data), 1))
        wide.append(_child(sys.executable, "bootstrap.py", "--ours=8", 8))
    told: dict[str, Any] = _summed("", mine) | {
        "peak_mb": max(one["peak_mb"] for one in mine),
        "imports_mb": mine[0]["before_mb"],
        "threads_1_and_8_agree": len({one["digest"] for one in mine + wide}) == 1,
    }
    if theirs:
        told |= _summed("arch_", theirs)
        told["arch_peak_mb"] = max(one["peak_mb"] for one in theirs)
        told["ratio"] = round(told["cpu_s"] / told["arch_cpu_s"], 3)
        told["largest_gap"] = _gap(mine[0]["bounds"], theirs[0]["bounds"])
    else:
        told["arch"] = "not to be had"
    print(json.dumps(told))


def _summed(prefix: str, rounds: list[dict[str, Any]]) -> dict[str, float]:
    took = [one["cpu_s"] for one in rounds]
    return {
        f"{prefix}cpu_s": round(min(took), 3),
        f"{prefix}median_cpu_s": round(statistics.median(took), 3),
    }


def _gap(mine: list[list[float]], theirs: list[list[float]]) -> float:
    """How far two sets of bounds of the first arm are apart, in shares of an interval's width."""
    gaps = [
        max(abs(a - c), abs(b - d)) / (d - c)
        for (a, b), (c, d) in zip(mine, theirs, strict=True)
        if None not in (a, b) and d > c
    ]
    return round(max(gaps), 3)


if __name__ == "__main__":
    main()
