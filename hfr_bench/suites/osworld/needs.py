"""What keeps an evaluator from being carried out, told before a run."""

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Protocol

from hfr_bench.suites.osworld.evaluator import Evaluator, Part
from hfr_bench.suites.osworld.getters import GETTERS
from hfr_bench.suites.osworld.metrics import METRICS
from hfr_bench.suites.osworld.setup import steps_lacking

EXTRA = "pip install 'hfr-bench[osworld]'"
IMPORTED_AS = {"python-docx": "docx", "python-pptx": "pptx", "pillow": "PIL"}


class Upstream(Protocol):
    """Upstream's own metrics, in an environment of their own."""

    def lacks(self, metric: str) -> tuple[str, ...] | None:
        """The libraries that a metric would miss there; None: it has no such metric."""

    def judge(
        self, metric: str, result: Any, expected: Any | None, options: Mapping[str, Any]
    ) -> float:
        """Its score. Raises what `grade` takes for an error of the metric."""


def _there(library: str) -> bool:
    return find_spec(IMPORTED_AS.get(library, library)) is not None


def lacking(
    evaluator: Evaluator,
    upstream: Upstream | None = None,
    there: Callable[[str], bool] = _there,
) -> tuple[str, ...]:
    """What lacks, in words, each once; () = it can be graded. `there`: is a library installed?"""
    said = [f"no postconfig step {kind!r}" for kind in steps_lacking(evaluator.postconfig)]
    for part in evaluator.parts:
        said += _getters(part, there)
        said += metric_lacks(part, upstream, there)
    return tuple(dict.fromkeys(said))


def _getters(part: Part, there: Callable[[str], bool]) -> Iterator[str]:
    for config in (part.result, part.expected):
        if config is None:
            continue
        getter = GETTERS.get(config["type"])
        if getter is None:
            yield f"no getter {config['type']!r}"
        else:
            missing = [name for name in getter.libraries if not there(name)]
            if missing:
                yield f"getter {config['type']!r} needs {', '.join(missing)} ({EXTRA})"


def own(part: Part, there: Callable[[str], bool] = _there) -> bool:
    """Whether our own metric carries out a part."""
    metric = METRICS.get(part.metric)
    return (
        metric is not None
        and all(there(name) for name in metric.libraries)
        and not metric.lacks(part.options)
    )


def metric_lacks(
    part: Part, upstream: Upstream | None, there: Callable[[str], bool] = _there
) -> tuple[str, ...]:
    """What a part's metric lacks: () if ours or upstream's carries it out."""
    if own(part, there):
        return ()
    absent = None if upstream is None else upstream.lacks(part.metric)
    if absent == ():
        return ()
    metric = METRICS.get(part.metric)
    if metric is None:
        said = f"no metric {part.metric!r}"
    elif metric.lacks(part.options):
        said = f"metric {part.metric!r} without {', '.join(metric.lacks(part.options))}"
    else:
        missing = [name for name in metric.libraries if not there(name)]
        said = f"metric {part.metric!r} needs {', '.join(missing)} ({EXTRA})"
    if absent:
        said += f"; upstream's misses {', '.join(absent)}"
    return (said,)
