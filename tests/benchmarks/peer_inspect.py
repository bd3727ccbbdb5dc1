"""The peer: Inspect with its own mock model, one tool call a sample. Prints like ours.py.

Runs in an environment of its own (`make bench` makes it); never imported by anything of ours.
"""

import json
import resource
import sys
import tempfile
from collections.abc import Iterator

from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import Tool, tool

MODEL = "mockllm/model"


def cpu_s() -> float:
    """CPU seconds of this process and its children so far."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


@tool
def lookup() -> Tool:
    """A tool that answers at once."""

    async def execute(key: str) -> str:
        """Look something up.

        Args:
            key: what to look up.
        """
        return f"{key} is 42"

    return execute


def outputs() -> Iterator[ModelOutput]:
    """A tool call, then the answer. Usage is given, since counting tokens needs a download."""
    while True:
        for output in (
            ModelOutput.for_tool_call(MODEL, "lookup", {"key": "x"}),
            ModelOutput.from_content(MODEL, "the answer is 42"),
        ):
            output.usage = ModelUsage(input_tokens=10, output_tokens=10, total_tokens=20)
            yield output


def run(samples: int, log_dir: str) -> None:
    """One evaluation, one sample at a time."""
    task = Task(
        dataset=[Sample(input=f"question {n}", target="42") for n in range(samples)],
        solver=[use_tools(lookup()), generate()],
        scorer=includes(),
    )
    model = get_model(MODEL, custom_outputs=outputs(), memoize=False)
    (log,) = run_eval(task, model=model, display="none", log_dir=log_dir, max_samples=1)
    if log.status != "success":
        sys.exit(str(log.error)[:500])


if __name__ == "__main__":
    count = int(sys.argv[1])
    start = cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        run(5, folder)
        before = cpu_s()
        run(count, folder)
        used = cpu_s() - before
    print(json.dumps({"start_cpu_s": start, "cpu_ms_per_trial": 1000 * used / count}))
