"""The gate's look at a statement's tree, as sqlglot reads it: what tokens alone do not show.

In: tokens (gate_tokens.py) and a dialect. Out: why the statement is not run, if so, and whether it could be read.
sqlglot gets a copy of the statement whose strings and names hold nothing remarkable, and a bounded number of steps.
"""

import functools
import re

import sqlglot
from sqlglot import exp

from workbench.gate_tokens import Token

LONGEST_TREE, DEEPEST_TREE = 30_000, 100  # tokens and open brackets that sqlglot is trusted with: 0.4 s
NESTING = {"(": 1, "[": 1, "CASE": 1, ")": -1, "]": -1, "END": -1}
LONG_LIST = 100  # constants one after the other; sqlglot does not get to see more
MOVES = 20  # of sqlglot's parser for each token: real statements take 1, `STRUCT(STRUCT(` and so on 2 ** depth
WALLED = ("sqlite", "postgres", "mysql", "duckdb")  # what sqlglot cannot read is left to these engines
# Table names that DuckDB takes for files, whether quoted or not: by their ending alone where it may not reach outside.
FILE_NAME = re.compile(
    r"://|\.(csv|tsv|txt|jsonl?|ndjson|geojson|parquet|arrow|db|duckdb|sqlite|xlsx|gz|zst)(\?|$)", re.IGNORECASE
)
READS = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery, exp.Table)
# Parts of a tree that write, lock or command.
DENIED_NODES = {
    exp.DDL: "it defines or changes data",
    exp.DML: "it changes data",
    exp.Command: "it is a command",
    exp.Into: "INTO writes its result",
    exp.Lock: "it locks rows",
    exp.Set: "it changes settings",
    exp.Pragma: "it is a PRAGMA",
}
DENIED_ARGUMENTS = {"settings": "SETTINGS", "format": "FORMAT"}


class TooMuch(Exception):
    """Too long or too deep a statement, or too many steps for it."""


def check_tree(tokens: list[Token], dialect: str) -> tuple[tuple[str, str] | None, bool]:
    """The verdict of a look at sqlglot's tree, and whether sqlglot could read it."""
    depth = deepest = 0
    for token in tokens:
        depth += NESTING.get(token.text if token.kind == "other" else token.upper, 0)
        deepest = max(deepest, depth)
    try:
        tokens = without_long_lists(tokens)
        if len(tokens) > LONGEST_TREE or deepest > DEEPEST_TREE:
            raise TooMuch
        statements = _parse(skeleton(tokens, dialect), dialect)
    except Exception as error:  # noqa: BLE001 whatever sqlglot stumbles over in hostile text, it could not read it
        if dialect in WALLED:
            return None, False
        if isinstance(error, (RecursionError, TooMuch)):
            return ("refused", "it is too long or too deep to be read"), False
        return ("syntax_error", f"not readable as {dialect}: {_said(error)}"), False
    statements = [tree for tree in statements if tree and not isinstance(tree, exp.Semicolon)]
    reason = _check_nodes(statements[0], dialect) if len(statements) == 1 else "it is not one statement"
    return reason and ("refused", reason), True


def without_long_lists(tokens: list[Token]) -> list[Token]:
    """Without the end of long lists of constants, as after IN."""
    kept, constants = [], 0
    for i, token in enumerate(tokens):
        if token.kind in ("number", "string"):
            constants += 1
        elif token.text != ",":
            if constants > LONG_LIST and kept[-1].text == "," != tokens[i - 1].text:
                kept.append(tokens[i - 1])
            constants = 0
        if constants <= LONG_LIST:
            kept.append(token)
    return kept


def _parse(sql: str, dialect: str) -> list[exp.Expr | None]:
    """What sqlglot.parse gives, in a bounded number of steps."""
    reader = sqlglot.Dialect.get_or_raise(dialect)
    tokens = reader.tokenize(sql)
    parser = _bounded(reader.parser_class)(dialect=reader)
    parser.moves_left = MOVES * (len(tokens) + 20)
    return parser.parse(tokens, sql)


@functools.cache
def _bounded(kind: type) -> type:
    class Bounded(kind):
        def _advance(self, times: int = 1) -> None:
            self.moves_left -= 1
            if self.moves_left < 0:
                raise TooMuch
            super()._advance(times)

    return Bounded


def skeleton(tokens: list[Token], dialect: str) -> str:
    """The statement for sqlglot: without comments, and with strings and names that hold nothing to stumble over."""
    parts, end = [], 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        parts += [" " if token.start > end else "", token.plain]
        end = token.start + len(token.text)
        is_set = dialect == "clickhouse" and token.upper in ("UNION", "INTERSECT", "EXCEPT")
        if is_set and following is not None and (following.text == "(" or following.upper == "SELECT"):
            parts.append(" DISTINCT")  # which of the two a bare UNION means is a setting; sqlglot wants it said
    return "".join(parts)


def _said(error: Exception) -> str:
    if isinstance(error, sqlglot.ParseError) and error.errors:
        first = error.errors[0]
        return f"{first['description']}, line {first['line']}, column {first['col']}"
    return str(error).split("\n")[0]


def _check_nodes(root: exp.Expr, dialect: str) -> str | None:
    for node in root.walk():
        for kind, reason in DENIED_NODES.items():
            if isinstance(node, kind):
                return reason
        for argument, word in DENIED_ARGUMENTS.items():
            if isinstance(node, exp.Query) and node.args.get(argument):
                return f"it has {word}"
        if dialect == "duckdb" and isinstance(node, exp.Table) and not isinstance(node.this, exp.Func):
            name = ".".join(part.name for part in node.parts)
            if FILE_NAME.search(name):
                return "it reads a file as a table"
    return None if isinstance(root, READS) else "it is not a query"
