"""One look at a repository, by the agent's own tool: a command that only reads, and its answer.

What it tells: which paths differ from where work began, whether git can carry that as a patch, what
the changed Python files hold, which files there are, and which lines that import mention a changed
module. Checks are made of that (`checks`); nothing here judges.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hfr_bench.suites.swe_bench.checks import Read
from hfr_bench.suites.swe_bench.contracts import read_answer

_MARK = "== hfr-check "
_CANNOT = "? git cannot tell"
_MOST_MENTIONS = 400
_GAP = re.compile(r"^\[\.\.\. \d+ bytes left out \.\.\.\]$", re.MULTILINE)
_IMPORTS = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\b|import\s+[\w., ]+)")

_DIFF = "git -c core.quotePath=off diff --no-ext-diff --no-color"
_LOOK = """\
changed() {{ {changed} || echo '{cannot}'; }}
new() {{ git -c core.quotePath=off ls-files --others --exclude-standard; }}
modules() {{ {{ changed; new; }} | grep '\\.py$'; }}
printf '\\n{mark}changed\\n'; changed
printf '\\n{mark}new\\n'; new
printf '\\n{mark}applies\\n'; {patch} | git apply --check -R 2>&1 && echo yes
modules | while read -r f; do printf '\\n{mark}file %s\\n' "$f"; test -f "$f" && cat "$f"; done
printf '\\n{mark}tree\\n'; git ls-files -- '*.py'
printf '\\n{mark}mentions\\n'
modules | sed -e 's|/__init__\\.py$||' -e 's|\\.py$||' -e 's|.*/||' |
  git grep --untracked -w -F -f - -- '*.py' | grep import | head -n {most}
printf '\\n{mark}end\\n'"""


@dataclass(frozen=True, slots=True)
class Project:
    """What is public of a task's repository.

    `start`: revisions by which work began, the first that is there. `test`: the repository's own
    test command, to which files are added, and `parser`, what its log is read by; "" = not known.
    `green`: all its visible tests are known to pass before any change, so that one which fails
    speaks against the change.
    """

    start: tuple[str, ...]
    test: str = ""
    parser: str = ""
    green: bool = False


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look has shown. Paths are the repository's.

    `changed`: tracked paths that differ, and new ones; `refused`: git's words against its own
    patch, "" if it applies; `files`: text of the changed Python files that are there; `tree`: its
    Python files; `mentions`: file -> lines that import and speak of a changed module.
    """

    changed: tuple[str, ...]
    refused: str
    files: Mapping[str, str]
    tree: tuple[str, ...]
    mentions: Mapping[str, str]

    def read(self) -> Read:
        """A file as far as `visible_tests` needs it: its own text, or what it imports."""
        return lambda path: self.files.get(path, self.mentions.get(path))


def look(project: Project) -> str:
    """The command. It only reads, by `levels`; nothing of it depends on the agent."""
    starts = [f"{shlex.quote(revision)} --" for revision in project.start]
    names = [f"{_DIFF} --name-only --no-renames {start} 2>/dev/null" for start in starts]
    patches = [f"{_DIFF} --binary {start} 2>/dev/null" for start in starts]
    return _LOOK.format(
        changed=" || ".join(names),
        patch="{ " + " || ".join(patches) + "; }",
        cannot=_CANNOT,
        mark=_MARK,
        most=_MOST_MENTIONS,
    )


def run_tests(project: Project, paths: Sequence[str]) -> str:
    """The command that runs visible tests, known by its last line as a check's."""
    return f"{project.test} {shlex.join(paths)}\n# {_MARK.strip()}"


def read_look(body: str) -> Sight | str:
    """What the answer of a look shows, or why it cannot be told from it."""
    read = read_answer(body)
    if read is None or not read[1].endswith(f"\n{_MARK}end\n"):
        return "the look at the repository was cut short"
    if _GAP.search(read[1]):
        return "too much has changed to be looked at"
    parts = _parts(read[1])
    names = (*_lines(parts["changed"]), *_lines(parts["new"]))
    if _CANNOT in names:
        return _CANNOT[2:]
    said = parts["applies"].strip()
    carried = said.endswith("yes") or not _lines(parts["changed"])  # git may warn before it
    return Sight(
        changed=tuple(dict.fromkeys(names)),
        refused="" if carried else said or "it says nothing",
        files={name[5:]: text for name, text in parts.items() if name.startswith("file ") and text},
        tree=(*_lines(parts["tree"]), *(n for n in _lines(parts["new"]) if n.endswith(".py"))),
        mentions=_mentions(_lines(parts["mentions"])),
    )


def _parts(said: str) -> dict[str, str]:
    """Section -> its text; a line that begins one is ours, whoever wrote the same."""
    _, *rest = f"\n{said}".split(f"\n{_MARK}")
    parts = dict.fromkeys(("changed", "new", "applies", "tree", "mentions"), "")
    for part in rest:
        name, _, text = part.partition("\n")
        parts[name] = text
    return parts


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def _mentions(lines: Sequence[str]) -> dict[str, str]:
    """`path:line` of git grep, as texts that parse: a name in brackets may go on in other lines."""
    found: dict[str, list[str]] = {}
    for row in lines:
        path, _, line = row.partition(":")
        if match := _IMPORTS.match(line):
            plain = line.strip() if "(" not in line else f"import {match[1]}"
            found.setdefault(path, []).append(plain)
    return {path: "\n".join(imports) for path, imports in found.items()}
