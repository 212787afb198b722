"""Each dialect against SQLite on the same data: the plan's rows are SQLite's, or it is refused by name."""

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg
import pytest
import value_probes
from plan_probes import FIXTURE, QUERIES

from workbench.backends import Limits, get_backend
from workbench.backends.mysql import ask
from workbench.backends.mysql_server import CHARSET, COLLATION, MEANING
from workbench.core_functions import CORE_FUNCTIONS
from workbench.dialects import NAMES, get_dialect
from workbench.errors import EngineError, UnsupportedError
from workbench.gate import check_select
from workbench.lower import lower
from workbench.migrate import ensure_database
from workbench.plan import walk_relations
from workbench.plan_expressions import walk
from workbench.plan_to_sql import plan_to_sql
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

TYPES = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "blob": "BLOB"}
# A column holds one type outside SQLite: numbers beside text become text, as the migration does it.
MIXED = {"affinity of columns"}
# Ties or rows of no order, where SQLite's own answer is one of several
AMBIGUOUS = {
    "bare column",
    "bare column in an expression",
    "distinct ordered by an unselected column",
    "bare column of one of several tables",
}
REFUSED = {  # probe -> what the refusal names, on every typed engine
    "rowid of a table without key": "row number",
    "text functions of SQLite's own": "the function hex",
    "shift by a sum": "shift",
    "cast of a blob": "a blob as text",
    "type of a value": "the function typeof",
    "format": "format",
    "integers computed with a large constant": "integers that overflow",
    "division of a text": "integers or reals row by row",
    "sum of distinct texts": "sum of distinct texts",
    "a day past its month, moved": "days past their month's end",
    "column of a mixed union": "numbers and texts",
    "t11": "numbers and texts",
    "t13": "numbers and texts",
} | value_probes.REFUSED
LARGE = {
    "rest of a large sum": "integers that may overflow",
    "large integers beside reals": "beyond 2**53",
    "large integers and reals in one column": "beyond 2**53",
}
REFUSED_BY = {  # engine -> the same, where only it refuses
    "clickhouse": {
        "correlated over two levels": "columns of two queries",
        "window frames": "EXCLUDE",
    }
    | LARGE,
    "postgres": {"an infinite constant": "an infinite number"} | LARGE,
    "duckdb": LARGE,
    "mysql": {
        "an infinite constant": "an infinite number",
        "limit of a subquery": "a computed limit",
        "window frames": "a window's frame with groups",
        "texts joined over nothing": "the aggregate string_agg",
        "text of reals of every size": "reals from 1e15 on",
        "texts of reals joined": "reals from 1e15 on",
    }
    | LARGE,
}


BEYOND = {  # engine -> probe -> its error: too much for it, and it says so
    "clickhouse": {"many rounds": "recursive CTE evaluation depth"},
    "mysql": dict.fromkeys(
        (
            "products beyond 64 bits",
            "sums beyond 64 bits",
            "sums beyond 64 bits, used further",
            "powers beyond 64 bits",
            "aggregates of large integers",
            "rest of a large sum",
            "reals as integers",
            "rest of negatives",
        ),
        "out of range",
    ),
}


@pytest.fixture(scope="module", params=["probes", "values", "cases"])
def source(request, tmp_path_factory):
    """(path of an SQLite database, id -> (sql, is_ordered))."""
    path = tmp_path_factory.mktemp("dialects") / f"{request.param}.sqlite"
    if request.param == "probes":
        script, queries = FIXTURE, {name: (sql, False) for name, sql in QUERIES.items()}
    elif request.param == "values":
        script, queries = value_probes.FIXTURE, {name: (sql, False) for name, sql in value_probes.QUERIES.items()}
    else:
        folder = request.getfixturevalue("shared") / "semantics"
        script = (folder / "fixture.sql").read_text()
        cases = json.loads((folder / "cases.json").read_text())
        queries = {case["id"]: (case["sql"], case["ordered"]) for case in cases}
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        connection.commit()
    return path, queries


def _run_duckdb(path: Path):
    connection = duckdb.connect()
    with closing(sqlite3.connect(path)) as lite:
        for table in Schema.from_sqlite(path).with_stored_kinds(path).tables:
            columns = ", ".join(f'"{one.name}" {TYPES[one.kind]}' for one in table.columns)
            connection.execute(f'CREATE TABLE "{table.name}" ({columns})')
            rows = lite.execute(f'SELECT * FROM "{table.name}"').fetchall()
            kinds = [one.kind for one in table.columns]
            marks = ", ".join("?" * len(kinds))
            texts = [[_as(kind, v) for kind, v in zip(kinds, row, strict=True)] for row in rows]
            connection.executemany(f'INSERT INTO "{table.name}" VALUES ({marks})', texts)
    return lambda sql: connection.execute(sql).fetchall()


def _as(kind: str, value: object) -> object:
    if kind == "text" and value is not None and not isinstance(value, str):
        return value.decode() if isinstance(value, bytes) else str(value)
    return value


def _run_postgres(path: Path):
    backend = get_backend("postgres")
    try:
        backend.start()
    except EngineError as fault:
        pytest.skip(str(fault))
    connection = psycopg.connect(backend.dsn(ensure_database(backend, path, path.stem)), autocommit=True)
    return lambda sql: connection.execute(sql).fetchall()


def _run_mysql(path: Path):
    backend = get_backend("mysql")
    try:
        backend.start()
    except EngineError as fault:
        pytest.skip(str(fault))
    connection = backend.connect(ensure_database(backend, path, path.stem), "reader")
    settings = ", ".join(f"SESSION {name} = {value}" for name, value in MEANING.items())
    ask(connection, f"SET NAMES {CHARSET} COLLATE {COLLATION}, {settings}")
    return lambda sql: ask(connection, sql)


def _run_clickhouse(path: Path):
    backend = get_backend("clickhouse")
    try:
        backend.start()
    except EngineError as fault:
        pytest.skip(str(fault))
    session, database = backend.session(), ensure_database(backend, path, path.stem)

    def run(sql: str) -> list[tuple]:
        execution = session.run(database, sql, Limits())
        if execution.status != "ok":
            raise EngineError(f"{execution.message}, in {sql}")
        return execution.table.rows()

    return run


RUNNERS = {"duckdb": _run_duckdb, "postgres": _run_postgres, "mysql": _run_mysql, "clickhouse": _run_clickhouse}


@pytest.mark.parametrize("name", RUNNERS)
def test_rows_are_sqlites(source, name):
    path, queries = source
    run, schema = RUNNERS[name](path), Schema.from_sqlite(path).with_stored_kinds(path)
    wrong, refused = {}, {}
    with closing(sqlite3.connect(path)) as lite:
        for query, (sql, is_ordered) in queries.items():
            expected = _rows(lite.execute(sql).fetchall())
            try:
                written = plan_to_sql(sql_to_plan(sql, schema), name)
            except UnsupportedError as fault:
                refused[query] = str(fault)
                continue
            assert check_select(written, name) is None, written
            if query in BEYOND.get(name, {}):
                with pytest.raises(Exception, match=BEYOND[name][query]):
                    run(written)
                continue
            rows = _rows(run(written))
            if not is_ordered:
                rows, expected = sorted(rows), sorted(expected)
            if rows != expected and query not in MIXED | AMBIGUOUS:
                wrong[query] = (written, rows, expected)
    assert wrong == {}
    known = REFUSED | REFUSED_BY.get(name, {})
    assert {query for query, why in refused.items() if known.get(query, "no such refusal") not in why} == set(), refused


def _rows(rows: list[tuple]) -> list[tuple]:
    return [tuple(_plain(value) for value in row) for row in rows]


def _plain(value: object) -> str:
    """Engines differ in int and float of the same number, and in the sign of 0.0; nothing else may differ."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return f"{float(value) + 0.0:.12g}" if is_number else repr(value)


def test_mysql_quotes_the_servers_reserved_words(source):
    run = _run_mysql(source[0])
    reserved = {word.lower() for (word,) in run("SELECT word FROM information_schema.keywords WHERE reserved")}
    assert reserved - get_dialect("mysql").keywords == set()


@pytest.mark.parametrize("name", NAMES)
def test_key_file_and_name_are_one(name):
    assert get_dialect(name).name == name
    assert get_dialect(name).__module__ == f"workbench.dialects.{name}"


def test_unknown_dialect_is_named():
    with pytest.raises(EngineError, match="available: sqlite"):
        get_dialect("oracle")


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"sqlite"}))
def test_typed_dialects_write_every_core_function(name):
    dialect = get_dialect(name)
    words = {"+": "plus", "-": "minus", "*": "times", "&": "bit_and", "|": "bit_or", "<<": "shift_left"}
    words |= {">>": "shift_right", "~": "bit_not"}
    missing = [
        one
        for one in CORE_FUNCTIONS
        if one not in dialect.functions and not hasattr(dialect, "core_" + words.get(one, one).replace(" ", "_"))
    ]
    assert missing == []


def test_lowering_makes_only_known_core_functions(tmp_path):
    path = tmp_path / "probes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE)
    schema, made = Schema.from_sqlite(path), set()
    for sql in QUERIES.values():
        try:
            root = lower(sql_to_plan(sql, schema).root)
        except UnsupportedError:
            continue
        values = [value for relation in walk_relations(root) for value in relation.expressions]
        made |= {part.name for value in values for part in walk(value) if type(part).__name__ == "Core"}
    assert made <= set(CORE_FUNCTIONS)
    assert len(made) > 25
