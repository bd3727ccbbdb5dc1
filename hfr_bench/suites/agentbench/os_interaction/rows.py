"""A task of os_interaction, upstream's format read strictly: world, question, how it is graded.

`create.init`: scripts that make the world; `create.local`: the image. `start`: run in the session
that the agent is then given. `evaluation`: `match` (a text or {answer | regex, strip}), or `check`:
scripts, each called with the answer and with what those before it have said; null stands for
`example`, the solution.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hfr_bench.errors import BadInputError

LANGUAGES = ("bash", "python")


@dataclass(frozen=True, slots=True)
class Script:
    """A program's text, and what runs it."""

    language: str
    text: str

    def argv(self, *words: str) -> list[str]:
        """How it is run; bash counts its words from `--`, as upstream calls it."""
        if self.language == "python":
            return ["python3", "-c", self.text, *words]
        return ["bash", "-c", self.text, *(("--", *words) if words else ())]


@dataclass(frozen=True, slots=True)
class Match:
    """`answer` (to the letter) or `regex` (found anywhere); `strip`: its ends' blanks go first."""

    answer: str | None = None
    regex: str | None = None
    strip: bool = True


@dataclass(frozen=True, slots=True)
class OsRow:
    """One task. `commands`: of our own pack, the solution's; upstream's is `example` alone."""

    where: str
    question: str
    image: str
    init: tuple[Script, ...]
    start: Script | None
    check: tuple[Script | None, ...] = field(repr=False)
    match: Match | None = field(repr=False)
    example: Script | None = field(repr=False)
    commands: tuple[str, ...] = field(default=(), repr=False)
    name: str = ""

    @property
    def answered_by_example(self) -> bool:
        """Whether only running the solution tells the right answer."""
        return None in self.check


def read_row(row: Mapping[str, Any], where: str, scripts: Path) -> OsRow:
    """The task. `scripts`: the folder of its files. Raises BadInputError: where, and what."""
    question = row.get("description")
    if not isinstance(question, str) or not question:
        raise BadInputError(f"{where}: `description` must be a text")
    create, graded = row.get("create"), row.get("evaluation")
    create = create if isinstance(create, dict) else {}  # one upstream task has a list there
    if not isinstance(graded, dict) or not ("match" in graded or "check" in graded):
        raise BadInputError(f"{where}: `evaluation` needs `match` or `check`")
    read = _Reader(where, scripts)
    check = () if "match" in graded else read.optional_all(graded["check"])
    example = graded.get("example")
    made = OsRow(
        where,
        question,
        str(create.get("local", "default")),
        read.all(create.get("init", [])),
        read.one(row["start"]) if "start" in row else None,
        check,
        _match(graded["match"], where) if "match" in graded else None,
        read.one(example) if example is not None else None,
        tuple(str(command) for command in row.get("solution", ())),
        str(row.get("id") or ""),
    )
    if made.answered_by_example and made.example is None:
        raise BadInputError(f"{where}: `check` asks for an `example`, and there is none")
    return made


def _match(match: Any, where: str) -> Match:
    if isinstance(match, str):
        return Match(answer=match)
    if isinstance(match, dict) and ("answer" in match or "regex" in match):
        return Match(match.get("answer"), match.get("regex"), bool(match.get("strip")))
    raise BadInputError(f"{where}: `match` must be a text or hold `answer` or `regex`")


class _Reader:
    """Reads scripts: a text, {code} or {file}, with a language."""

    def __init__(self, where: str, folder: Path) -> None:
        self._where, self._folder = where, folder

    def all(self, scripts: Any) -> tuple[Script, ...]:
        return tuple(map(self.one, scripts if isinstance(scripts, list) else [scripts]))

    def optional_all(self, scripts: Any) -> tuple[Script | None, ...]:
        listed = scripts if isinstance(scripts, list) else [scripts]
        return tuple(None if one is None else self.one(one) for one in listed)

    def one(self, script: Any) -> Script:
        if isinstance(script, str):
            return Script("bash", script)
        if not isinstance(script, dict):
            raise BadInputError(f"{self._where}: a script is a text or an object, not {script!r}")
        language = script.get("language", "bash")
        if language not in LANGUAGES:
            raise BadInputError(
                f"{self._where}: no script in {language}; there are: {', '.join(LANGUAGES)}"
            )
        if "file" in script:
            return Script(language, self._file(str(script["file"])))
        if isinstance(script.get("code"), str):
            return Script(language, script["code"])
        raise BadInputError(f"{self._where}: a script without `file` and `code`")

    def _file(self, name: str) -> str:
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder.resolve()):
            raise BadInputError(f"{self._where}: {name} is outside of {self._folder}")
        try:
            return path.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise BadInputError(f"{self._where}: {path} cannot be read: {error}") from error
