"""Rows become the same table however they come, and the clock holds while values are turned over."""

import sqlite3
import sys
import time
from datetime import UTC, date, datetime, timedelta
from datetime import time as day_time
from decimal import Decimal
from uuid import UUID

import pytest
from on_time import on_time

from workbench.backends import BACKENDS, Limits, get_backend, take_rows, wire
from workbench.backends.take_rows import Rows
from workbench.backends.wire import Late
from workbench.backends.worker import LEAST_SLACK, TooMuchMemory, Worker, own_memory
from workbench.migrate import ensure_database
from workbench.result_table import ResultTable

COLUMNS = {
    "plain": [1, None, 3, 4],
    "no values": [None, None, None, None],
    "a kind that comes late": [None, None, "a", None],
    "mixed": [1, 2.5, "a", b"\xff"],
    "mixed from the last on": [1, 2, 3, "a"],
    "long numbers from the last on": [1, 2, 3, 2**70],
    "zones from the last on": [datetime(2020, 1, 1), None, datetime(2021, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)],
    "decimals": [Decimal("1.50"), None, Decimal("NaN"), Decimal("0E-9")],
    "others": [UUID(int=5), date(2020, 1, 1), day_time(3), timedelta(1, 2, 3)],
    "nested": [[1, 'a\n"', [None]], (1, {"a": [b"x", timedelta(1)]}), [], [1.5] * 3],
}


@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
@pytest.mark.parametrize("together", [1, 2**14])
@pytest.mark.parametrize("column", COLUMNS)
def test_rows_that_come_in_parts_make_the_same_table(column, together, at_once, monkeypatch):
    monkeypatch.setattr(take_rows, "TOGETHER", together)
    values = [(value, place) for place, value in enumerate(COLUMNS[column])]
    rows = Rows(time.monotonic() + 60)
    for start in range(0, len(values), at_once):
        rows.take(wire.unpack_rows, wire.pack_rows(values[start : start + at_once])[0])
    table = rows.table(["v", "place"])
    assert table == ResultTable.from_rows(["v", "place"], values)
    assert repr(table.rows()) == repr(values)
    assert [column.num_chunks for column in table.arrow.columns] == [1, 1]


@pytest.mark.parametrize(("columns", "came"), [([], []), (["a", "b"], []), ([], [(), ()])], ids=str)
def test_a_result_may_have_no_rows_or_no_columns(columns, came):
    rows = Rows(time.monotonic() + 60)
    rows.add(came)
    assert rows.table(columns) == ResultTable.from_rows(columns, came)


def test_texts_of_decimals_are_decimals():
    rows = Rows(time.monotonic() + 60)
    rows.hold_decimals([0])
    rows.add([("1.50", 1), (None, 2), ("0.000000001", 3), ("-Infinity", 4)])
    assert str([row[0] for row in rows.table("ab").rows()]) == str(
        [Decimal("1.50"), None, Decimal("0.000000001"), Decimal("-Infinity")]
    )


FLAT, DEEP = list(range(400_000)), [[[i, None], {"a": i}] for i in range(100_000)]
PACKED, _ = wire.pack_rows([(DEEP, FLAT)])
WALKS = {
    "size": lambda look: wire.size([(FLAT,)], look),
    "size, nested": lambda look: wire.size([(DEEP,)], look),
    "unpack": lambda look: wire.unpack_rows(PACKED, look),
    "to Arrow": lambda look: take_rows.to_arrow([FLAT], look),
    "to Arrow, nested": lambda look: take_rows.to_arrow([DEEP], look),
}


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_through_one_long_value_looks_at_the_clock_often(walk):
    looks = []
    WALKS[walk](lambda: looks.append(walk))
    assert len(looks) >= 20  # 400,000 values, some 16,000 at a time

    def late():
        raise Late

    with pytest.raises(Late):
        wire.take_over(WALKS[walk], late)


def test_rows_that_come_after_the_clock_is_over_are_late():
    rows = Rows(time.monotonic() - 1)
    with pytest.raises(Late):
        rows.add([(1.5,)] * take_rows.TOGETHER)


# What took seconds to turn over after it had come in time: (engine, name, SQL). t has 100 rows.
LONG = [
    ("sqlite", "mixed", "SELECT iif(x.a % 2, x.a, x.n), iif(y.a % 2, y.a, y.n) FROM t x, t y, t z"),
    ("postgres", "array", "SELECT array_agg(i) FROM generate_series(1, 4000000) i"),
    ("postgres", "json", """SELECT ('[' || repeat('"",', 5000000) || '1]')::json"""),
    ("postgres", "numeric", f"SELECT {', '.join(['i::numeric'] * 10)} FROM generate_series(1, 300000) i"),
    ("mysql", "decimal", "SELECT x.a * 1.5, y.a * 1.5, z.a * 1.5 FROM t x, t y, t z"),
    ("clickhouse", "arrays", "SELECT [number, number, number, number] FROM numbers(700000)"),
    ("clickhouse", "uuid", "SELECT generateUUIDv4(), toDecimal128(number, 5) FROM numbers(700000)"),
    ("duckdb", "struct", "SELECT {'a': x, 'b': {'c': [x, x]}} FROM range(400000) r(x)"),
    ("duckdb", "list", "SELECT list(x) FROM range(3000000) r(x)"),
]
SHORT = Limits(seconds=1.5)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Engine -> a session that has answered, and a database's name in it."""
    path = tmp_path_factory.mktemp("take_rows") / "a.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER, n VARCHAR(9))")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, f"n{i}") for i in range(100)])
    connection.close()
    found = {}

    def open_session(engine: str):
        if engine not in found:
            backend = get_backend(engine)
            if backend.find() is None:
                pytest.skip(f"{engine} is not installed")
            backend.start()
            found[engine] = backend, backend.session(), ensure_database(backend, path, "a")
        return found[engine][1:]

    yield open_session
    for backend, session, _ in found.values():
        session.close()
        backend.stop()


@pytest.mark.parametrize(("engine", "name", "sql"), [pytest.param(*case, id="-".join(case[:2])) for case in LONG])
def test_a_long_result_ends_in_time_and_the_session_goes_on(opened, engine, name, sql):
    session, database = opened(engine)

    def run():
        assert session.run(database, "SELECT count(*) FROM t", Limits()).table.rows() == [(100,)]  # it is ready
        started = time.monotonic()
        execution = session.run(database, sql, SHORT)
        took.append(time.monotonic() - started)
        return execution

    took = []
    execution = on_time(run, SHORT)
    assert execution.status == "timeout" or (execution.status == "ok" and took[-1] < SHORT.seconds + 0.5)
    assert session.run(database, "SELECT 1", Limits()).status == "ok"


def test_every_engine_has_a_long_result():
    assert {engine for engine, _, _ in LONG} == set(BACKENDS)


SCRIPT = """
import marshal, sys, time
def send(value):
    data = marshal.dumps(value)
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
    sys.stdout.buffer.flush()
send("ready")
while header := sys.stdin.buffer.read(8):
    size = marshal.loads(sys.stdin.buffer.read(int.from_bytes(header, "little")))
    held = [b"x" * 2**20 for _ in range(size >> 20)]
    time.sleep(0.3)
    send(len(held))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_a_worker_is_told_by_its_memory(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(SCRIPT)
    worker = Worker(script)
    try:
        limit = 2**26
        worker.send(limit + LEAST_SLACK // 2)
        assert worker.receive(time.monotonic() + 60, limit) == (limit + LEAST_SLACK // 2) >> 20
        worker.send(limit + LEAST_SLACK + 2**25)
        with pytest.raises(TooMuchMemory):
            worker.receive(time.monotonic() + 60, limit)
        assert limit < own_memory(worker.pid) < limit + LEAST_SLACK + 2**26
    finally:
        worker.kill()
    assert own_memory(worker.pid) == 0
