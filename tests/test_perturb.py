"""Perturbed instances: other rows, the same keys, no reference lost."""

import sqlite3

import pytest

from workbench.perturb import perturbed
from workbench.schema import ForeignKey, Schema

DDL = """
CREATE TABLE town (code TEXT PRIMARY KEY, name TEXT NOT NULL, nick TEXT UNIQUE);
CREATE TABLE club (id INTEGER PRIMARY KEY, town TEXT REFERENCES town, founded INTEGER, rival INTEGER REFERENCES club);
CREATE TABLE plays (club INTEGER, town TEXT NOT NULL, day TEXT, PRIMARY KEY (club, town), FOREIGN KEY (club) REFERENCES club);
CREATE INDEX by_day ON plays (day);
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "d.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(DDL)
        connection.executemany(
            "INSERT INTO town VALUES (?, ?, ?)", [(f"t{i}", f"Town {i % 7}", f"n{i}") for i in range(40)]
        )
        clubs = [(i, f"t{i % 40}", 1900 + i % 9, i // 2 or None) for i in range(1, 120)]
        connection.executemany("INSERT INTO club VALUES (?, ?, ?, ?)", clubs)
        plays = [(i, f"t{j}", f"2020-01-{i % 28 + 1:02d}") for i in range(1, 80) for j in range(i % 4)]
        connection.executemany("INSERT INTO plays VALUES (?, ?, ?)", plays)
    connection.close()
    stated = [("plays", ForeignKey(("town",), "town", ("code",), is_declared=False))]
    return path, Schema.from_sqlite(path).with_foreign_keys(stated)


def _rows(connection, table):
    return connection.execute(f"SELECT * FROM {table}").fetchall()


@pytest.mark.parametrize("seed", range(5))
def test_keys_and_references_hold(source, seed):
    path, schema = source
    connection = perturbed(path, schema, seed)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute("SELECT COUNT(*) FROM plays WHERE town NOT IN (SELECT code FROM town)").fetchone() == (0,)
    connection.close()


def test_rows_are_deleted_repeated_changed_and_moved(source):
    path, schema = source
    before, after = sqlite3.connect(path), perturbed(path, schema, 0)
    old, new = ({row[0]: row for row in _rows(one, "club")} for one in (before, after))
    assert set(old) - set(new) and set(new) - set(old)
    assert any(new[key] != old[key] for key in set(new) & set(old))
    assert any(row[2] is None for row in new.values())
    assert {row[2] for row in new.values()} - {None} <= {row[2] for row in old.values()}
    assert [row[0] for row in _rows(after, "town")] != sorted(row[0] for row in _rows(after, "town"))
    assert all(row[1] is not None for row in _rows(after, "town"))
    before.close()
    after.close()


def test_the_seed_decides(source):
    path, schema = source
    contents = []
    for seed in (1, 1, 2):
        connection = perturbed(path, schema, seed)
        contents.append([_rows(connection, table) for table in ("town", "club", "plays")])
        connection.close()
    assert contents[0] == contents[1] != contents[2]


def test_a_reference_to_a_number_that_is_written_as_a_text_keeps_its_row(tmp_path):
    path = tmp_path / "d.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a TEXT REFERENCES a, n INTEGER)"
        )
        connection.executemany("INSERT INTO a VALUES (?)", [(i,) for i in range(30)])
        connection.executemany("INSERT INTO b VALUES (?, ?)", [(str(i), i) for i in range(30)])
    connection.close()
    found = perturbed(path, Schema.from_sqlite(path), 3)
    assert found.execute("PRAGMA foreign_key_check").fetchall() == []
    assert found.execute("SELECT COUNT(*) FROM b").fetchone()[0] > 20
    found.close()
