"""Files of queries: every form is read, a failure is a row, nothing is held, an interrupted file is not there."""

import json
import subprocess
import sys
import time
import tracemalloc

import polars as pl
import psutil
import pytest
from processes import all_end

from workbench import plan_convert
from workbench.errors import BenchmarkError, ConfigError
from workbench.plan import Plan
from workbench.plan_convert import convert
from workbench.schema import Column, Schema, Table
from workbench.stream_records import stream_records

SCHEMA = Schema((Table("pet", (Column("name", "text"), Column("age", "number"))),))
TABLES = [
    {
        "db_id": "pets", "table_names_original": ["pet"], "column_types": ["text", "text", "number"],
        "column_names_original": [[-1, "*"], [0, "name"], [0, "age"]], "primary_keys": [], "foreign_keys": [],
    }
]  # fmt: skip
TWO = [{"sql": "SELECT name FROM pet", "db_id": "pets"}, {"sql": "SELECT 'ü'", "db_id": "pets"}]

# id -> file name, content
FILES = {
    "json": ("q.json", json.dumps(TWO)),
    "json on many lines": ("q.json", json.dumps(TWO, indent=2) + "\n\n"),
    "json with a mark": ("q.json", "\ufeff" + json.dumps(TWO)),
    "jsonl": ("q.jsonl", "\n".join(map(json.dumps, TWO))),
    "jsonl named json": ("q.json", "\n".join(map(json.dumps, TWO)) + "\n"),
    "csv": ("q.csv", "sql,db_id\nSELECT name FROM pet,pets\n\"SELECT 'ü'\",pets\n"),
    "tsv": ("q.tsv", "db_id\tsql\npets\tSELECT name FROM pet\npets\tSELECT 'ü'\n"),
    "lines": ("gold.sql", "SELECT name FROM pet\tpets\n\nSELECT 'ü'\tpets\n"),
    "lines without database": ("gold.txt", "SELECT name FROM pet\nSELECT 'ü'\n"),
    "other names": ("q.json", json.dumps([{"query": r["sql"], "DB_ID": r["db_id"]} for r in TWO])),
}


@pytest.fixture
def here(tmp_path):
    (tmp_path / "tables.json").write_text(json.dumps(TABLES))
    return tmp_path


@pytest.mark.parametrize("name, content", FILES.values(), ids=FILES)
def test_every_form_is_read(here, name, content):
    (here / name).write_text(content)
    assert convert(here / name, here / "o.parquet", here / "tables.json") == {"ok": 2}
    rows = pl.read_parquet(here / "o.parquet")
    assert rows["sql"].to_list() == [row["sql"] for row in TWO]
    assert [Plan.from_json(text, SCHEMA).fields[0].name for text in rows["plan"]] == ["name", "c1"]


def test_parquet_is_read(here):
    pl.DataFrame(TWO).write_parquet(here / "q.parquet")
    assert convert(here / "q.parquet", here / "o.parquet", here / "tables.json") == {"ok": 2}


# id -> record, status, words
FAULTS = {
    "no SQL": ({"sql": "SELEC"}, "syntax_error", ""),
    "no query": ({"db_id": "pets"}, "syntax_error", "no query"),
    "a query that is a number": ({"sql": 5}, "syntax_error", "no query"),
    "unsupported": ({"sql": "DELETE FROM pet"}, "unsupported", "DELETE"),
    "unknown table": ({"sql": "SELECT 1 FROM dog"}, "unknown_table", "no table 'dog'"),
    "unknown column": ({"sql": "SELECT wage FROM pet"}, "unknown_column", "no column 'wage'"),
    "unknown database": ({"sql": "SELECT 1", "db_id": "zoo"}, "no_schema", "no database 'zoo'"),
    "lone surrogate": ({"sql": "SELECT '\ud800'"}, "ok", None),
}


@pytest.mark.parametrize("record, status, words", FAULTS.values(), ids=FAULTS)
def test_a_failure_is_a_row(here, record, status, words):
    (here / "q.json").write_text(json.dumps([TWO[0], {"db_id": "pets"} | record, TWO[1]]))
    convert(here / "q.json", here / "o.parquet", here / "tables.json")
    rows = pl.read_parquet(here / "o.parquet").to_dicts()
    assert [row["status"] for row in rows] == ["ok", status, "ok"]
    assert (rows[1]["plan"] is None) == (status != "ok")
    assert words is None or words in rows[1]["message"]


def test_a_fault_of_ours_is_a_row_too(here, monkeypatch):
    def fail(sql, schema):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(plan_convert, "sql_to_plan", fail)
    (here / "q.json").write_text(json.dumps(TWO))
    assert convert(here / "q.json", here / "o.parquet", here / "tables.json") == {"bug": 2}
    assert pl.read_parquet(here / "o.parquet")["message"][0] == "ZeroDivisionError: oops"


def test_several_processes_keep_the_order(here):
    count = 2 * plan_convert.BATCH + 7
    rows = [{"sql": f"SELECT {n} FROM pet", "db_id": "pets"} for n in range(count)]
    (here / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    counts = convert(here / "q.jsonl", here / "o.parquet", here / "tables.json", ("sqlite", "duckdb"), workers=2)
    made = pl.read_parquet(here / "o.parquet")
    assert counts == {"ok": count} and made["position"].to_list() == list(range(count))
    assert made["sql_duckdb"][count - 1] == f"SELECT {count - 1} AS c1 FROM pet"


def test_a_broken_file_leaves_nothing(here):
    (here / "q.json").write_text(json.dumps(TWO)[:-1])
    with pytest.raises(BenchmarkError, match="stops after record 1"):
        convert(here / "q.json", here / "o.parquet", here / "tables.json")
    assert sorted(path.name for path in here.iterdir()) == ["q.json", "tables.json"]


@pytest.mark.parametrize("is_list", [True, False], ids=["json", "jsonl"])
def test_memory_does_not_grow_with_the_file(tmp_path, is_list):
    path = tmp_path / "q.json"
    with path.open("w") as file:
        file.write("[" if is_list else "")
        for number in range(40_000):
            file.write((", " if is_list and number else "") + json.dumps({"sql": "x" * 500, "n": number}) + "\n")
        file.write("]" if is_list else "")
    tracemalloc.start()
    assert sum(record["n"] for record in stream_records(path)) == 40_000 * 39_999 // 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20 < path.stat().st_size


BROKEN = {
    "text after the list": ("q.json", "[{}] x", "text after the list"),
    "not json": ("q.json", '[{"a": 1}, {]', "record 1 is not JSON"),
    "deep": ("q.json", "[" * 100_000, "nested too deeply"),
    "endless number": ("q.json", '[{"a": ' + "9" * 5000 + "}]", "number too long"),
    "json under another name": ("q.xyz", '[{"sql": "SELECT 1"}]', "name it .json or .jsonl"),
    "a record that is a list": ("q.json", "[[1]]", "record 0 is a list"),
    "latin-1": ("q.csv", b"sql\nSELECT '\xe9'\n", "not UTF-8"),
    "no parquet": ("q.parquet", "PAR1", "not parquet"),
}


def test_lines_that_hold_no_object_are_rows(here):
    lines = [
        b'\xef\xbb\xbf{"sql": "SELECT 1"}',
        b"{",
        b"",
        b'{"sql": "SELECT \'\xe9\'"}',
        b'{"sql": "SELECT 2", "sql": ""}',
        b"[1]",
        b'{"sql": "SELECT 3"}',
    ]
    (here / "q.jsonl").write_bytes(b"\n".join(lines))
    assert convert(here / "q.jsonl", here / "o.parquet", here / "tables.json") == {"ok": 2, "unreadable": 4}
    rows = pl.read_parquet(here / "o.parquet")
    words = ["line 2: not JSON", "line 4: byte 0xe9", "line 5: key 'sql' stands twice", "line 6: a list"]
    assert all(word in message for word, message in zip(words, rows["message"].drop_nulls(), strict=True))


# id -> content, words
NO_QUERIES = {
    "an empty file": ("q.json", "", "holds no queries"),
    "an empty list": ("q.json", "[]", "holds no queries"),
    "no field of a query": ("q.json", '{"a": 1}', "no record has a query"),
    "a CSV without it": ("q.csv", "a,b\n1,2\n", "no record has a query"),
}


@pytest.mark.parametrize("name, content, words", NO_QUERIES.values(), ids=NO_QUERIES)
def test_a_file_without_queries_is_named(here, name, content, words):
    (here / name).write_text(content)
    with pytest.raises(BenchmarkError, match=words):
        convert(here / name, here / "o.parquet", here / "tables.json")
    assert not (here / "o.parquet").exists()


def test_the_queries_are_not_overwritten(here):
    (here / "q.json").write_text(json.dumps(TWO))
    with pytest.raises(ConfigError, match="holds the queries"):
        convert(here / "q.json", here / "q.json", here / "tables.json")
    assert json.loads((here / "q.json").read_text()) == TWO


def test_processes_end_with_a_killed_parent(here):
    rows = [{"sql": f"SELECT {n} FROM pet", "db_id": "pets"} for n in range(200_000)]
    (here / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["plan", "convert", "q.jsonl", "--schema", "tables.json", "--output", "o.parquet", "--workers", "2"]
    command = subprocess.Popen([sys.executable, "-m", "workbench.cli", *words], cwd=here)
    parent = psutil.Process(command.pid)
    while sum("spawn_main" in " ".join(child.cmdline()) for child in parent.children()) < 2:
        time.sleep(0.1)
        assert command.poll() is None
    children = parent.children(recursive=True)
    command.kill()
    command.wait()
    assert all_end(children, 10)
    assert not (here / "o.parquet").exists()


@pytest.mark.parametrize("name, content, words", BROKEN.values(), ids=BROKEN)
def test_broken_files_are_named(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BenchmarkError, match=words):
        list(stream_records(tmp_path / name))


def test_corpus_without_databases(shared, tmp_path):
    folder = shared / "data" / "bird"
    counts = convert(folder / "gold_without_database.json", tmp_path / "o", folder / "dev_tables.json")
    assert counts["ok"] >= 807 and counts.total() == 815
