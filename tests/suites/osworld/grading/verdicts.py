"""What a metric makes of a case, in one word or number, and what upstream made of it.

`python verdicts.py PYTHON [--anew]` adds to verdicts.json what upstream's metrics in that Python
say of cases that are not in it, or of all.
"""

import json
import sys
import tempfile
from pathlib import Path

from corpus import Case, cases

from hfr_bench.suites.osworld.metrics import METRICS
from hfr_bench.suites.osworld.upstream import UpstreamMetricError, UpstreamMetrics

FILE = Path(__file__).parent / "verdicts.json"
RAISES = "raises"
DIGITS = 6


def ours(case: Case):
    """Our metric's verdict: a score, or `raises`."""
    given = [case.result] if case.expected is None else [case.result, case.expected]
    try:
        return round(float(METRICS[case.metric].judge(*given, **case.options)), DIGITS)
    except Exception:  # noqa: BLE001 - whatever a metric raises is its verdict here
        return RAISES


def theirs(upstream: UpstreamMetrics, case: Case):
    """The same of upstream's metric."""
    try:
        score = upstream.judge(case.metric, case.result, case.expected, case.options)
    except (UpstreamMetricError, FileNotFoundError):
        return RAISES
    return round(score, DIGITS)


def recorded():
    return json.loads(FILE.read_text("utf-8"))


def main(python, *, anew):
    upstream, said = UpstreamMetrics(python), {} if anew else recorded()
    with tempfile.TemporaryDirectory() as folder:
        asked = list(cases(Path(folder)))
        said |= {case.name: theirs(upstream, case) for case in asked if case.name not in said}
    upstream.close()
    names = [case.name for case in asked]
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(said[name])}" for name in names)
    FILE.write_text("{\n" + lines + "\n}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], anew="--anew" in sys.argv)
