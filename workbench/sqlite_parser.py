"""Reads SQLite's SQL into sqlglot's tree, without sqlglot's own reading of function names.

In: a text. Out: the tree of its one SELECT (or VALUES, or set operation), every function an `exp.Anonymous` under the
name that was written, so that one table in sql_expressions.py says what it means. Raises ParseError for what is not
one statement of SQL, UnsupportedError for statements that read nothing.
"""

import re
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from workbench.errors import ParseError, UnsupportedError

MAX_LENGTH = 100_000  # characters; the longest query of the benchmarks has under 3000
DIALECT = SQLite()
# A number with an exponent before a sign, which sqlglot would read on into, or what a number cannot stand in
_EXPONENT = re.compile(
    r"""('(?:[^']|'')*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|(?<![\w.$])(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+(?=[+-]))""",
    re.DOTALL,
)
_PREDICATES = (exp.In, exp.Like, exp.Glob, exp.Between)  # of = 's own precedence in SQLite, tighter in sqlglot


class Parser(SQLite.Parser):
    """SQLite's, with all functions left as they are written but those with a grammar of their own."""

    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {"CAST": SQLite.Parser.FUNCTION_PARSERS["CAST"]}
    UNARY_PARSERS: ClassVar = {  # sqlglot drops +x, which in SQLite takes the affinity away
        **SQLite.Parser.UNARY_PARSERS,
        TokenType.PLUS: lambda self: exp.Anonymous(this="+", expressions=[self._parse_unary()]),
    }
    COLUMN_OPERATORS: ClassVar = {  # x::type is PostgreSQL's
        token: build for token, build in SQLite.Parser.COLUMN_OPERATORS.items() if token != TokenType.DCOLON
    }

    def _warn_unsupported(self) -> None:  # sqlglot writes a warning and reads on
        raise UnsupportedError(f"the statement {self._tokens[0].text[:20].upper()}", hint="SELECT is supported")

    def _parse_types(self, *args, **kwargs) -> exp.Expr | None:
        """The type as it was written: sqlglot maps names to its own, but their letters decide the affinity."""
        first = self._curr
        found = super()._parse_types(*args, **kwargs)
        if isinstance(found, exp.DataType) and first is not None:
            found.meta["written"] = self.sql[first.start : self._prev.end + 1]
        return found


def parse(sql: str) -> exp.Query:
    """The tree of one reading statement."""
    if len(sql) > MAX_LENGTH:
        raise UnsupportedError(f"a query of more than {MAX_LENGTH} characters")
    sql = _EXPONENT.sub(lambda found: found[0] + " " if found[0][0] in ".0123456789" else found[0], sql)
    try:
        statements = [tree for tree in Parser(dialect=DIALECT).parse(DIALECT.tokenize(sql), sql) if tree is not None]
    except SqlglotError as fault:
        raise ParseError(_first_line(fault), where=_place(fault)) from fault
    except RecursionError as fault:
        raise UnsupportedError("a query nested too deep") from fault
    if len(statements) != 1:
        raise ParseError(f"{len(statements)} statements" if statements else "no statement", hint="one SELECT is wanted")
    tree = statements[0]
    while isinstance(tree, exp.Subquery) and tree.alias == "":
        tree = tree.this
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(tree) if tree.args.get("with_") else tree
    elif not isinstance(tree, exp.Query):
        if isinstance(tree, exp.Command | exp.DDL | exp.DML | exp.Pragma) or not isinstance(tree, exp.Condition):
            raise UnsupportedError(f"the statement {type(tree).__name__.upper()}", hint="SELECT is supported")
        raise ParseError("an expression, not a statement", hint="one SELECT is wanted")
    return _regroup(tree)


def _regroup(tree: exp.Expr) -> exp.Expr:
    """SQLite reads `a = b IN (c)` as `(a = b) IN (c)`; sqlglot binds IN, LIKE, GLOB and BETWEEN tighter."""
    for node in list(tree.find_all(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)):
        right = node.expression
        if isinstance(right, _PREDICATES):
            inner = right.this
            node.replace(right)
            node.set("expression", inner)
            right.set("this", node)
    return tree


def _first_line(fault: SqlglotError) -> str:
    errors = getattr(fault, "errors", None)
    if errors:
        return f"{errors[0]['description']} near {errors[0]['highlight']!r}"
    return str(fault).splitlines()[0]


def _place(fault: SqlglotError) -> str | None:
    errors = getattr(fault, "errors", None)
    return f"line {errors[0]['line']}, column {errors[0]['col']}" if errors and errors[0].get("line") else None
