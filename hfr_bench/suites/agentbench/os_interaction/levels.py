"""How dangerous a shell script is to repeat, by its text alone: careful, and pure but for a list.

R0: nothing but commands that are known to read. R1: beside these one command, and one alone, that
leaves the same state whenever it is repeated (mkdir -p, touch, chmod 600, rm -f, writing constants
over a file): of two, the first may fail for want of the second. R3: what takes whole trees or the
machine's users away, or ends processes. All that is not known is R2.
"""

import re
import shlex
from collections.abc import Sequence

from hfr_bench.model.terms import SideEffect
from hfr_bench.shell.commands import irreversible, readers
from hfr_bench.suites.agentbench.os_interaction.words import words

_READS = frozenset({"bc", "getent", "who"})  # beside those that all suites know
_GONE = frozenset({"groupdel", "kill", "pkill", "userdel"})  # the same
_ENDS = frozenset({"|", "||", "&&", ";", "(", ")", "|&", "&", "\n"})
_KEYS = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}"}
)
_INTO = frozenset({">", ">|", "&>"})
_ONTO = frozenset({">>", "&>>", ">&"})
_FROM = frozenset({"<", "<&"})
_QUIET = ("/dev/null", "1", "2")
_OCTAL = re.compile(r"[0-7]{3,4}")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_AWK = re.compile(r"printf?\b[^;}\n]*>|\||system|getline")
_SED = re.compile(r"s(.)((?!\1).)*\1((?!\1).)*\1[gpI0-9]*|[0-9,$]*[pdq]|/[^/]*/[pdq]")
_FIND = re.compile(r"-(ok|okdir|delete|fprint|fprint0|fprintf|fls)")
_EXEC = frozenset({"-exec", "-execdir"})

R0, R1 = SideEffect.READ, SideEffect.IDEMPOTENT
R2, R3 = SideEffect.QUERYABLE, SideEffect.IRREVERSIBLE


def level_of(script: str) -> SideEffect:
    """The level of a script."""
    try:
        commands = _commands(words(script))
        levels = [_command(command) for command in commands]
    except ValueError:  # UnreadableError, or a word that cannot be unquoted
        return R2
    worst = max(levels, key=lambda level: level.value, default=R0)
    if worst is R1:
        moves = any("cd" in command for command in commands)
        return R2 if moves or levels.count(R1) > 1 else R1
    return worst


def _commands(found: Sequence[str]) -> list[list[str]]:
    """The simple commands, their redirections included."""
    commands: list[list[str]] = [[]]
    for word in found:
        if word in _ENDS:
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def _command(said: list[str]) -> SideEffect:
    while said and said[0] in _KEYS:
        said = said[1:]
    if said[:1] == ["for"]:
        return R0
    written, said = _redirected(said)
    if written is None:
        return R2
    while said and _ASSIGNED.fullmatch(said[0]):
        said = said[1:]
    if not said:
        return R2 if written else R0
    level = _plain(_bare(said[0]), [_bare(word) for word in said[1:]])
    if not written:
        return level
    constant = said[0] in ("echo", "printf") and not any("$" in w for w in (*said, *written))
    return R1 if constant and level is R0 and len(written) == 1 else R2


def _redirected(said: list[str]) -> tuple[list[str] | None, list[str]]:
    """(files written over, the words without redirections); None: added to, or not understood."""
    written: list[str] = []
    kept: list[str] = []
    at = 0
    while at < len(said):
        word = said[at]
        if word not in _INTO | _ONTO | _FROM:
            kept.append(word)
            at += 1
            continue
        target = said[at + 1] if at + 1 < len(said) else ""
        if kept and kept[-1].isdigit():
            kept.pop()
        if word not in _FROM and target not in _QUIET:
            if word in _ONTO or not target:
                return None, kept
            written.append(target)
        at += 2
    return written, kept


def _bare(word: str) -> str:
    """A word as the command gets it, but for what variables and braces make of it."""
    return "".join(shlex.split(word)) if any(mark in word for mark in "'\"\\") else word


def _plain(name: str, rest: list[str]) -> SideEffect:
    """A simple command without redirections."""
    flags = "".join(word.lstrip("-") for word in rest if re.fullmatch(r"-[A-Za-z]+", word))
    if _reads(name):
        return R0
    if name in _GONE or name in irreversible():
        return R3
    if name == "rm":
        whole = bool(set("rR") & set(flags)) or "--recursive" in rest
        return R3 if whole else R1 if "f" in flags and not _open(rest) else R2
    if name in _ASKED:
        return R2 if any(_hidden(word) for word in rest) else _ASKED[name](rest)
    if _open(rest):
        return R2
    if name == "touch" or (name == "mkdir" and "p" in flags):
        return R1
    if name == "chmod":
        return R1 if rest and _OCTAL.fullmatch(rest[0]) else R2
    return R2


def _reads(name: str) -> bool:
    return name in _READS or name in readers()


def _open(rest: list[str]) -> bool:
    return any("$" in word for word in rest)


def _hidden(word: str) -> bool:
    """Whether it may turn out to be an option."""
    return word.startswith("$") or (word.startswith("-") and any(mark in word for mark in "${"))


def _option(part: str, rest: list[str]) -> bool:
    return any(word.startswith("-") and part in word for word in rest)


def _find(rest: list[str]) -> SideEffect:
    runs = [rest[at + 1 :] for at, word in enumerate(rest) if word in _EXEC]
    writes = any(_FIND.fullmatch(word) for word in rest)
    return R2 if writes or any(not run or not _reads(run[0]) for run in runs) else R0


def _awk(rest: list[str]) -> SideEffect:
    """`-F` and its separator do not count; a program in a file is not known."""
    kept = [word for at, word in enumerate(rest) if at == 0 or rest[at - 1] != "-F"]
    program = " ".join(word for word in kept if not word.startswith("-F"))
    asked = any(word.startswith(("-f", "-i", "-E", "--")) for word in kept)
    return R2 if asked or _AWK.search(program) else R0


def _sed(rest: list[str]) -> SideEffect:
    """Only a program of one plain command is known."""
    flags = [word for word in rest if word.startswith("-")]
    program = next((word for word in rest if not word.startswith("-")), "")
    known = all(flag in ("-n", "-E", "-r") for flag in flags)
    return R0 if known and _SED.fullmatch(program) else R2


def _xargs(rest: list[str]) -> SideEffect:
    run = rest[1:] if rest[:1] in (["-0"], ["-r"], ["-0r"]) else rest
    return R0 if run and _reads(run[0]) else R2


_ASKED = {
    "sort": lambda rest: R2 if _option("o", rest) else R0,
    "tree": lambda rest: R2 if _option("o", rest) else R0,
    "file": lambda rest: R2 if _option("C", rest) or _option("--c", rest) else R0,
    "date": lambda rest: R2 if _option("s", rest) else R0,
    "uniq": lambda rest: R2 if sum(not word.startswith("-") for word in rest) > 1 else R0,
    "find": _find,
    "awk": _awk,
    "sed": _sed,
    "xargs": _xargs,
}
"""Commands that read unless an option or a program of theirs says otherwise."""
