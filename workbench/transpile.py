"""What sqlglot alone makes of a query for another engine: the alternative that the plan language is measured against.

In: SQLite's SQL, a schema, an engine's dialect in sqlglot's word. Out: SQL. `transpile` is what anybody calls first;
`transpile_repaired` is as strong as sqlglot's own tools get: names spelled as the schema has them and quoted, every
column qualified, "text" that names no column written as text.
"""

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from workbench.errors import ParseError
from workbench.schema import Schema

_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "text": "TEXT", "blob": "BLOB"}
logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings are findings here, not news for a terminal


def transpile(sql: str, schema: Schema, dialect: str) -> str:
    """sqlglot.transpile; ParseError where it refuses."""
    try:
        return sqlglot.transpile(sql, read="sqlite", write=dialect)[0]
    except (SqlglotError, RecursionError) as fault:
        raise ParseError(str(fault).splitlines()[0], where="sqlglot") from fault


def transpile_repaired(sql: str, schema: Schema, dialect: str) -> str:
    """The same after texts are repaired and every name is qualified, spelled as in the schema and quoted."""
    try:
        tree = sqlglot.parse_one(sql, read="sqlite")
        repair_texts(tree, schema)
        lowered = {
            table.name.lower(): {column.name.lower(): _TYPES[column.kind] for column in table.columns}
            for table in schema.tables
        }
        tree = qualify(tree, schema=lowered, dialect="sqlite", identify=False, validate_qualify_columns=False)
        for scope in traverse_scope(tree):
            _spell(scope, schema)
        return tree.sql(dialect, identify=True)
    except (SqlglotError, OptimizeError, RecursionError) as fault:
        raise ParseError(str(fault).splitlines()[0], where="sqlglot") from fault


def repair_texts(tree: exp.Expr, schema: Schema) -> None:
    """ "text" -> 'text' where it is the name of no column and of no alias."""
    names = {column.name.lower() for table in schema.tables for column in table.columns}
    names |= {node.alias.lower() for node in tree.find_all(exp.Alias, exp.TableAlias) if node.alias}
    names |= {column.name.lower() for node in tree.find_all(exp.TableAlias) for column in node.columns}
    for column in list(tree.find_all(exp.Column)):
        is_quoted = isinstance(column.this, exp.Identifier) and column.this.quoted
        if is_quoted and not column.table and column.name.lower() not in names:
            column.replace(exp.Literal.string(column.name))


def _spell(scope: Scope, schema: Schema) -> None:
    for column in scope.columns:
        source = scope.sources.get(column.table)
        table = schema.table(source.name) if isinstance(source, exp.Table) else None
        found = table.column(column.name) if table is not None else None
        if found is not None:
            column.this.set("this", found.name)
    for source in scope.sources.values():
        table = schema.table(source.name) if isinstance(source, exp.Table) else None
        if table is not None:
            source.this.set("this", table.name)
