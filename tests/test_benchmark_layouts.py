"""Which files make a benchmark: official layouts as unpacked, links and paths that lead elsewhere, unusable folders."""

import os
import pickle
import sqlite3
from contextlib import closing

import pytest
from benchmark_files import BIRD, CSV, GOOD, MINI, SPIDER, TABLES, make_database, make_files, problems

from workbench.benchmarks import read_benchmark
from workbench.errors import BenchmarkError

LAYOUTS = {
    "spider-dev": (
        {"dev.json": [SPIDER], "tables.json": [TABLES], "database/pets/pets.sqlite": None},
        None,
        "spider-dev",
        1,
    ),
    "spider-train": (
        {
            "train_spider.json": [SPIDER],
            "train_others.json": [SPIDER] * 2,
            "tables.json": [TABLES],
            "dev.json": [SPIDER],
        }
        | {"database/pets/pets.sqlite": None, "dev_gold.sql": "SELECT 1\tpets\n"},
        "train",
        "spider-train",
        3,
    ),
    "spider-one-train-file": (
        {"train_spider.json": [SPIDER], "train_others.json": [SPIDER] * 2, "database/pets/pets.sqlite": None},
        "train_others",
        "spider-train-others",
        2,
    ),
    "spider-test": (
        {
            "test.json": [SPIDER],
            "test_tables.json": [TABLES],
            "test_database/pets/pets.sqlite": None,
            "dev.json": [SPIDER],
        },
        "test",
        "spider-test",
        1,
    ),
    "bird-dev": (
        {"dev.json": [BIRD], "dev_tables.json": [TABLES], "dev_databases/pets/pets.sqlite": None, "dev.sql": "x"}
        | {"dev_tied_append.json": [BIRD] * 9},
        None,
        "bird-dev",
        1,
    ),
    "bird-train": (
        {"train.json": [BIRD], "train_tables.json": [TABLES], "train_databases/pets/pets.sqlite": None},
        None,
        "bird-train",
        1,
    ),
    "bird-one-folder-deeper": (
        {"dev_20240627/dev.json": [BIRD], "dev_20240627/dev_databases/pets/pets.sqlite": None}
        | {
            "dev_20240627/._dev.json": b"\0\5\x16\7",
            "__MACOSX/dev_20240627/dev.json": b"\0",
            "__MACOSX/dev.json": b"\0",
        }
        | {"dev_20240627/dev_databases/pets/._pets.sqlite": b"\0\5\x16\7", ".DS_Store": b"\0"},
        None,
        "bird-dev",
        1,
    ),
    "minidev-two-folders-deeper": (
        {f"minidev/MINIDEV/mini_dev_{engine}.json": records for engine, records in MINI.items()}
        | {"minidev/MINIDEV/dev_databases/pets/pets.sqlite": None, "minidev/MINIDEV/mini_dev_sqlite.jsonl": "broken"},
        "dev",
        "bird-minidev",
        1,
    ),
    "minidev-hugging-face": (
        {"mini_dev_sqlite-00000-of-00001.json": MINI["sqlite"], "mini_dev_pg-00000-of-00001.json": MINI["postgresql"]}
        | {"mini_dev_mysql-00000-of-00001.json": MINI["mysql"], "dev_databases/pets/pets.sqlite": None},
        None,
        "bird-minidev",
        1,
    ),
    "kaggledbqa": (
        {
            "examples/pets_test.json": [SPIDER],
            "examples/zoo_test.json": [SPIDER] * 2,
            "examples/pets.json": [SPIDER] * 4,
        }
        | {
            "examples/pets_fewshot.json": [SPIDER] * 3,
            "KaggleDBQA_tables.json": [TABLES],
            "databases/pets/pets.sqlite": None,
        },
        None,
        "kaggledbqa",
        3,
    ),
    "kaggledbqa-fewshot": (
        {
            "examples/pets_test.json": [SPIDER],
            "examples/pets_fewshot.json": [SPIDER] * 3,
            "databases/pets/pets.sqlite": None,
        },
        "fewshot",
        "kaggledbqa-fewshot",
        3,
    ),
    "plain-json": (
        {"questions.json": [{"db": "pets", "Question": "?", "gold": "SELECT 1"}], "pets.sqlite": None},
        None,
        "x",
        1,
    ),
    "plain-jsonl": (
        {"my.jsonl": '{"db_id": "pets", "question": "?", "sql": "SELECT 1"}\n\n' * 2, "pets/data.db": None},
        None,
        "x",
        2,
    ),
    "plain-one-line-jsonl": (
        {"my.jsonl": '{"db_id": "pets", "question": "?"}', "databases/pets.sqlite": None},
        None,
        "x",
        1,
    ),
    "plain-csv": ({"my.csv": "\ufeff" + CSV, "pets/pets.sqlite3": None}, None, "x", 2),
    "plain-among-others": (
        {"my.csv": CSV, "cities.csv": "a,b\n1,2\n", "predict_x.json": [BIRD], "notes.json": [1], "pets.db": None},
        None,
        "x",
        2,
    ),
    "plain-two-splits": ({"one.csv": CSV, "two.csv": CSV, "pets.db": None}, "two", "x-two", 2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path, layout):
    files, split, name, questions = LAYOUTS[layout]
    benchmark = read_benchmark(make_files(tmp_path / "X", files), split)
    assert (benchmark.name, benchmark.questions.height) == (name, questions)
    assert not [problem for problem in benchmark.problems if "gold_sql" not in problem.what], problems(benchmark)
    assert benchmark.questions["question"].null_count() == 0
    with closing(sqlite3.connect(benchmark.database_path("pets"))) as connection:
        assert connection.execute("SELECT name FROM pet").fetchall() == [("Rex",)]
    assert benchmark.schema("pets").tables[0].name == "pet"
    has_tables = any(file.endswith("tables.json") for file in files)
    assert benchmark.schema("pets").tables[0].natural_name == ("house pet" if has_tables else None)
    assert pickle.loads(pickle.dumps(benchmark)).questions.equals(benchmark.questions)


def test_databases_elsewhere(tmp_path):
    questions = make_files(tmp_path / "q", {"dev.json": [SPIDER], "tables.json": [TABLES]})
    for place in ("flat/pets.sqlite", "usual/pets/pets.sqlite", "whole/database/pets/pets.sqlite"):
        make_database(tmp_path / place)
    for folder in ("flat", "usual", "whole"):
        benchmark = read_benchmark(questions, databases=tmp_path / folder)
        assert benchmark.database_path("pets").is_relative_to(tmp_path / folder) and benchmark.problems == []
    with pytest.raises(BenchmarkError, match="is no folder of databases"):
        read_benchmark(questions, databases=tmp_path / "nowhere")


# --- nothing outside the folder is read

SECRET = "top secret"
LINKS = {  # link inside the benchmark -> what it points at outside
    "database-file": ("database/pets/pets.sqlite", "outside/secret.sqlite"),
    "database-folder": ("database/pets", "outside"),
    "all-databases": ("database", "outside"),
    "descriptions": ("database/pets/database_description", "outside/notes"),
    "tables": ("tables.json", "outside/tables.json"),
}


@pytest.mark.parametrize("link", LINKS)
def test_links_that_lead_outside_are_not_followed(tmp_path, link):
    notes = f"original_column_name,column_name,column_description,value_description\nid,{SECRET},{SECRET},\n"
    secret = TABLES | {"table_names": [SECRET]}
    make_files(
        tmp_path / "outside",
        {"tables.json": [secret], "notes/pet.csv": notes, "secret.sqlite": None, "pets.sqlite": None},
    )
    make_database(tmp_path / "outside" / "pets" / "pets.sqlite")
    folder = make_files(tmp_path / "in", {"dev.json": [SPIDER]})
    inside = folder / LINKS[link][0]
    if link in ("descriptions", "tables"):
        make_database(folder / "database" / "pets" / "pets.sqlite")
    inside.parent.mkdir(parents=True, exist_ok=True)
    inside.symlink_to(tmp_path / LINKS[link][1])
    benchmark = read_benchmark(folder)
    if link in ("descriptions", "tables"):
        assert SECRET not in str(benchmark.schema("pets"))
    else:
        assert "database pets" in problems(benchmark)
        with pytest.raises(BenchmarkError):
            benchmark.database_path("pets")
    assert inside.exists()  # the link itself works: it was refused, not missed


def test_links_inside_work_and_loops_do_not_hang(tmp_path):
    folder = make_files(tmp_path / "in", {"dev.json": [SPIDER, SPIDER | {"db_id": "loop"}], "files/a.sqlite": None})
    (folder / "database" / "pets").mkdir(parents=True)
    (folder / "database" / "pets" / "pets.sqlite").symlink_to(folder / "files" / "a.sqlite")
    (folder / "database" / "loop").symlink_to(folder / "database" / "loop")
    benchmark = read_benchmark(folder)
    assert benchmark.database_path("pets").is_file() and len(benchmark.problems) == 1
    (tmp_path / "link").symlink_to(folder)  # the user's own link to the benchmark
    assert read_benchmark(tmp_path / "link").database_path("pets").is_file()


def test_question_file_link_outside_is_refused(tmp_path):
    make_files(tmp_path, {"outside.json": [SPIDER], "in/readme.txt": "x"})
    (tmp_path / "in" / "dev.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(BenchmarkError, match=r"dev\.json: a link that leads out"):
        read_benchmark(tmp_path / "in")


# --- what cannot be used at all

BAD = {  # files, path below the folder, split, words of the error
    "nothing": ({}, "", None, "no question file in this folder (looked for dev.json"),
    "missing-folder": ({"spider/dev.json": [SPIDER]}, "spyder", None, "no such file or folder (did you mean spider?)"),
    "missing-parent": ({}, "a/b/c", None, "is not there either"),
    "zip-beside": ({"dev.zip": b"PK\3\4"}, "", None, "dev.zip is there but not unpacked"),
    "zip-itself": ({"dev.zip": b"PK\3\4"}, "dev.zip", None, "not a question file (unpack it)"),
    "zip-as-json": ({"dev.json": b"PK\3\4\0"}, "", None, "is a zip archive (unpack it)"),
    "sql-file": ({"dev.sql": "SELECT 1"}, "dev.sql", None, "not a question file (wanted: .json"),
    "tables-only": ({"tables.json": [TABLES]}, "", None, "tables.json is there, but no dev.json"),
    "broken-json": (
        {"dev.json": '[\n{"db_id": "a",\n"question" "b"}]'},
        "",
        None,
        "dev.json: line 3: not JSON: Expecting ':'",
    ),
    "broken-jsonl": (
        {"dev.jsonl": '{"db_id": "a", "question": "b"}\n\n{"db_id"'},
        "",
        None,
        "dev.jsonl: line 3: not JSON",
    ),
    "not-utf8": (
        {"dev.json": b'[{"db_id": "a",\n"question": "\xe9"}]'},
        "",
        None,
        "line 2: byte 0xe9 is not UTF-8 text",
    ),
    "object": ({"dev.json": {"data": [SPIDER]}}, "", None, "holds an object, a list of records is wanted"),
    "empty-list": ({"dev.json": []}, "", None, "dev.json: holds no question"),
    "empty-file": ({"dev.json": ""}, "", None, "dev.json: holds no question"),
    "numbers": ({"dev.json": [1, 2]}, "", None, "no field question (found: a number)"),
    "other-fields": ({"dev.json": [{"db_id": "a", "sql": "b"}]}, "", None, "no field question (found: db_id, sql)"),
    "all-unsafe": (
        {"dev.json": [GOOD | {"db_id": "../x"}]},
        "",
        None,
        "none of its 1 questions can be used; dev.json, position 0",
    ),
    "deep-json": ({"dev.json": "[" * 100_000}, "", None, "dev.json: nested too deeply"),
    "long-number": ({"dev.json": "[" + "9" * 5000 + "]"}, "", None, "4300 digits"),
    "ragged-csv": ({"q.csv": "db_id,question\na,b,c\n"}, "", None, "q.csv: line 2: 3 cells under 2 column names"),
    "open-quote": ({"q.csv": 'db_id,question\na,"b\n'}, "", None, "q.csv: line 2: not CSV"),
    "false-parquet": ({"q.parquet": b"PAR1 db_id question PAR1"}, "", None, "q.parquet: not parquet"),
    "no-such-split": (
        {"dev.json": [SPIDER], "test.json": [SPIDER]},
        "",
        "train",
        "no split 'train' (available: dev, test)",
    ),
    "two-files": ({"a.csv": CSV, "b.csv": CSV}, "", None, "several question files (name one of: a, b)"),
    "dev-is-folder": ({"dev.json/x": "x"}, "", None, "no question file in this folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_input_gives_one_line(tmp_path, case):
    files, path, split, message = BAD[case]
    make_files(tmp_path / "in", files)
    (tmp_path / "in").mkdir(exist_ok=True)
    with pytest.raises(BenchmarkError) as caught:
        read_benchmark(tmp_path / "in" / path, split)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_overlong_path_is_an_error_of_one_line(tmp_path):
    with pytest.raises(BenchmarkError, match="cannot be read: File name too long"):
        read_benchmark(tmp_path / ("x" * 5000))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    make_files(tmp_path, {"dev.json": [SPIDER]})
    (tmp_path / "dev.json").chmod(0)
    with pytest.raises(BenchmarkError, match=r"dev\.json.*Permission denied"):
        read_benchmark(tmp_path)


def test_reading_does_not_change_the_folder(tmp_path):
    folder = make_files(tmp_path, {"dev.json": [SPIDER], "tables.json": [TABLES], "database/pets/pets.sqlite": None})
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    read_benchmark(folder).schema("pets")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
