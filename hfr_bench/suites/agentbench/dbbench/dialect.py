"""A statement of MySQL's as SQLite takes it: pure.

Strings and names are quoted anew (SQLite knows no backslash, and takes double quotes for names),
comments are left out, and the three questions about what tables there are become queries. The rest
stays as it is: what SQLite does not know, it refuses in its own words.
"""

from hfr_bench.suites.agentbench.dbbench.statements import IDLE, Statement
from hfr_bench.suites.agentbench.dbbench.tokens import Kind, Token

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
_COLUMNS = "SELECT name, type FROM pragma_table_info({})"


def for_mysql(statement: Statement) -> str:
    """The text as it is; "" for a statement that has nothing to do where each stands by itself."""
    return "" if statement.verb in IDLE else statement.text


def for_sqlite(statement: Statement) -> str:
    """The text to run; "" for a statement that has nothing to do where each stands by itself."""
    if statement.verb in IDLE:
        return ""
    if not statement.tokens or not statement.verb:
        return statement.text
    if statement.verb in ("SHOW", "DESCRIBE", "DESC"):
        return _asks_for_tables(statement) or statement.text
    parts: list[str] = []
    last = 0
    for token in statement.tokens:
        parts += [" " if parts and token.start > last else "", quoted(token)]
        last = token.end
    return "".join(parts)


def quoted(token: Token) -> str:
    """A token as SQLite reads it."""
    if token.kind is Kind.STRING:
        return text(token.text)
    if token.kind is Kind.NAME or (token.kind is Kind.WORD and token.text[0].isdigit()):
        return name(token.text)  # MySQL lets a name begin with a digit
    return token.text


def text(value: str) -> str:
    """A string literal; nothing in it is read as anything else."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A quoted name, as MySQL and SQLite both take it."""
    return "`" + value.replace("`", "``") + "`"


def _asks_for_tables(statement: Statement) -> str:
    tokens = statement.tokens
    words = [token.word for token in tokens]
    if words[:2] == ["SHOW", "TABLES"] or words[:3] == ["SHOW", "FULL", "TABLES"]:
        return _TABLES
    named = [token.text for token in tokens if token.kind in (Kind.WORD, Kind.NAME)]
    if words[0] in ("DESCRIBE", "DESC") and len(named) == 2:
        return _COLUMNS.format(text(named[1]))
    if words[:2] in (["SHOW", "COLUMNS"], ["SHOW", "FIELDS"]) and len(named) >= 4:
        return _COLUMNS.format(text(named[3]))
    return ""
