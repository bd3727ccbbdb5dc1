"""What a test log says: test name -> status, by the rules that SWE-bench 5.0.2 reads logs by.

The rules are upstream's, quirks included, since official verdicts rest on them (a name ends at its
first space, for one; later lines win); tests hold ours against upstream's on recorded logs. Python
repositories here, JavaScript's in `parsers_js`; the parsers of other languages are not there.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from hfr_bench.errors import BadInputError
from hfr_bench.suites.swe_bench import parsers_js
from hfr_bench.suites.swe_bench.statuses import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    STATUSES,
    Found,
    Parser,
)

_SKIP_COUNT = re.compile(r"^\[\d+\]$")  # pytest's "SKIPPED [3] file:line: reason" names no test
_COLOUR = re.compile(r"\[\d+m")
_CONTROL = dict.fromkeys(range(1, 32))
_OPTION = re.compile(r"(.*?)\[(.*)\]")
_SYMPY_TITLE = re.compile(r"_* (.*)\.py:(.*) _*")
_PASSES = (" ... ok", " ... OK", " ...  OK")
_VERSION = "--version is equivalent to version"  # the docstring of a test, printed without "..."
_MIGRATION = "Applying sites.0002_alter_domain_unique...test_no_migrations"
_INTERRUPTED = tuple(  # something was printed between a test's name and its "ok"
    re.compile(rf"^(.*?)\s\.\.\.\s{noise}\nok$", re.MULTILINE)
    for noise in (
        r"Testing against Django installed in (?s:.*?) silenced\)\.",
        r"Internal Server Error: /.*/",
        r"System check identified no issues \(0 silenced\)",
    )
)


def parser(name: str) -> Parser:
    """A parser by upstream's name. Raises BadInputError listing those there are."""
    if name not in PARSERS:
        raise BadInputError(
            f"log_parser {name!r} is not offered here; there are: {', '.join(sorted(PARSERS))}"
        )
    return PARSERS[name]


def _reported(log: str) -> Iterator[tuple[str, str]]:
    """(status, name) of pytest's short summary and of verbose lines that start with a status."""
    for line in log.split("\n"):
        if not line.startswith(STATUSES):
            continue
        words = (line.replace(" - ", " ") if line.startswith(FAILED) else line).split()
        if len(words) > 1 and not _counts_skips(words[0], words[1]):
            yield words[0], words[1]


def _counts_skips(status: str, name: str) -> bool:
    return status == SKIPPED and bool(_SKIP_COUNT.match(name))


def _pytest(log: str) -> Found:
    return {name: status for status, name in _reported(log)}


def _pytest_options(log: str) -> Found:
    """As `_pytest`, but a parameter that is a path is known by its last part."""
    return {_shortened(name): status for status, name in _reported(log)}


def _shortened(name: str) -> str:
    found = _OPTION.search(name)
    if not found:
        return name
    main, option = found.groups()
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        option = "/" + option.rpartition("/")[2]
    return f"{main}[{option}]"


def _matplotlib(log: str) -> Found:
    return _pytest(log.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))


def _pytest_v2(log: str) -> Found:
    """Names may hold spaces; colours are dropped; old verbose lines end with the status."""
    found: Found = {}
    for raw in log.split("\n"):
        line = _COLOUR.sub("", raw).translate(_CONTROL)
        if line.startswith(STATUSES):
            words = (line.split(" - ", 1)[0] if line.startswith(FAILED) else line).split()
            if len(words) > 1 and not _counts_skips(words[0], words[1]):
                found[" ".join(words[1:])] = words[0]
        elif line.endswith(STATUSES) and len(words := line.split()) > 1:
            found[" ".join(words[:-1])] = words[-1]
    return found


def _seaborn(log: str) -> Found:
    """Failures from the summary, passes from there or from verbose lines; nothing else."""
    found: Found = {}
    for line in log.split("\n"):
        words = line.split()
        if len(words) < 2:
            continue
        if line.startswith(FAILED):
            found[words[1]] = FAILED
        elif f" {PASSED} " in line:
            if words[1] == PASSED:
                found[words[0]] = PASSED
        elif line.startswith(PASSED):
            found[words[1]] = PASSED
    return found


def _sympy(log: str) -> Found:
    """Titles of failures ("__ file.py:test __"), then the lines of `bin/test --verbose`."""
    found = {f"{file}.py:{test}": FAILED for file, test in _SYMPY_TITLE.findall(log)}
    for raw in log.split("\n"):
        line = raw.strip()
        if line.startswith("test_"):
            for end, status in ((" E", ERROR), (" F", FAILED), (" ok", PASSED)):
                if line.endswith(end):
                    found[line.split()[0]] = status
    return found


def _django(log: str) -> Found:
    """Unittest's verbose lines, where an "ok" may come lines after the name it belongs to."""
    found: Found = {}
    last: str | None = None
    for raw in log.split("\n"):
        line = raw.strip()
        if _VERSION in line:
            found[_VERSION] = PASSED
        if " ... " in line:
            last = line.split(" ... ")[0]
        found |= _django_line(line)
        if line.startswith("ok") and last is not None:
            found[last] = PASSED
    for pattern in _INTERRUPTED:
        found |= {match.group(1): PASSED for match in pattern.finditer(log)}
    return found


def _django_line(line: str) -> Found:
    """What one line says of itself; of several sayings the later ones win."""
    found: Found = {}
    suffix = next((end for end in _PASSES if line.endswith(end)), None)
    if suffix is not None:
        if line.startswith(_MIGRATION):
            line = line.split("...", 1)[-1].strip()
        found[line.rsplit(suffix, 1)[0]] = PASSED
    if " ... skipped" in line:
        found[line.split(" ... skipped")[0]] = SKIPPED
    for status, word in ((FAILED, "FAIL"), (ERROR, "ERROR")):
        if line.endswith(f" ... {word}"):
            found[line.split(f" ... {word}")[0]] = status
        if line.startswith(f"{word}:") and len(words := line.split()) > 1:
            found[words[1]] = status
    return found


_BY_RULE: Mapping[Parser, tuple[str, ...]] = {
    _pytest: (
        *("pytest", "astroid", "flask", "marshmallow", "pvlib"),
        *("pyvista", "sqlfluff", "xarray"),
    ),
    _pytest_options: ("pytest_options", "pydicom", "requests", "pylint"),
    _pytest_v2: ("pytest_v2", "astropy", "scikit", "sphinx"),
    _matplotlib: ("matplotlib",),
    _seaborn: ("seaborn",),
    _sympy: ("sympy",),
    _django: ("django",),
}
PARSERS: Mapping[str, Parser] = MappingProxyType(
    {f"parse_log_{name}": rule for rule, names in _BY_RULE.items() for name in names}
    | dict(parsers_js.PARSERS)
)
"""By upstream's names, which baked rows use."""

PARSER_OF_REPO: Mapping[str, str] = MappingProxyType(
    {
        "astropy/astropy": "parse_log_astropy",
        "django/django": "parse_log_django",
        "matplotlib/matplotlib": "parse_log_matplotlib",
        "mwaskom/seaborn": "parse_log_seaborn",
        "pallets/flask": "parse_log_flask",
        "psf/requests": "parse_log_requests",
        "pydata/xarray": "parse_log_xarray",
        "pylint-dev/pylint": "parse_log_pylint",
        "pytest-dev/pytest": "parse_log_pytest",
        "scikit-learn/scikit-learn": "parse_log_scikit",
        "sphinx-doc/sphinx": "parse_log_sphinx",
        "sympy/sympy": "parse_log_sympy",
    }
)
"""For classic rows, which name none: the twelve repositories of SWE-bench."""
