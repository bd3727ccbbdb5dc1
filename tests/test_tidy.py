"""The house style that no linter knows: sizes, words, and what may lie where.

Each test lists every offence as file:line. The exceptions below may only shrink: an entry that
nothing needs any more is an offence too.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
CODE = ("hfr_bench", "tests")
CONTENT = ("suites", "injectors", "runs", "reports")
TEXTS = (".md", ".py", ".toml", ".txt", ".yaml", ".yml", ".json", ".jsonl", ".sh")

FUNCTION_LINES = 50
FILE_LINES = 400
COLUMNS = 100

LONG_FUNCTIONS: frozenset[str] = frozenset()  # "path::name"
LONG_FILES: frozenset[str] = frozenset()  # "path"
LAZY_IMPORTS = frozenset(  # "path: module"
    {
        "hfr_bench/cli/run.py: rich.console",  # a progress bar, where there is a terminal
        "hfr_bench/cli/run.py: rich.progress",
        "hfr_bench/cli/report.py: hfr_bench.lab.rendering",  # each format loads what it needs
        "hfr_bench/cli/report.py: hfr_bench.cli.report_text",
        "hfr_bench/cli/options.py: hfr_bench.lab.wire",  # half a second that few verbs need
        # a helper loads the same meanwhile
        "hfr_bench/cli/verify.py: hfr_bench.lab.verification.verify",
        "hfr_bench/cli/verify.py: hfr_bench.lab.verification.again",
        "hfr_bench/cli/verify.py: hfr_bench.lab.verification.redacted",  # only where asked for
        "hfr_bench/cli/verify.py: hfr_bench.lab.publishing.check",
        "hfr_bench/lab/register.py: hfr_bench.stats.estimate",  # numpy, scipy: only to freeze
        "hfr_bench/lab/register.py: hfr_bench.lab.wire",  # all that a run takes: the same
        "hfr_bench/lab/registered.py: hfr_bench.lab.powered",  # the same
        # numpy, scipy: traces come first
        "hfr_bench/lab/verification/verify.py: hfr_bench.lab.analyse",
        "hfr_bench/lab/verification/verify.py: hfr_bench.lab.review.summary",  # the same
        # all that a run takes: level 4
        "hfr_bench/lab/verification/verify.py: hfr_bench.lab.verification.again",
        # scipy: helpers need none
        "hfr_bench/lab/verification/registered.py: hfr_bench.lab.powered",
        # HTTP: for a token only
        "hfr_bench/lab/verification/registered.py: hfr_bench.lab.timestamp",
        "hfr_bench/lab/analyse.py: hfr_bench.lab.index",  # duckdb: `verify` reads files
        # an extra, which may be missing
        "hfr_bench/lab/rendering/pages.py: hfr_bench.lab.rendering.html",
        "hfr_bench/cli/publish.py: hfr_bench.lab.publishing.push",  # the same
        "hfr_bench/cli/simulate.py: hfr_bench.lab.synthetic.figures",  # the same
        "hfr_bench/injectors/mcp/proxy.py: hfr_bench.injectors.mcp",  # the same
        "hfr_bench/testing/pytest_plugin.py: hfr_bench.testing.scoring",  # in every pytest run
    }
)

# Written so that this file does not offend against itself.
UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b")
MACHINE_PATH = re.compile(r"(?<![\w.}])/(?:wor[k]|far[m])/")
PATCHING = re.compile(
    r"\bunittest[.]moc[k]|\bimport moc[k]\b|\bmonkeypatch[.]setatt[r]|\bmocke[r]\b"
)


def test_functions_fit_on_a_screen():
    found = {
        f"{path}::{node.name}": f"{path}:{node.lineno} {node.name}: {length} lines"
        for path, tree in _trees(*CODE)
        for node in _statements(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    }
    _only_listed(found, LONG_FUNCTIONS)


def test_files_are_short():
    found = {
        path: f"{path}: {count} lines"
        for path, text in _sources(*CODE)
        if (count := len(text.splitlines())) > FILE_LINES
    }
    _only_listed(found, LONG_FILES)


def test_lines_are_short():
    assert not [
        f"{path}:{number}: {len(line)} columns"
        for path, text in _sources(*CODE)
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > COLUMNS
    ]


def test_every_module_says_what_it_is_for():
    assert not [path for path, tree in _trees(*CODE) if not ast.get_docstring(tree)]


def test_imports_are_at_the_top():
    found = {
        f"{path}: {module}": f"{path}:{statement.lineno} {ast.unparse(statement)}"
        for path, tree in _trees("hfr_bench")
        for function in _statements(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in _statements(function)
        for module in _modules(statement)
    }
    _only_listed(found, LAZY_IMPORTS)


def test_content_holds_no_code():
    """`import suites` would work in a checkout and fail from the wheel."""
    assert not [
        str(path.relative_to(REPO)) for top in CONTENT for path in (REPO / top).rglob("*.py")
    ]


def test_nothing_is_left_unfinished():
    assert not _lines_with(UNFINISHED)


def test_no_path_of_one_machine():
    assert not _lines_with(MACHINE_PATH)


def test_fakes_instead_of_patches():
    assert not [
        f"{path}:{number}"
        for path, text in _sources("tests")
        for number, line in enumerate(text.splitlines(), start=1)
        if PATCHING.search(line)
    ]


def test_the_rules_see_what_they_should():
    assert UNFINISHED.search("x = 1  # TO" + "DO later")
    assert MACHINE_PATH.search("open('/wor" + "k/main/x')")
    assert not MACHINE_PATH.search("docs/wor" + "k/x")
    assert PATCHING.search("monkeypatch.set" + "attr(a, 'b', c)")
    assert len(list(_sources("hfr_bench"))) > 50
    deep = "try:\n pass\nexcept E:\n match x:\n  case 1:\n   async def f(): import a\n"
    deep += "else:\n with b: import b\nfinally:\n if 1: pass\n elif 2: import c\n"
    found = [name for node in _statements(ast.parse(deep)) for name in _modules(node)]
    assert found == ["a", "b", "c"]


def _only_listed(found: dict[str, str], listed: frozenset[str]) -> None:
    assert not [message for key, message in found.items() if key not in listed]
    assert not listed - found.keys(), "no longer needed: shorten the list"


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements within a node, however deep. Expressions, which are the most, hold none."""
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, part, ()):
            yield child
            yield from _statements(child)


def _modules(statement: ast.AST) -> list[str]:
    """The modules that an import statement names; none for any other node."""
    if isinstance(statement, ast.ImportFrom):
        return ["." * statement.level + (statement.module or "")]
    return [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []


def _sources(*tops: str) -> Iterator[tuple[str, str]]:
    """(path, text) of every Python file below the folders."""
    for top in tops:
        for path in sorted((REPO / top).rglob("*.py")):
            yield path.relative_to(REPO).as_posix(), path.read_text(encoding="utf-8")


def _trees(*tops: str) -> Iterator[tuple[str, ast.Module]]:
    for path, text in _sources(*tops):
        yield path, _parsed(text)


@cache
def _parsed(text: str) -> ast.Module:
    """Each file is parsed once for all rules."""
    return ast.parse(text)


def _texts() -> Iterator[Path]:
    """What people write: code, content, documents, and the files at the root."""
    for top in (*CODE, "suites", "injectors", "docs", ".ci"):
        yield from (p for p in sorted((REPO / top).rglob("*")) if p.suffix in TEXTS)
    yield from (p for p in sorted(REPO.iterdir()) if p.suffix in TEXTS or p.name == "Makefile")
    yield from sorted((REPO / "runs").glob("*/prereg.yaml"))
    yield from (REPO / ".ci" / "run", REPO / ".ci" / "engine")


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(REPO)}:{number}: {line.strip()}"
        for path in _texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]
