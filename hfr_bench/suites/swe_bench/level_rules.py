"""What one simple command does to the world: its level, what it reads and what it writes.

`suites/swe_bench/commands.yaml` lists what only reads; here are the few commands that write and are
known to leave the same state when they are run again. Everything else is R2.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from hfr_bench.model.terms import SideEffect
from hfr_bench.shell.commands import table
from hfr_bench.suites.swe_bench import sed_script
from hfr_bench.suites.swe_bench.shell_tree import Word

R0, R1, R2, R3 = SideEffect

NOTHING: frozenset[str] = frozenset()
Paths = frozenset[str] | None
"""Paths as a command names them; None = any."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a command does.

    `reads`, `writes`: see Paths; `varies`: what it says changes by itself; `why`: a few words for
    people.
    """

    level: SideEffect
    reads: Paths = NOTHING
    writes: Paths = NOTHING
    varies: bool = False
    why: str = ""


def simple(name: str, words: Sequence[Word]) -> Effect:
    """The effect of a command by its name (without folders) and its arguments."""
    known = table()
    if name in known["leaves"]:
        return Effect(R3, None, None, why=f"{name} leaves the sandbox")
    if name in known["destroys"]:
        return Effect(R3, None, None, why=f"{name} destroys what is not recorded")
    if name in _WRITERS:
        return _WRITERS[name](words)
    return _reader(name, words) or unknown(name)


def unknown(what: str) -> Effect:
    """What is not understood."""
    return Effect(R2, None, None, why=f"{what}: not known to be harmless")


def paths_of(words: Iterable[Word]) -> Paths:
    """The paths that words name, options left out; None if one of them is not known."""
    found = set()
    for word in words:
        if word.text is None or word.pattern:
            return None
        if not word.text.startswith("-") or word.text == "-":
            found.add(word.text)
    return frozenset(found)


def given(words: Sequence[Word], options: Iterable[str]) -> bool:
    """Whether one of the options may be among the words, in the notation of commands.yaml."""
    options = tuple(options)
    return any(
        word.text is None or any(_is_option(word.text, option) for option in options)
        for word in words
        if options
    )


def _is_option(text: str, option: str) -> bool:
    if option.startswith("="):
        return text == option[1:]
    if option.startswith("--"):
        head = text.partition("=")[0]
        return len(head) > 2 and head.startswith("--") and option.startswith(head)
    return text.startswith("-") and not text.startswith("--") and option[1] in text


def _reader(name: str, words: Sequence[Word]) -> Effect | None:
    known = table()
    if name in known["says"]:
        return Effect(R0)
    if name in known["names"]:
        return Effect(R0, paths_of(words))
    if name in known["looks"]:
        return Effect(R0, None)
    if name in known["varies"]:
        return Effect(R0, None, varies=True)
    if name in known["operands"]:
        if any(word.text is None for word in words):
            return None
        operands = [word for word in words if not (word.text or "").startswith("-")]
        return Effect(R0, None) if len(operands) <= known["operands"][name] else None
    if name == "date" and not all((word.text or "?")[0] in "+-" for word in words):
        return None  # a bare word sets the clock, or is the value of an option
    for kind, reads in (("names_unless", paths_of(words)), ("looks_unless", None)):
        if name in known[kind] and not given(words, known[kind][name]):
            return Effect(R0, reads, varies=name == "date")
    return None


def _options(words: Sequence[Word], allowed: str) -> bool:
    """Whether all words are told and all options are single letters among `allowed`."""
    return all(
        word.text is not None
        and not word.pattern
        and (not word.text.startswith("-") or set(word.text[1:]) <= set(allowed))
        for word in words
    )


def _mkdir(words: Sequence[Word]) -> Effect:
    if _options(words, "pv") and given(words, ["-p"]):
        return Effect(R1, NOTHING, paths_of(words), why="mkdir -p")
    return Effect(R2, None, None, why="mkdir without -p is refused the second time")


def _copy(words: Sequence[Word]) -> Effect:
    operands = [word for word in words if not (word.text or "").startswith("-")]
    if _options(words, "fpv") and len(operands) > 1:
        return Effect(R1, paths_of(operands[:-1]), paths_of(operands[-1:]), why="cp")
    return Effect(R2, None, None, why="cp of more than named files")


def _remove(words: Sequence[Word]) -> Effect:
    if given([w for w in words if w.text is not None], ["-r", "-R", "--recursive"]):
        return Effect(R3, None, None, why="rm -r destroys what is not recorded")
    if _options(words, "fv") and given(words, ["-f"]):
        return Effect(R1, NOTHING, paths_of(words), why="rm -f")
    return Effect(R2, None, None, why="rm is refused the second time")


def _touch(words: Sequence[Word]) -> Effect:
    if _options(words, "c"):
        return Effect(R1, NOTHING, paths_of(words), why="touch")
    return unknown("touch")


def _tee(words: Sequence[Word]) -> Effect:
    if _options(words, "i"):
        return Effect(R1, NOTHING, paths_of(words), why="tee")
    return Effect(R2, None, None, why="tee that may append")


def _chmod(words: Sequence[Word]) -> Effect:
    mode = next((word.text or "" for word in words), "")
    plain = mode.isdigit() or (mode[-1:] in "rwx" and set(mode) <= set("ugoa+-=rwx") and mode)
    if plain and _options(words[1:], "fv"):
        return Effect(R1, NOTHING, paths_of(words[1:]), why="chmod")
    return unknown("chmod")


def _link(words: Sequence[Word]) -> Effect:
    if _options(words, "sfnTv") and all(given(words, [o]) for o in ("-s", "-f", "-n")):
        return Effect(R1, NOTHING, paths_of(words[-1:]), why="ln -sfn")
    return Effect(R2, None, None, why="ln is refused, or links within, the second time")


def _sed(words: Sequence[Word]) -> Effect:
    told = _sed_words(words)
    if told is None or not told.scripts:
        return unknown("sed")
    script = "\n".join(told.scripts)
    if not sed_script.prints_only(script):
        return Effect(R2, None, None, why="sed: a script that writes, or is not followed")
    if not told.in_place:
        return Effect(R0, paths_of(told.files))
    files = paths_of(told.files)
    if sed_script.settles(script, extended=told.extended):
        return Effect(R1, files, files, why="sed -i that finds nothing the second time")
    return Effect(R2, None, None, why="sed -i may change the file again")


def _awk(words: Sequence[Word]) -> Effect:
    """A read if its program holds no sign or word by which awk writes or runs anything."""
    rest = list(words)
    while rest and (rest[0].text or "").startswith("-"):
        option = rest.pop(0).text or ""
        if option[:2] not in ("-F", "-v") or (len(option) == 2 and not rest):
            return unknown("awk")
        if len(option) == 2:
            rest.pop(0)
    program = rest[0].text if rest else None
    if program is None or any(sign in program for sign in (">", "|", "system", "@", "close")):
        return unknown("awk")
    return Effect(R0, paths_of(rest[1:]))


@dataclass(slots=True)
class _SedWords:
    scripts: list[str]
    files: list[Word]
    in_place: bool = False
    extended: bool = False


def _sed_words(words: Sequence[Word]) -> _SedWords | None:
    """Sed's arguments taken apart; None for what is not known: -f, a backup, a variable."""
    told = _SedWords([], [])
    rest = list(words)
    while rest:
        word = rest.pop(0)
        text = word.text
        if text is None:
            return None
        if text in ("--in-place", "--quiet", "--silent", "--regexp-extended", "--posix"):
            told.in_place |= text == "--in-place"
            told.extended |= text == "--regexp-extended"
        elif text.startswith("--expression="):
            told.scripts.append(text.partition("=")[2])
        elif text.startswith("-") and text != "-" and not text.startswith("--"):
            if not _sed_letters(text[1:], rest, told):
                return None
        elif text.startswith("--"):
            return None
        else:
            told.files.append(word)
    if not told.scripts and told.files:
        first = told.files.pop(0)
        told.scripts.append(first.text or "")
    return told


def _sed_letters(letters: str, rest: list[Word], told: _SedWords) -> bool:
    """One cluster such as -nE or -i; False if it says something that is not known."""
    for number, letter in enumerate(letters):
        left = letters[number + 1 :]
        if letter == "i":
            told.in_place = True
            return not left  # a backup file's ending
        if letter == "e":
            script = left or (rest.pop(0).text if rest else None)
            told.scripts.append(script or "")
            return bool(script)
        if letter in "Er":
            told.extended = True
        elif letter not in "nsuz":
            return False
    return True


_WRITERS: Mapping[str, Callable[[Sequence[Word]], Effect]] = MappingProxyType(
    {
        "awk": _awk,
        "gawk": _awk,
        "mawk": _awk,
        "chmod": _chmod,
        "cp": _copy,
        "ln": _link,
        "mkdir": _mkdir,
        "rm": _remove,
        "sed": _sed,
        "tee": _tee,
        "touch": _touch,
    }
)
