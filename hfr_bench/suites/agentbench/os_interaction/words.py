"""A shell script cut into words and operators, quotes obeyed: pure.

Not the shell's grammar. What is hidden from a cutter of words (a command in double quotes or in
backticks, a here-document, `$'...'`) makes the text unreadable, and nothing is guessed of it.
"""

import re

OPERATORS = (
    "&>>",
    ">>",
    ">&",
    "<&",
    "&>",
    ">|",
    "||",
    "&&",
    "|&",
    "<",
    ">",
    "|",
    "&",
    ";",
    "(",
    ")",
)
_SUM = re.compile(r"\$\(\([^()'\"]*\)\)")
_COUNT = re.compile(r"(?<![$\w])\(\([^()'\"]*\)\)")
_ASKED = re.compile(r"(?<=[\s=])\"\$\(([^()'\"`]*)\)\"(?=\s|$)")


class UnreadableError(ValueError):
    """A script with something in it that words do not tell."""


def words(script: str) -> list[str]:
    """Its words (quotes kept), operators and line ends. Raises UnreadableError."""
    text = script.replace("\\\n", " ")
    text = _COUNT.sub("true", _SUM.sub("$_", _ASKED.sub(r"$(\1)", text)))
    found: list[str] = []
    at, word = 0, ""
    while at < len(text):
        one = text[at]
        operator = next((sign for sign in OPERATORS if text.startswith(sign, at)), "")
        if text.startswith("<<", at) or one == "`" or text.startswith("$'", at):
            raise UnreadableError(f"{text[at : at + 2]!r} at {at}")
        if one in "'\"":
            end = _quoted(text, at)
            word, at = word + text[at:end], end
        elif one == "\\":
            word, at = word + text[at : at + 2], at + 2
        elif one == "#" and not word:
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif operator or one in " \t\r\n":
            found += [word] if word else []
            found += [operator or one] if operator or one == "\n" else []
            word, at = "", at + len(operator or one)
        else:
            word, at = word + one, at + 1
    return [*found, word] if word else found


def _quoted(text: str, start: int) -> int:
    """Where what is quoted ends. Raises UnreadableError if it does not, or a command is in it."""
    quote, at = text[start], start + 1
    while at < len(text):
        if text[at] == quote:
            return at + 1
        if quote == '"' and (text[at] == "`" or text.startswith("$(", at)):
            raise UnreadableError(f"a command in quotes at {at}")
        at += 2 if quote == '"' and text[at] == "\\" else 1
    raise UnreadableError(f"a quote {quote} at {start} is not closed")
