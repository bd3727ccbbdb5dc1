"""How dangerous a SQL statement is to repeat, by its text alone: pure.

R0 reads. R1: an UPDATE that sets constants where rows are chosen by what is in each of them. R2: an
INSERT, and an UPDATE that builds on what is there or picks among rows. R3: what takes rows, tables
or columns away (DELETE, DROP, TRUNCATE, ALTER, REPLACE): nothing brings them back. All that is not
understood is R2.
"""

from hfr_bench.model.record import digest
from hfr_bench.model.terms import SideEffect
from hfr_bench.suites.agentbench.dbbench.statements import (
    IDLE,
    READS,
    Statement,
    Tokens,
    constant,
)
from hfr_bench.suites.agentbench.dbbench.tokens import Kind

GONE = frozenset({"DELETE", "DROP", "TRUNCATE", "ALTER", "RENAME", "REPLACE"})
_STEADY = frozenset(
    {
        *("ABS", "CAST", "CEIL", "CEILING", "CHAR_LENGTH", "COALESCE", "CONCAT", "CONCAT_WS"),
        *("FLOOR", "GREATEST", "IF", "IFNULL", "IN", "LCASE", "LEAST", "LEFT", "LENGTH", "LOWER"),
        *("LTRIM", "MOD", "NULLIF", "REPLACE", "RIGHT", "ROUND", "RTRIM", "SUBSTR", "SUBSTRING"),
        *("TRIM", "UCASE", "UPPER", "AND", "OR", "NOT", "AS", "DECIMAL", "CHAR", "BETWEEN"),
    }
)
"""What may stand before a bracket in a condition that is the same whenever it is asked."""


def level_of(statement: Statement) -> SideEffect:
    """The level of a statement."""
    if statement.verb in READS:
        return SideEffect.QUERYABLE if _into(statement.tokens) else SideEffect.READ
    if statement.verb in IDLE:
        return SideEffect.READ
    if statement.verb in GONE:
        return SideEffect.IRREVERSIBLE
    if statement.verb == "UPDATE" and statement.plain and statement.absolute:
        steady = not statement.bounded and steady_condition(statement.where)
        return SideEffect.IDEMPOTENT if steady else SideEffect.QUERYABLE
    return SideEffect.QUERYABLE


def steady_condition(where: Tokens) -> bool:
    """Whether a row that it does not choose now is one it will not choose later, left as it is."""
    for token, after in zip(where, (*where, None)[1:], strict=True):
        if token.word == "SELECT":
            return False
        if token.kind is Kind.WORD and token.text.startswith("@"):
            return False
        opens = after is not None and after.kind is Kind.SIGN and after.text == "("
        if opens and token.kind is Kind.WORD and token.word not in _STEADY:
            return False
        if token.word.startswith("CURRENT_") or token.word in ("LOCALTIME", "LOCALTIMESTAMP"):
            return False
    return True


def natural_key(statement: Statement, columns: tuple[str, ...] = ()) -> str:
    """Digest of what a statement does: two that are worded differently may be one effect.

    An INSERT is its rows, each value by its column (`columns`: of its table, where it names none);
    an UPDATE or DELETE what is set and where. Others are their words.
    """
    if statement.plain and statement.verb == "INSERT":
        names = statement.columns or columns
        rows = [sorted(zip(map(str.lower, names), row, strict=False)) for row in statement.rows]
        return digest(["insert", statement.table.lower(), rows])
    if statement.plain and statement.verb in ("UPDATE", "DELETE") and not statement.bounded:
        sets = sorted([name.lower(), *_words(value)] for name, value in statement.sets)
        return digest([statement.verb, statement.table.lower(), sets, _words(statement.where)])
    return digest(["statement", *_words(statement.tokens)])


def _words(tokens: Tokens) -> list[str]:
    said = constant(tokens)
    if isinstance(said, str):
        return [f"'{said}"]
    found = []
    for token in tokens:
        kept = token.kind in (Kind.STRING, Kind.NUMBER)
        found.append(f"'{token.text}" if kept else token.text.lower())
    return found


def _into(tokens: Tokens) -> bool:
    return any(token.word == "INTO" for token in tokens)
