"""SQLite: the plan's semantics are its own, so every function keeps its meaning under its SQLite name."""

from typing import ClassVar

from sqlglot import exp

from workbench.dialects.base import Dialect, Names
from workbench.errors import UnsupportedError
from workbench.plan_expressions import Aggregation, Call, Collate
from workbench.plan_functions import AGGREGATES, SCALARS, WINDOWS

# https://www.sqlite.org/lang_keywords.html: those that the parser does not take as a name
KEYWORDS = """
    abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case
    cast check collate column commit conflict constraint create cross current current_date current_time
    current_timestamp database default deferrable deferred delete desc detach distinct do drop each else end escape
    except exclude exclusive exists explain fail filter first following for foreign from full generated glob group
    groups having if ignore immediate in index indexed initially inner insert instead intersect into is isnull join key
    last left like limit match materialized natural no not nothing notnull null nulls of offset on or order others outer
    over partition plan pragma preceding primary query raise range recursive references regexp reindex release rename
    replace restrict returning right rollback row rows savepoint select set table temp temporary then ties to
    transaction trigger unbounded union unique update using vacuum values view virtual when where window with without
    true false
"""
_RENAMED = {
    "char_length": "LENGTH", "substring": "SUBSTR", "if": "IIF", "format": "PRINTF", "format_date": "STRFTIME",
    "greatest": "MAX", "least": "MIN", "string_agg": "GROUP_CONCAT",
}  # fmt: skip
_OWN = ("any_value", "arg_min", "arg_max", "position")


class SQLite(Dialect):
    name = "sqlite"
    sqlglot = "sqlite"
    keywords = frozenset(KEYWORDS.split())
    types: ClassVar = {word: word.upper() for word in ("integer", "real", "text", "blob", "numeric")}
    functions: ClassVar = {
        name: _RENAMED.get(name, name.upper())
        for name in (*SCALARS, *AGGREGATES, *WINDOWS)
        if name.isidentifier() and name not in _OWN
    }
    is_native = True
    cross_join = "INNER"  # CROSS forbids SQLite to reorder the tables
    has_bare_columns = True
    no_limit = -1

    def write_position(self, value: Call, names: Names) -> exp.Expr:
        return self.call("INSTR", [self.write(arg, names) for arg in reversed(value.args)])

    def write_plus(self, value: Call, names: Names) -> exp.Expr:
        if len(value.args) == 2:
            return self.binary(exp.Add, value.args, names)
        # sqlglot has no unary plus, and a sign of no effect but on affinity: (x)+0 would change text
        return exp.Column(this=exp.Var(this=f"+{self.sql(self._within(value.args[0], names, 9))}"))

    def write_collate(self, value: Collate, names: Names) -> exp.Expr:
        inner = self._within(value.value, names, 9)
        return exp.Collate(this=inner, expression=exp.Var(this=value.collation.upper()))

    def write_current_date(self, value: Call, names: Names) -> exp.Expr:
        return exp.Var(this=value.name.upper())

    write_current_time = write_current_timestamp = write_current_date

    def write_any_value(self, value: Aggregation, names: Names) -> exp.Expr:
        """A bare column, which takes no FILTER."""
        if value.where is not None:
            raise UnsupportedError("any_value of chosen rows", where=self.name)
        return self.write(value.args[0], names)

    def write_arg_min(self, value: Aggregation, names: Names) -> exp.Expr:
        """A bare column too; the compiler sees to it that the one MIN or MAX, with its FILTER, stands beside it."""
        return self.write(value.args[0], names)

    write_arg_max = write_arg_min


DIALECT = SQLite
