"""Upstream's own metrics, asked of a program that runs in an environment of their own.

They are used for what ours do not carry out, and to hold ours against them. The environment takes
`desktop-env` 1.0.2, without what it pins (1.6 GB), and whichever libraries its metrics load.
"""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError, InfrastructureError

PYTHON = "HFR_BENCH_OSWORLD_PYTHON"
"""Names a Python whose environment has desktop-env."""
VERSION = "1.0.2"

RUNS_CODE = frozenset({"check_python_file_by_test_suite", "check_python_file_by_gold_file"})
"""Metrics that run the agent's own program beside themselves: never, outside a sandbox."""

_HOST = Path(__file__).parent / "host" / "main.py"
_START_S, _JUDGE_S = 180.0, 120.0
HOW = (
    "python3 -m venv .hosts/osworld && .hosts/osworld/bin/pip install --no-deps "
    f"desktop-env=={VERSION} && .hosts/osworld/bin/pip install pandas openpyxl python-docx "
    "python-pptx odfpy rapidfuzz lxml cssselect pillow pymupdf ... && "
    f"export {PYTHON}=.hosts/osworld/bin/python"
)


class UpstreamMetricError(Exception):
    """Upstream's metric raised; `kind` names the class of what it raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class UpstreamMetrics:
    """The program, started when first asked. One thread at a time; `close` ends it."""

    def __init__(self, python: str | Path) -> None:
        self._python = Path(python).expanduser()
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0

    @classmethod
    def named(cls) -> "UpstreamMetrics | None":
        """The one that the environment names, or None. Raises BadInputError: it is no Python."""
        python = os.environ.get(PYTHON)
        if not python:
            return None
        if not Path(python).expanduser().is_file():
            raise BadInputError(f"{PYTHON} names {python}, which is no file: {HOW}")
        return cls(python)

    def lacks(self, metric: str) -> tuple[str, ...] | None:
        if metric in RUNS_CODE and metric in self._known:
            return ("a sandbox for the agent's own code, which it runs",)
        return self._known.get(metric)

    def judge(
        self, metric: str, result: Any, expected: Any | None, options: Mapping[str, Any]
    ) -> float:
        """Its score. Raises FileNotFoundError as upstream; UpstreamMetricError: it raised."""
        asked = {"metric": metric, "result": result, "expected": expected}
        told = self._ask("judge", _JUDGE_S, **asked, options=dict(options))
        if "score" in told:
            return float(told["score"])
        if told["error"] == "FileNotFoundError":
            raise FileNotFoundError(told["message"])
        raise UpstreamMetricError(told["error"], told["message"])

    def close(self) -> None:
        """End the program; idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    @cached_property
    def _known(self) -> Mapping[str, tuple[str, ...]]:
        told = self._ask("list", _START_S)
        return {name: tuple(libraries) for name, libraries in told["metrics"].items()}

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            command = [str(self._python), "-B", str(_HOST)]
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                )
            except OSError as error:
                raise InfrastructureError(f"{self._python} does not run: {error}") from error
        return self._process

    def _ask(self, op: str, within_s: float, **fields: Any) -> dict[str, Any]:
        process = self._start()
        assert process.stdin is not None
        self._number += 1
        line = json.dumps({"id": self._number, "op": op, **fields}) + "\n"
        try:
            process.stdin.write(line.encode())
            told = json.loads(self._line(process, time.monotonic() + within_s))
        except (OSError, ValueError) as error:
            self.close()
            raise InfrastructureError(
                f"upstream's metrics in {self._python} broke off at {op!r}: {error}; it takes "
                f"desktop-env {VERSION}: {HOW}"
            ) from error
        assert told["id"] == self._number
        return dict(told)

    def _line(self, process: "subprocess.Popen[bytes]", deadline: float) -> bytes:
        """The next line. Raises TimeoutError, EOFError as an OSError."""
        assert process.stdout is not None
        read = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not read.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError("no answer in time")
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    raise ConnectionError("it ended")
                read += part
        return bytes(read)
