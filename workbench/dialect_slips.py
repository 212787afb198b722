"""SQL of an engine as a simulated model writes it: right, or with one slip that is typical of that engine.

In: SQLite's SQL, an engine's name, the schema, a draw. Out: SQL. Right means what the plan compiler writes. A slip is what
models that know SQLite best do elsewhere; whether it costs the answer is the engine's to say.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from workbench.backends import BACKENDS
from workbench.errors import WorkbenchError
from workbench.mutation_names import read_query
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan
from workbench.transpile import transpile_repaired

Slip = Callable[[exp.Query, str, str], str]
_PARTS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`")
_QUOTE = {"mysql": "`"}  # elsewhere the standard's


@lru_cache(maxsize=8192)
def right_sql(sql: str, engine: str, schema: Schema) -> str:
    """SQLite's SQL in an engine's words; what neither the compiler nor sqlglot can write stays as it is."""
    if engine == "sqlite":
        return sql
    try:
        return plan_to_sql(sql_to_plan(sql, schema), engine)
    except WorkbenchError:
        return _transpiled(sql, engine, schema)


@lru_cache(maxsize=8192)
def _transpiled(sql: str, engine: str, schema: Schema) -> str:
    try:
        return transpile_repaired(sql, schema, BACKENDS[engine].dialect)
    except WorkbenchError:
        return sql


def slipped_sql(sql: str, engine: str, schema: Schema, draw: Random, rate: float) -> str | None:
    """The SQL with one slip, or None where this draw makes none. rate: of slips, weighed by the engine's own."""
    if engine not in SLIPS or draw.random() >= rate * ENGINE_WEIGHTS[engine]:
        return None
    try:
        tree = read_query(sql, schema)
    except WorkbenchError:
        return None
    written = _transpiled(sql, engine, schema)
    slips = list(SLIPS[engine])
    draw.shuffle(slips)
    for slip in slips:
        try:
            found = slip(tree.copy(), engine, written)
        except SqlglotError:
            continue
        if found != written:
            return found
    return written  # the words are right, what they mean on the engine (NULL order, LIKE, division) was not thought of


def plain_words(tree: exp.Query, engine: str, written: str) -> str:
    """Functions and operators of SQLite as they are: strftime, IIF, GLOB, ||, integer division."""
    return _quoted(tree.sql("sqlite", identify=True), _QUOTE.get(engine, '"'))


def unquoted_names(tree: exp.Query, engine: str, written: str) -> str:
    """Names without quotes, which PostgreSQL folds to lower case, and which may be reserved words."""
    return _PARTS.sub(lambda part: part[0] if part[0][0] == "'" else _bare(part[0]), written)


def backquoted_names(tree: exp.Query, engine: str, written: str) -> str:
    """MySQL's quotes around names."""
    return _quoted(written, "`")


def double_quoted_names(tree: exp.Query, engine: str, written: str) -> str:
    """The standard's quotes around names, which MySQL takes for texts."""
    return _quoted(written, '"')


def double_quoted_texts(tree: exp.Query, engine: str, written: str) -> str:
    """Double quotes around texts, which are names everywhere but in SQLite and MySQL."""
    return _PARTS.sub(
        lambda part: f'"{part[0][1:-1]}"' if part[0][0] == "'" and '"' not in part[0] else part[0], written
    )


def limit_with_comma(tree: exp.Query, engine: str, written: str) -> str:
    """LIMIT 0, 5, which PostgreSQL and DuckDB refuse."""
    return re.sub(r"\bLIMIT (\d+)(?: OFFSET (\d+))?", lambda found: f"LIMIT {found[2] or 0}, {found[1]}", written)


def bare_columns(tree: exp.Query, engine: str, written: str) -> str:
    """GROUP BY the first key alone, which only SQLite lets stand beside other columns."""
    changed = sqlglot.parse_one(written, read=BACKENDS[engine].dialect)
    for group in changed.find_all(exp.Group):
        if len(group.expressions) > 1:
            group.set("expressions", group.expressions[:1])
    return changed.sql(BACKENDS[engine].dialect, identify=True)


def casts_left_out(tree: exp.Query, engine: str, written: str) -> str:
    """Values compared and added up as they are, with SQLite's casts forgotten."""
    changed = sqlglot.parse_one(written, read=BACKENDS[engine].dialect)
    for cast in list(changed.find_all(exp.Cast)):
        cast.replace(cast.this)
    return changed.sql(BACKENDS[engine].dialect, identify=True)


def alias_in_condition(tree: exp.Query, engine: str, written: str) -> str:
    """HAVING by an alias of the select list, which PostgreSQL does not know there."""
    changed = sqlglot.parse_one(written, read=BACKENDS[engine].dialect)
    for select in changed.find_all(exp.Select):
        having = select.args.get("having")
        for shown in list(select.expressions) if having is not None else ():
            if not isinstance(shown, exp.AggFunc):
                continue
            for twin in [one for one in having.find_all(type(shown)) if one == shown]:
                twin.replace(exp.column("n"))
                shown.replace(exp.alias_(shown.copy(), "n"))
    return changed.sql(BACKENDS[engine].dialect, identify=True)


def _quoted(sql: str, quote: str) -> str:
    return _PARTS.sub(lambda part: part[0] if part[0][0] == "'" else quote + part[0][1:-1] + quote, sql)


def _bare(name: str) -> str:
    return name[1:-1] if re.fullmatch(r"\w+", name[1:-1]) else name


# the rate of slips on an engine beside that of a model, in the order in which the engines differ from SQLite
ENGINE_WEIGHTS = {"postgres": 1.0, "mysql": 0.55, "clickhouse": 1.25, "duckdb": 0.8}
SLIPS: dict[str, tuple[Slip, ...]] = {
    "postgres": (
        plain_words,
        unquoted_names,
        backquoted_names,
        double_quoted_texts,
        limit_with_comma,
        bare_columns,
        casts_left_out,
        alias_in_condition,
    ),
    "mysql": (plain_words, unquoted_names, double_quoted_names, bare_columns, casts_left_out),
    "clickhouse": (plain_words, unquoted_names, double_quoted_texts, bare_columns, casts_left_out),
    "duckdb": (plain_words, backquoted_names, double_quoted_texts, limit_with_comma, bare_columns, casts_left_out),
}
