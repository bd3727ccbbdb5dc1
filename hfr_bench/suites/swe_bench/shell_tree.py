"""A shell script taken apart into the simple commands it may run, by a real parser of bash.

The parser is tree-sitter's (extra `swe-bench`). It knows quoting, heredocs, substitutions, pipes,
loops and functions, and says where it could not follow: then `understood` is False. Nothing is run
or expanded: a word that only the running shell could tell has no `text`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from hfr_bench.errors import BadInputError

try:
    import tree_sitter_bash
    from tree_sitter import Language, Node, Parser
except ModuleNotFoundError as error:
    raise BadInputError(
        f"reading shell commands takes the library {error.name}: pip install 'hfr-bench[swe-bench]'"
    ) from error


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command. `text`: what the command will see; None = told only by running it.

    `pattern`: its text is a glob, which stands for whatever files there are.
    """

    text: str | None
    pattern: bool = False


UNKNOWN = Word(None)


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. `words`: name and arguments; none for a redirection of a whole block.

    `assigned`: names of variables set for it; `reads`, `writes`, `appends`: targets of `<`, `>`,
    `>>`; `stdin`: text of a here-document that holds nothing to be expanded; `statement`: number of
    the top-level statement it belongs to.
    """

    words: tuple[Word, ...]
    statement: int
    assigned: tuple[str, ...] = ()
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    appends: tuple[Word, ...] = ()
    stdin: str | None = None


@dataclass(slots=True)
class Script:
    """What a script is made of. `understood`: the parser followed all of it.

    `assigned`: variables it sets for all that follows; `functions`: names it defines; `looks`:
    statements that look at files by a glob or a test; `varies`: statements that use what differs
    from run to run ($RANDOM, $$); `carries`: what one statement finds out reaches the next ($?,
    variables filled by commands, `set -e`).
    """

    commands: list[Command] = field(default_factory=list)
    understood: bool = True
    assigned: list[str] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    looks: set[int] = field(default_factory=set)
    varies: set[int] = field(default_factory=set)
    carries: bool = False


def parse(script: str) -> Script:
    """Take a script apart. Never raises for its text: what cannot be followed is said."""
    found = Script()
    source = script.encode("utf-8", "replace")
    root = _parser().parse(source).root_node
    found.understood = not root.has_error and "\0" not in script and _covered(root, source)
    for number, child in enumerate(root.named_children):
        _Walk(found, number).visit(child)
    return found


_BLOCKS = frozenset(
    {"program", "list", "pipeline", "subshell", "compound_statement", "do_group", "if_statement"}
    | {"elif_clause", "else_clause", "while_statement", "case_statement", "case_item"}
    | {"negated_command", "for_statement", "c_style_for_statement"}
)
_SILENT = frozenset(
    {"comment", "heredoc_start", "heredoc_end", "file_descriptor", "heredoc_content"}
)
_INNER = frozenset({"command_substitution", "process_substitution"})
_TESTS = frozenset({"test_command"})
_DECLARES = frozenset({"declaration_command", "unset_command"})
_WORDS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "concatenation", "number", "expansion"}
    | {"simple_expansion", "arithmetic_expansion", "brace_expression", "variable_name"}
    | {"translated_string", "extglob_pattern", "regex", "string_content", "special_variable_name"}
    | {"binary_expression", "unary_expression", "postfix_expression", "ternary_expression"}
    | {"parenthesized_expression", "array", "subscript", "test_operator"}
)
_VARYING = re.compile(r"\$\{?(?:RANDOM|SRANDOM|SECONDS|EPOCH\w*|BASHPID|\$|!|PPID)\b|\$\$|\$!")
_CARRYING = re.compile(r"\$\{?(?:\?|PIPESTATUS)")
_GLOB = re.compile(r"(?<!\\)[*?\[]")
_BLANK = re.compile(rb"\\\r?\n|\s")
_EXPANDED = re.compile(r"^~|(?<!\\)[{}]")  # ~ and {a,b}: what they become is not looked into
_SIMPLE_ESCAPES = MappingProxyType(
    {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
)


class _Walk:
    """One top-level statement's walk; `found` collects."""

    def __init__(self, found: Script, statement: int) -> None:
        self._found = found
        self._statement = statement

    def visit(self, node: Node) -> None:
        kind = node.type
        if kind == "command":
            self._command(node, [])
        elif kind == "redirected_statement":
            self._redirected(node)
        elif kind in _BLOCKS:
            for child in node.named_children:
                self.visit(child)
        elif kind == "variable_assignment" or kind in _DECLARES:
            self._assigns(node)
        elif kind == "variable_assignments":
            for child in node.named_children:
                self._assigns(child)
        elif kind in _TESTS:
            self._found.looks.add(self._statement)
            self._inside(node)
        elif kind == "function_definition":
            self._function(node)
        elif kind in _INNER or kind in _WORDS:
            self._word(node)
        elif kind not in _SILENT:
            self._found.understood = False

    def _function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        self._found.functions.add(_text(name) if name is not None else "")
        for child in node.named_children:
            if child != name:
                self.visit(child)

    def _assigns(self, node: Node) -> None:
        """Variables that the rest of the script sees."""
        names = [node, *node.named_children] if node.type in _DECLARES else [node]
        for each in names:
            if each.type == "variable_assignment":
                self._found.assigned.append(_name_of(each))
            elif each.type == "variable_name":
                self._found.assigned.append(_text(each))
        before = len(self._found.commands)
        self._inside(node)
        self._found.carries |= len(self._found.commands) > before

    def _redirected(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child != body]
        if body is not None and body.type == "command":
            self._command(body, redirects)
            return
        if body is not None:
            self.visit(body)
        self._add([], [], redirects)  # of a whole block: it reads and writes by itself

    def _command(self, node: Node, redirects: list[Node]) -> None:
        words: list[Word] = []
        assigned = []
        redirects = list(redirects)
        for child in node.children:
            if child.type == "variable_assignment":
                assigned.append(_name_of(child))
                self._inside(child)
            elif not child.is_named:  # a word that the grammar knows by itself, such as - or ==
                words.append(Word(_text(child)))
            elif child.type == "command_name":
                words += [self._word(part) for part in child.named_children]
            elif child.type.endswith("_redirect"):
                redirects.append(child)
            elif child.type not in _SILENT:
                words.append(self._word(child))
        self._add(words, assigned, redirects)

    def _add(self, words: list[Word], assigned: list[str], redirects: list[Node]) -> None:
        """Note a command with what is redirected, however deep the grammar has put it."""
        targets: dict[str, list[Word]] = {"<": [], ">": [], ">>": []}
        stdin: str | None = None
        for redirect in redirects:
            if redirect.type == "file_redirect":
                self._file(redirect, targets, words)
            elif redirect.type == "heredoc_redirect":
                stdin = self._heredoc(redirect, targets, words)
            elif redirect.type == "herestring_redirect":
                given = [self._word(child) for child in redirect.named_children]
                stdin = given[0].text if len(given) == 1 and not given[0].pattern else None
            else:
                self._found.understood = False
        reads, writes, appends = (tuple(targets[sign]) for sign in ("<", ">", ">>"))
        self._found.commands.append(
            Command(tuple(words), self._statement, tuple(assigned), reads, writes, appends, stdin)
        )

    def _file(self, node: Node, targets: dict[str, list[Word]], words: list[Word]) -> None:
        """A redirection; words after its target are arguments that stand behind it."""
        sign = next((c.type for c in node.children if not c.is_named), "")
        where, *rest = [
            self._word(child) for child in node.named_children if child.type not in _SILENT
        ] or [UNKNOWN]
        words += rest
        if sign in ("<", "<&", "<&-"):
            targets["<"] += [where] if sign == "<" else []
        elif sign in (">&", ">&-") and (where.text or "").strip("-").isdigit():
            pass  # one stream into another, or closed
        elif sign in (">", ">|", "&>", ">&"):
            targets[">"].append(where)
        elif sign in (">>", "&>>"):
            targets[">>"].append(where)
        else:
            self._found.understood = False

    def _heredoc(self, node: Node, targets: dict[str, list[Word]], words: list[Word]) -> str | None:
        """A here-document and what stands behind its mark on the line; its text if it is plain."""
        text: str | None = ""
        quoted = any(
            set(_text(child)) & set("'\"\\")
            for child in node.named_children
            if child.type == "heredoc_start"
        )
        for child in node.named_children:
            if child.type == "heredoc_body":
                text = _text(child)
                if not quoted:
                    self._inside(child)
                    text = None if set("$`\\") & set(text) else text
            elif child.type == "file_redirect":
                self._file(child, targets, words)
            elif child.type in _WORDS or child.type in _INNER:
                words.append(self._word(child))
            elif child.type not in _SILENT:
                self.visit(child)
        return text

    def _word(self, node: Node) -> Word:
        """The word, after noting the commands within it and what it rests on."""
        self._inside(node, itself=True)
        word = _literal(node)
        if word.pattern:
            self._found.looks.add(self._statement)
        return word

    def _inside(self, node: Node, *, itself: bool = False) -> None:
        """Note every command substituted anywhere within, and variables that vary or carry."""
        text = _text(node)
        if node.type not in ("raw_string", "heredoc_body"):
            if _VARYING.search(text):
                self._found.varies.add(self._statement)
            self._found.carries |= bool(_CARRYING.search(text))
        for inner in _substitutions(node, itself=itself):
            for child in inner.named_children:
                self.visit(child)
        self._found.understood &= not node.has_error


def _covered(root: Node, source: bytes) -> bool:
    """Whether every byte but white space is part of some token: the grammar drops a word or two."""
    at = 0
    for leaf in _leaves(root):
        if _BLANK.sub(b"", source[at : leaf.start_byte]):
            return False
        at = max(at, leaf.end_byte)
    return not _BLANK.sub(b"", source[at:])


def _leaves(node: Node) -> Iterator[Node]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


def _substitutions(node: Node, *, itself: bool) -> Iterator[Node]:
    """The outermost command and process substitutions within a node."""
    if itself and node.type in _INNER:
        yield node
        return
    for child in node.named_children:
        yield from _substitutions(child, itself=True)


def _literal(node: Node) -> Word:
    """What a word node stands for, as far as its text tells."""
    kind, text = node.type, _text(node)
    if kind == "raw_string":
        return Word(text[1:-1])
    if kind in ("word", "number", "variable_name", "extglob_pattern"):
        if _EXPANDED.search(text):
            return UNKNOWN
        return Word(re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL), bool(_GLOB.search(text)))
    if kind == "string":
        inner = text[1:-1]
        if any(child.type != "string_content" for child in node.named_children) or "`" in inner:
            return UNKNOWN
        return Word(re.sub(r'\\([\\"$`])', r"\1", inner).replace("\\\n", ""))
    if kind == "ansi_c_string":
        inner = text[2:-1]
        if re.search(r"\\[^ntr\\'\"]", inner):
            return UNKNOWN
        return Word(re.sub(r"\\(.)", lambda found: _SIMPLE_ESCAPES[found[1]], inner))
    if kind == "concatenation":
        parts = [_literal(child) for child in node.named_children]
        covered = sum(len(_text(child)) for child in node.named_children)
        if covered == len(text) and all(part.text is not None for part in parts):
            whole = "".join(part.text or "" for part in parts)
            return Word(whole, any(part.pattern for part in parts))
    return UNKNOWN


def _name_of(assignment: Node) -> str:
    name = assignment.child_by_field_name("name")
    return _text(name) if name is not None else ""


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))
