"""Upstream's own metrics as a program: a request a line, an answer a line.

Run by a Python that has desktop-env 1.0.2, without our package. Its metrics load every library of
all of them at once; here what is not installed is stood in for, and a metric that would use such a
stand-in is named beforehand. Nothing of upstream is changed.

```
{"op": "list"}                                     {"metrics": {name: [libraries that it misses]}}
{"op": "judge", "metric", "result", "expected", "options"}     {"score"} or {"error", "message"}
```
"""

import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import json
import logging
import sys
import types
import warnings
from pathlib import Path

PACKAGE = "desktop_env.evaluators.metrics"
_OUTSIDE = "desktop_env"


class _Stand:
    """What a library that is not installed gives: it can be named, not used."""

    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stand(self.library)

    def __call__(self, *_, **__):
        raise ImportError(f"{self.library} is not installed")

    def __mro_entries__(self, _):
        return (object,)

    def __or__(self, _):
        return self

    __ror__ = __or__


class _StandModule(types.ModuleType):
    """A module that is not installed."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Stand(self.__name__.split(".")[0])


class _Standing:
    """Finds, last of all, the modules that upstream imports and nobody else finds.

    Other libraries try what they could do without, and must go on seeing that it is not there.
    """

    def find_spec(self, name, path=None, target=None):
        del path, target
        if name.split(".")[0] == _OUTSIDE or not _upstream_imports():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return _StandModule(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def _upstream_imports():
    """Whether the import under way stands in a module of upstream's."""
    frame = sys._getframe(1)  # noqa: SLF001 - nothing else tells who imports
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != __name__ and not name.startswith("importlib"):
            return name.split(".")[0] == _OUTSIDE
        frame = frame.f_back
    return False


def metrics():
    """Upstream's metrics by name; what the package itself exports."""
    package = importlib.util.find_spec("desktop_env")
    if package is None or not package.submodule_search_locations:
        sys.exit("desktop_env is not installed in this Python")
    sys.meta_path.append(_Standing())
    module = importlib.import_module(PACKAGE)
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, types.FunctionType) and not name.startswith("_")
    }


def missing(function):
    """The libraries that a function, or one of its own that it calls, would miss."""
    found, seen, queue = set(), set(), [function]
    while queue:
        one = queue.pop()
        if one in seen or not str(one.__module__).startswith(_OUTSIDE):
            continue
        seen.add(one)
        for name in _names(one.__code__):
            value = one.__globals__.get(name)
            if isinstance(value, _Stand):
                found.add(value.library)
            elif isinstance(value, _StandModule):
                found.add(value.__name__.split(".")[0])
            elif isinstance(value, types.FunctionType):
                queue.append(value)
    return sorted(found)


def _names(code):
    """All names that a function's code loads, and those of the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def answer(asked, known):
    """The answer to a request. What a metric prints goes nowhere."""
    if asked["op"] == "list":
        return {"metrics": {name: missing(metric) for name, metric in sorted(known.items())}}
    given = [asked["result"]]
    if asked["expected"] is not None:
        given.append(asked["expected"])
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return {"score": float(known[asked["metric"]](*given, **asked["options"]))}
    except Exception as error:  # noqa: BLE001 - whatever a metric raises is the answer
        return {"error": type(error).__name__, "message": str(error)[:500]}


def main():
    """Answer until nobody asks any more."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        known = metrics()
    for line in sys.stdin:
        asked = json.loads(line)
        out.write(json.dumps({"id": asked.get("id"), **answer(asked, known)}) + "\n")
        out.flush()


if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    main()
