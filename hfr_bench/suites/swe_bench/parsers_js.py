"""What logs of JavaScript's test runners say, where these need no browser.

As in `parsers`, the rules are SWE-bench 5.0.2's, quirks included. Three sorts: runners that tell of
each test (jest, vitest, mocha, TAP), those that tell of each file, and those whose log names what
failed alone, for rows that are graded by that (`fail_only`).
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hfr_bench.suites.swe_bench.statuses import FAILED, PASSED, SKIPPED, Found, Parser

_TIMES = "\N{MULTIPLICATION SIGN}"
_SIGNS = {"✓": PASSED, "✕": FAILED, "○": SKIPPED, _TIMES: FAILED, "↓": SKIPPED}
_JEST = re.compile(r"^\s*(✓|✕|○)\s(.+?)(?:\s\((\d+\s*m?s)\))?$")
_VITEST = re.compile(rf"^\s*(✓|{_TIMES}|↓)\s(.+?)(?:\s(\d+\s*m?s?|\[skipped\]))?$")
_TOLD = re.compile(r"^\[(PASSED|FAILED)\]\s(.+)$")
_TAP = re.compile(r"^(ok|not ok) (\d+) (.+)$")
_OF_FILE = {"PASS": PASSED, "FAIL": FAILED}
_FILE = tuple(
    re.compile(rf"^(PASS|FAIL)\s(.*){took}")
    for took in (r"\s\([\d\.]+ms\)", r"\s\([\d\.]+\ss\)", r"\s\([\d\.]+s\)", "")
)
_TOOK = re.compile(r"\s\([\d\.]+\s?(?:ms|s)\)$")
_MS = re.compile(r"\(\d+ms\)")
_NUMBERED = re.compile(r"^\d+\)\s(.*)")
_ESLINT = re.compile(r"(\s{2}\d+\))([\s\S]*?)\s+(?:(.*)Error)")
_MOCHA_ENDS = re.compile(r"\n[ \t]*\d+ passing")
_CALYPSO_RUN = " ./node_modules/.bin/jest "
_CALYPSO = re.compile(r"^\s+(✓|✕)\s(.*)")
_CALYPSO_MS = re.compile(r"^\s+(✓|✕)\s(.*)\(\d+ms\)$")


def _signed(pattern: re.Pattern[str], log: str) -> Found:
    """Lines of a sign and a test's name, which is known by that alone."""
    matches = (pattern.match(line.strip()) for line in log.split("\n"))
    return {m[2].strip() if pattern is _JEST else m[2]: _SIGNS[m[1]] for m in matches if m}


def _jest(log: str) -> Found:
    return _signed(_JEST, log)


def _vitest(log: str) -> Found:
    return _signed(_VITEST, log)


def _jest_json(log: str) -> Found:
    matches = (_TOLD.match(line.strip()) for line in log.split("\n"))
    return {m[2]: m[1] for m in matches if m}


def _tap(log: str) -> Found:
    matches = (_TAP.match(line.strip()) for line in log.split("\n"))
    return {m[3]: PASSED if m[1] == "ok" else FAILED for m in matches if m}


def _files(log: str) -> Found:
    """A status for each file of tests; how long it took is no part of its name."""
    found: Found = {}
    for line in log.split("\n"):
        match = next((m for pattern in _FILE if (m := pattern.match(line))), None)
        if match is not None:
            found[match[2]] = _OF_FILE[match[1]]
    return found


def _grommet(log: str) -> Found:
    """As `_files`, over line ends, and a file that passed once has passed."""
    found: Found = {}
    for word in ("FAIL", "PASS"):
        for name in re.findall(rf"^{word}\s(.*)", log, re.MULTILINE):
            found[_TOOK.sub("", name.strip())] = _OF_FILE[word]
    return found


def _marked(log: str) -> Found:
    matches = (_NUMBERED.match(line) for line in log.split("\n"))
    return {m[1].strip(): FAILED for m in matches if m}


def _eslint(log: str) -> Found:
    return {" ".join(m[2].split()): FAILED for m in _ESLINT.finditer(log)}


def _highlightjs(log: str) -> Found:
    """Mocha's: a test is known by the last title above it, and by its own name."""
    found: Found = {}
    above: tuple[str, ...] = ()
    for line in _MOCHA_ENDS.split(log)[0].split("\n"):
        told = line.strip()
        if told.startswith(("✓", "✔")):
            found[".".join((*above, _untimed(told[1:])))] = PASSED
        elif re.match(r"^\d+\)", told):
            found[".".join((*above, _untimed(line.split(")", 1)[1])))] = FAILED
        elif line.startswith("  "):
            above = (told,)
    return found


def _untimed(name: str) -> str:
    return _MS.sub("", name).strip()


def _calypso(log: str) -> Found:
    """Jest's verbose tree: a test is known by all titles above it, and by its own name."""
    found: Found = {}
    above: list[tuple[str, int]] = []
    for run in log.split(_CALYPSO_RUN)[1:]:
        for line in run.split("\n"):
            if line.startswith(("Test Suites", "  ● ")):
                break
            if line.strip().startswith(("✓", "✕")):
                if match := (_CALYPSO_MS if _MS.search(line) else _CALYPSO).match(line):
                    name = _below(above, match[2])
                    found[name] = PASSED if match[1] == "✓" else FAILED
            elif (indent := len(line) - len(line.lstrip())) > 0:
                while above and above[-1][1] >= indent:
                    above.pop()
                above.append((line.strip(), indent))
    return found


def _below(above: Sequence[tuple[str, int]], name: str) -> str:
    return " - ".join((" - ".join(title for title, _ in above), name)).strip()


_BY_RULE: Mapping[Parser, tuple[str, ...]] = {
    _jest: ("jest",),
    _jest_json: ("jest_json",),
    _vitest: ("vitest",),
    _tap: ("tap",),
    _files: ("carbon", "react_pdf"),  # prettier's and scratch-gui's, too
    _grommet: ("grommet",),
    _marked: ("marked",),
    _eslint: ("eslint",),
    _highlightjs: ("highlightjs",),
    _calypso: ("calypso",),
}
PARSERS: Mapping[str, Parser] = MappingProxyType(
    {f"parse_log_{name}": rule for rule, names in _BY_RULE.items() for name in names}
)
"""By upstream's names, which baked rows use."""
