"""Values on their way out of an engine: what they weigh, and that none of them, whatever it is, ends a run."""

import json
import resource
import sqlite3
from datetime import timedelta
from decimal import Decimal

import psutil
import psycopg
import pytest

from workbench.backends import BACKENDS, Limits, get_backend
from workbench.backends.wire import (
    CONTAINER,
    DEEPEST,
    LONGEST_MESSAGE,
    PLACE,
    TOO_DEEP,
    UnfitValue,
    pack_rows,
    size,
    take_over,
    unpack_rows,
)
from workbench.migrate import ensure_database
from workbench.result_table import ResultTable

LIMITS = Limits(seconds=20, rows=10_000, bytes=2**22, memory=2**30)
UNREADABLE = "a value of the result cannot be read"
ADDRESSES = 4 * 10**9  # bytes that this process may use meanwhile: what doubles with each level would stop there


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


def brackets(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


# (engine, name, SQL, the value or the status and part of the message)
CASES = [
    ("duckdb", "deepest-list", f"SELECT {brackets(DEEPEST)}", ("ok", None)),
    ("duckdb", "deeper-list", f"SELECT {brackets(DEEPEST + 1)}", ("too_large", TOO_DEEP)),
    ("duckdb", "deeper-struct", "SELECT " + "{'a': " * 150 + "1" + "}" * 150, ("too_large", TOO_DEEP)),
    ("duckdb", "long-interval", "SELECT INTERVAL '-178000000 years'", ("runtime_error", UNREADABLE)),
    ("duckdb", "interval", "SELECT to_days(2)", timedelta(days=2)),
    ("duckdb", "far-date", "SELECT [DATE '294247-01-10']", ["294247-01-10"]),
    ("duckdb", "map-of-lists", "SELECT MAP {'a': [1, NULL]}", {"a": [1, None]}),
    ("duckdb", "union", "SELECT union_value(a := 1)", 1),
    ("duckdb", "bits", "SELECT '101'::BIT", "101"),
    ("duckdb", "widest", "SELECT 340282366920938463463374607431768211455::UHUGEINT", 2**128 - 1),
    ("clickhouse", "list", f"SELECT {brackets(26)}", ("ok", None)),
    ("clickhouse", "json", "SELECT CAST(concat('{\"a\":', repeat('[', 120), repeat(']', 120), '}') AS JSON)", None),
    ("clickhouse", "map-with-tuples", "SELECT map((1, 'x'), 1)", {"(1,'x')": 1}),
    ("clickhouse", "map", "SELECT map(toDecimal32(1.5, 1), 1)", {Decimal("1.5"): 1}),
    ("clickhouse", "state", "SELECT avgState(1.5)", b"\x00\x00\x00\x00\x00\x00\xf8?\x01\x01"),
    ("clickhouse", "bytes-in-a-dynamic", "SELECT CAST(unhex('ff') AS Dynamic)", b"\xff"),
    ("clickhouse", "variant", "SELECT [CAST('a' AS Variant(UInt8, String))]", ["a"]),
    ("clickhouse", "widest", "SELECT map(toUInt256(1), toInt128(-2))", {1: -2}),
    ("clickhouse", "other-format", "SELECT 1 AS x FORMAT JSON", ("refused", "not in the format")),
    ("postgres", "json-60", "SELECT (repeat('[', 60) || repeat(']', 60))::jsonb", nested(60)),
    ("postgres", "json-900", "SELECT (repeat('[', 900) || repeat(']', 900))::jsonb", ("too_large", TOO_DEEP)),
    ("postgres", "json-3000", "SELECT (repeat('[', 3000) || repeat(']', 3000))::json", ("too_large", "deep")),
    ("postgres", "json-wide", "SELECT ('[' || repeat('[],', 100000) || '[]]')::json", ("too_large", "bytes")),
    ("postgres", "array-wide", "SELECT array_fill(0, ARRAY[900000])", ("too_large", "bytes")),
    ("postgres", "digits", "SELECT ('1' || repeat('0', 100000))::jsonb", ("runtime_error", UNREADABLE)),
    ("postgres", "half-a-character", "SELECT '\"\\ud800\"'::json", "\ufffd"),
    ("postgres", "infinite-interval", "SELECT '-infinity'::interval", "-infinity"),
    ("postgres", "range", "SELECT ARRAY['[1,5)'::int4range]", ["[1,5)"]),
    ("postgres", "rows", "SELECT ARRAY[row(1, 'x')]", ["(1,x)"]),
    ("postgres", "bits", "SELECT ARRAY[B'101']", ["101"]),
    ("mysql", "vector", "SELECT STRING_TO_VECTOR('[1,-2]')", b"\x00\x00\x80?\x00\x00\x00\xc0"),
    ("mysql", "half-a-character", "SELECT _ucs2 x'd800'", ("runtime_error", UNREADABLE)),
    ("mysql", "geometry", "SELECT ST_AsWKB(POINT(1, 1))", b"\x01\x01\x00\x00\x00" + b"\x00\x00\x00\x00\x00\x00\xf0?" * 2),
    ("mysql", "long-time", "SELECT CAST('-838:59:58.5' AS TIME(1))", -timedelta(hours=838, minutes=59, seconds=58.5)),
    ("mysql", "bits", "SELECT b'101'", b"\x05"),
    ("mysql", "year", "SELECT CAST(0 AS YEAR)", 0),
    ("mysql", "json", "SELECT JSON_ARRAY(1, NULL)", "[1, null]"),
    ("sqlite", "no-utf-8", "SELECT CAST(x'ff' AS TEXT)", ("runtime_error", "UTF-8")),
    ("sqlite", "infinity", "SELECT -9e999", float("-inf")),
]  # fmt: skip


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Engine -> a session and a database of it."""
    opened = {}
    path = tmp_path_factory.mktemp("wire") / "wire.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.close()

    def session(engine: str):
        if engine not in opened:
            backend = get_backend(engine)
            if backend.find() is None:
                pytest.skip(f"{engine} is not installed")
            backend.start()
            opened[engine] = (backend, backend.session(), ensure_database(backend, path, "wire"))
            opened[engine][1].run(opened[engine][2], "SELECT 1", LIMITS)
        return opened[engine][1:]

    yield session
    for backend, used, _ in opened.values():
        used.close()
        backend.stop()


@pytest.fixture
def bounded():
    """Little memory for this process, so that a fault ends in an error and not in the machine's want of memory."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = psutil.Process().memory_info().vms  # what other tests of this process have left is no fault
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(("engine", "sql", "expected"), [pytest.param(e, q, x, id=f"{e}-{n}") for e, n, q, x in CASES])
def test_whatever_a_value_is_the_statement_has_an_outcome(sessions, bounded, engine, sql, expected):
    session, database = sessions(engine)
    execution = session.run(database, sql, LIMITS)
    if expected is None:  # an engine's own limit
        assert execution.status == "runtime_error" or TOO_DEEP in execution.message
    elif isinstance(expected, tuple):
        assert execution.status == expected[0] and (expected[1] or "") in (execution.message or ""), execution.message
    else:
        assert execution.table.rows() == [(expected,)], execution.message
        assert ResultTable.from_bytes(execution.table.to_bytes()).rows() == [(expected,)]
    (row,) = session.run(database, "SELECT a FROM t", LIMITS).table.rows()
    assert row == (1,)


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        ("abc", 3), (b"ab", 2), (7, 8), (None, 8), (2**800, 100), (Decimal(1), 8),
        ([], CONTAINER), (["abc", 1], CONTAINER + 2 * PLACE + 11), ({"k": [1]}, 2 * CONTAINER + 3 * PLACE + 9),
        (nested(DEEPEST), DEEPEST * CONTAINER + (DEEPEST - 1) * PLACE),
    ],
    ids=["text", "bytes", "number", "null", "long-number", "decimal", "empty", "list", "dict", "deepest"],
)  # fmt: skip
def test_what_a_value_weighs(value, bytes_):
    assert size([(value, "x")]) == bytes_ + 1


def test_what_is_too_deep_is_said_and_the_deepest_comes_through():
    with pytest.raises(UnfitValue, match=TOO_DEEP) as caught:
        take_over(size, [(nested(DEEPEST + 1),)])
    assert caught.value.status == "too_large"
    rows = [(nested(DEEPEST), {"a": (1, Decimal("1.0"))})]
    packed, is_packed = pack_rows(rows)
    assert is_packed and unpack_rows(packed) == rows
    assert ResultTable.from_rows(["a", "b"], rows).rows() == rows


def test_a_nested_values_text_grows_with_the_value_and_not_with_its_depth():
    """JSON in JSON would double every quote and backslash at each level."""
    for value in (nested(16), [["\\\"'"]]):
        array = ResultTable.from_rows(["v"], [(value,)]).arrow.column(0)
        assert len(array[0].as_py()) <= 8 * len(json.dumps(value))


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (MemoryError(), "too_large", "out of memory"),
        (RecursionError("x"), "too_large", TOO_DEEP),
        (psycopg.DataError("bad"), "runtime_error", f"{UNREADABLE} (DataError: bad)"),
        (UnfitValue("refused", "as it was"), "refused", "as it was"),
    ],
    ids=["memory", "depth", "driver", "known"],
)
def test_what_an_exception_means(error, status, message):
    def read(_):
        raise error

    with pytest.raises(UnfitValue) as caught:
        take_over(read, 1)
    assert (caught.value.status, str(caught.value)) == (status, message)


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_an_error_that_quotes_a_long_value_has_a_message_of_bounded_length(sessions, engine):
    session, database = sessions(engine)
    execution = session.run(database, "SELECT CAST(repeat('a', 1000000) AS INTEGER)", LIMITS)
    assert execution.status == "type_error" and 1000 < len(execution.message) <= LONGEST_MESSAGE


def test_every_engine_has_cases():
    assert {engine for engine, *_ in CASES} == set(BACKENDS)
