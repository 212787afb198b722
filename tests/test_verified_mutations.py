"""Verified mutations: what is kept holds on databases that it was not chosen by, and the whole study is large enough."""

import json
import sqlite3
from collections import Counter

import polars as pl
import pytest

from workbench.benchmarks import read_benchmark
from workbench.mutation_judge import gold_answer, is_same, is_wrong, run, shape_of
from workbench.mutation_names import read_query
from workbench.perturb import perturbed
from workbench.schema import open_read_only
from workbench.verified_mutations import COLUMNS, MAX_SHARE, verified

DDL = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, age INTEGER);
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER NOT NULL REFERENCES singer, year INTEGER, price REAL);
"""
GOLDS = (
    "SELECT name, age FROM singer WHERE country = 'Peru' ORDER BY age DESC",
    "SELECT country, COUNT(*) FROM singer GROUP BY country HAVING COUNT(*) > 2",
    "SELECT s.name, c.price FROM singer AS s JOIN concert AS c ON s.id = c.singer_id WHERE c.year = 2014 AND c.price > 20",
    "SELECT name FROM singer ORDER BY age LIMIT 3",
    "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM concert WHERE year > 2015)",
    "SELECT AVG(price) FROM concert WHERE year BETWEEN 2013 AND 2015",
    "SELECT group_concat(name) FROM singer",
)


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "music" / "dev_databases" / "music"
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "music.sqlite") as connection:
        connection.executescript(DDL)
        singers = [
            (i, f"Singer {i}", ["Peru", "Chile", "France", "Togo"][i * i % 4], 18 + i * 7 % 41) for i in range(1, 41)
        ]
        connection.executemany("INSERT INTO singer VALUES (?, ?, ?, ?)", singers)
        concerts = [(i, 1 + i * 3 % 25, 2012 + i % 6, i * 37 % 90 / 2) for i in range(1, 90)]
        connection.executemany("INSERT INTO concert VALUES (?, ?, ?, ?)", concerts)
    connection.close()
    questions = [{"db_id": "music", "question": "?", "evidence": "", "SQL": sql} for sql in GOLDS]
    (tmp_path / "music" / "dev.json").write_text(json.dumps(questions))
    return read_benchmark(tmp_path / "music", databases=folder.parent)


def test_edits_are_wrong_and_rewrites_hold_elsewhere_too(benchmark):
    (frame,) = verified(benchmark)
    assert dict(frame.schema) == COLUMNS
    assert frame["gold_sql"].n_unique() == len(GOLDS) - 1  # the last has several answers
    assert frame["is_edit"].sum() > 100 and (~frame["is_edit"]).sum() > 50
    schema, path = benchmark.schema("music"), benchmark.database_path("music")
    judged, other = open_read_only(path), perturbed(path, schema, 99)
    rows = frame.select("gold_sql", "is_ordered", "is_row_count_fixed", "is_edit", "sql").rows()
    for gold, is_ordered, is_fixed, is_edit, sql in rows:
        if is_edit:
            answer = gold_answer(judged, gold, schema, is_ordered, is_fixed)
            assert is_wrong(answer, run(judged, sql), shape_of(read_query(sql, schema))), sql
        else:
            answer = gold_answer(other, gold, schema, is_ordered, is_fixed)
            assert is_same(answer, run(other, sql)), sql
    judged.close()
    other.close()


def test_the_same_seed_gives_the_same_with_and_without_the_cache(benchmark, tmp_path, monkeypatch):
    (first,), (cached,), (other,) = verified(benchmark), verified(benchmark), verified(benchmark, seed=1)
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "another"))
    (again,) = verified(benchmark)
    assert first.equals(cached) and first.equals(again) and not first.equals(other)


def test_a_metric_by_sets_of_rows_misses_edits_that_the_judge_sees(benchmark):
    """The study has something to find: BIRD's rule takes some wrong orders and counts for right."""
    (frame,) = verified(benchmark)
    with sqlite3.connect(benchmark.database_path("music")) as connection:
        missed = [
            kind
            for gold, kind, sql in frame.filter(is_edit=True).select("gold_sql", "kind", "sql").rows()
            if set(connection.execute(gold)) == set(connection.execute(sql))
        ]
    connection.close()
    assert {"turn_order", "drop_order_key"} & set(missed)


@pytest.mark.slow
def test_whole_study(shared):
    """Every distinct gold of the bundled benchmark and the Spider slice: enough of each, no kind above 15 %."""
    frames = []
    for path in ("bundled", shared / "data/spider"):
        benchmark = read_benchmark(path)
        found = pl.concat(verified(benchmark))
        frames.append(found)
        lost = benchmark.questions["gold_sql"].n_unique() - found["gold_sql"].n_unique()
        assert lost <= 0.02 * benchmark.questions["gold_sql"].n_unique()
        for (db_id,), rows in found.filter(is_edit=False).group_by("db_id"):
            schema = benchmark.schema(db_id)
            other = perturbed(benchmark.database_path(db_id), schema, 99)
            for gold, is_ordered, is_fixed, sql in rows.select(
                "gold_sql", "is_ordered", "is_row_count_fixed", "sql"
            ).rows():
                answer = gold_answer(other, gold, schema, is_ordered, is_fixed)
                assert answer is None or is_same(answer, run(other, sql)), sql
            other.close()
    frame = pl.concat(frames)
    for is_edit, wanted, kinds in ((True, 5000, 15), (False, 3000, 10)):
        some = frame.filter(is_edit=is_edit)
        assert some.height >= wanted
        counts = Counter(some["kind"])
        assert len(counts) >= kinds
        assert max(counts.values()) <= MAX_SHARE * some.height
