"""The peer of bootstrap.py: arch's IIDBootstrap over tasks, vectorised as its users would.

Runs in an environment of its own that has arch and numpy, and nothing of ours. Reads the columns
that bootstrap.py wrote, resamples tasks with all their seeds and arms, and prints like it.
"""

import json
import resource
import sys

import numpy as np
from arch.bootstrap import IIDBootstrap

SEEDS, RESAMPLES, SUMS = 3, 10_000, 7
SCALE = np.array([1, 1, 1, 1000, 1, 1, 1])[:, None]


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """One measurement; the last two metrics are 95th percentiles, the others sums over sums."""
    made = np.load(sys.argv[1])
    num, den = made["num"], made["den"]
    metrics, arms, trials = num.shape
    shape = (metrics, arms, trials // SEEDS, SEEDS)
    by_task = [
        np.moveaxis(part[:SUMS].reshape(SUMS, *shape[1:]).sum(-1), 2, 0) for part in (num, den)
    ]
    late = np.where(den[SUMS:] > 0, num[SUMS:], np.nan).astype(np.float64)
    late = np.moveaxis(late.reshape(metrics - SUMS, *shape[1:]), 2, 0)  # task first: it is drawn

    def statistic(top: np.ndarray, bottom: np.ndarray, latency: np.ndarray) -> np.ndarray:
        ratios = SCALE * top.sum(axis=0) / bottom.sum(axis=0)
        seen = np.moveaxis(latency, 0, 2).reshape(*latency.shape[1:3], -1)
        every = np.quantile(seen[0], 0.95, axis=-1, method="inverted_cdf")
        alone = np.nanquantile(seen[1], 0.95, axis=-1, method="inverted_cdf")
        found = np.vstack([ratios, every, alone])
        return np.concatenate([found.ravel(), (found[:, 1:] - found[:, :1]).ravel()])

    began = _cpu_s()
    resampler = IIDBootstrap(*by_task, late, seed=np.random.default_rng(1))
    low, high = resampler.conf_int(statistic, RESAMPLES, method="percentile", size=0.95)
    took = _cpu_s() - began
    first = [(low[m * arms], high[m * arms]) for m in range(metrics)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_s": round(took, 3), "peak_mb": round(peak), "bounds": first}))


if __name__ == "__main__":
    main()
