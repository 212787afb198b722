"""Real benchmarks are read right; what is wrong in one is named, and the rest stays usable."""

import sqlite3

import polars as pl
import pytest
from benchmark_files import BIRD, GOOD, MINI, SPIDER, TABLES, make_database, make_files, problems

from workbench.benchmark_rows import QUESTION_COLUMNS
from workbench.benchmarks import read_benchmark
from workbench.errors import BenchmarkError

# --- the real slices

REAL = {  # name, questions, databases, first question id, schemas without contents
    "spider": ("spider-dev", 564, 10, "0", 0),
    "bird": ("bird-dev", 129, 1, "717", 0),
    "bird_minidev": ("bird-minidev", 52, 1, "717", 0),
    "bird/gold_without_database.json": ("bird-gold-without-database", 815, 5, "89", 5),
}


@pytest.mark.parametrize("path", REAL)
def test_real_slices(shared, path):
    benchmark = read_benchmark(shared / "data" / path)
    name, questions, databases, first, missing = REAL[path]
    frame = benchmark.questions
    assert (benchmark.name, frame.height, frame["db_id"].n_unique()) == (name, questions, databases)
    assert frame["question_id"].n_unique() == questions and frame["question_id"][0] == first
    assert frame["position"].to_list() == list(range(questions)) and frame.schema == QUESTION_COLUMNS
    assert frame.select("question", "gold_sql").null_count().row(0) == (0, 0)
    assert len(benchmark.problems) == missing and all("no database file" in str(p) for p in benchmark.problems)
    assert all(benchmark.schema(db_id).tables for db_id in frame["db_id"].unique())


def test_real_bird_record_and_schema(shared):
    benchmark = read_benchmark(shared / "data" / "bird")
    row = benchmark.questions.row(0, named=True)
    assert row["evidence"].startswith("3-D Man refers to") and row["difficulty"] == "simple"
    assert row["gold_sql_postgres"] is None and row["is_ordered"] is None
    hero = benchmark.schema("superhero").table("superhero")
    assert (hero.primary_key, len(hero.foreign_keys)) == (("id",), 7)
    assert (
        hero.column("height_cm").type == "INTEGER" and "height of the superhero" in hero.column("height_cm").description
    )


def test_real_minidev_has_gold_of_three_engines(shared):
    frame = read_benchmark(shared / "data" / "bird_minidev").questions
    assert frame.select("gold_sql", "gold_sql_postgres", "gold_sql_mysql").null_count().row(0) == (0, 0, 0)
    assert "`" in frame["gold_sql_mysql"][0] and "`" not in frame["gold_sql_postgres"][0]
    by_file = read_benchmark(shared / "data" / "bird_minidev" / "mini_dev_mysql.json")
    assert by_file.questions.equals(frame) and by_file.name == "bird-minidev"


def test_real_folder_of_several_benchmarks(shared):
    with pytest.raises(BenchmarkError, match=r"several folders in it hold questions .*bird, bird_minidev, spider"):
        read_benchmark(shared / "data")


def test_databases_folder_instead_of_the_benchmark(shared):
    with pytest.raises(BenchmarkError, match=r"no question file .*did you mean .*data/spider\?"):
        read_benchmark(shared / "data" / "spider" / "database")


def test_bundled_benchmark_carries_hand_labels():
    benchmark = read_benchmark("bundled")
    labels = benchmark.questions.select("is_ordered", "is_row_count_fixed", "class_source", "gold_sql", "difficulty")
    assert benchmark.name == "bundled" and benchmark.problems == []
    assert labels.null_count().row(0) == (0,) * 5 and set(labels["class_source"]) == {"hand"}
    assert benchmark.schema(benchmark.questions["db_id"][0]).tables


# --- golds, labels, schemas


def test_parquet_and_labels(tmp_path):
    frame = pl.DataFrame(
        {"db_id": ["pets"] * 2, "question": ["a", "b"], "gold_sql": ["SELECT 1"] * 2, "is_ordered": [True, None]}
    )
    frame.write_parquet(tmp_path / "q.parquet")
    make_database(tmp_path / "pets.sqlite")
    benchmark = read_benchmark(tmp_path)
    assert benchmark.questions["is_ordered"].to_list() == [True, None] and benchmark.problems == []
    labelled = make_files(
        tmp_path / "csv", {"q.csv": "db_id,question,sql,is_ordered\npets,a,SELECT 1,TRUE\npets,b,SELECT 1,0\n"}
    )
    assert read_benchmark(labelled).questions["is_ordered"].to_list() == [True, False]


def test_minidev_golds_go_to_their_engine(tmp_path):
    row = read_benchmark(
        make_files(tmp_path, {f"mini_dev_{engine}.json": MINI[engine] for engine in MINI})
    ).questions.row(0, named=True)
    assert [row[f"gold_sql{engine}"] for engine in ("", "_postgres", "_mysql")] == [
        f"SELECT '{e}'" for e in ("sqlite", "postgresql", "mysql")
    ]


def test_minidev_without_sqlite_has_no_sqlite_gold(tmp_path):
    benchmark = read_benchmark(make_files(tmp_path, {"mini_dev_postgresql.json": MINI["postgresql"]}))
    row = benchmark.questions.row(0, named=True)
    assert (row["gold_sql"], row["gold_sql_postgres"]) == (None, "SELECT 'postgresql'")
    assert "no gold for SQLite" in problems(benchmark)


def test_descriptions_under_another_case(tmp_path):
    header = "original_column_name,column_name,column_description,data_format,value_description\n"
    files = {"dev.json": [BIRD], "dev_tables.json": [TABLES], "dev_databases/pets/pets.sqlite": None}
    note = f"{header}NAME,full name,caf\xe9,text,\n".encode("cp1252")
    files |= {
        "dev_databases/pets/database_description/PET.csv": note,
        "dev_databases/pets/database_description/._PET.csv": b"\0",
    }
    number, name = read_benchmark(make_files(tmp_path, files)).schema("pets").tables[0].columns
    assert (number.natural_name, name.natural_name, name.description) == ("number", "full name", "café")


def test_schema_knows_the_kinds_of_stored_values(tmp_path):
    """A plan's typed engines rest on them; the scan is kept for as long as the file is the same."""
    root = make_files(tmp_path, {"dev.json": [SPIDER], "database/pets/pets.sqlite": None})
    path = root / "database" / "pets" / "pets.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE mixed (a INTEGER, b TEXT, c); INSERT INTO mixed VALUES ('x', 1, 2.5), (1, 2, 3)"
        )
    connection.close()

    def kinds() -> list[str | None]:
        return [column.stored for column in read_benchmark(root).schema("pets").table("mixed").columns]

    assert kinds() == kinds() == ["text", "text", "real"]
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM mixed WHERE a = 'x'")
    connection.close()
    assert kinds() == ["integer", "text", "integer"]


def test_schema_without_contents_and_without_anything(tmp_path):
    benchmark = read_benchmark(make_files(tmp_path, {"dev.json": [SPIDER], "tables.json": [TABLES]}))
    assert benchmark.schema("pets").tables[0].columns[0].type == "number"
    for call in (benchmark.database_path, benchmark.schema):
        with pytest.raises(BenchmarkError, match="no database file for 'zoo'"):
            call("zoo")


# --- what is reported while the rest stays usable

REPORTED = {  # bad record -> (rows kept, words of the problem)
    "gold-does-not-parse": (GOOD | {"SQL": "SELECT FROM WHERE ("}, 2, "question 2: gold_sql does not parse as sqlite"),
    "gold-is-prose": (GOOD | {"SQL": "no answer"}, 2, "not a query"),
    "gold-nested": (GOOD | {"SQL": "SELECT " + "(" * 5000 + "1" + ")" * 5000}, 2, "nested too deeply"),
    "gold-two-statements": (GOOD | {"SQL": "SELECT 1; DROP TABLE pet"}, 2, "2 statements"),
    "gold-missing": (GOOD | {"SQL": None}, 2, "no gold_sql"),
    "gold-is-number": (GOOD | {"SQL": 5}, 2, "position 1: SQL is a number, text is wanted"),
    "id-is-list": (GOOD | {"question_id": [1]}, 2, "question_id is a list, text is wanted"),
    "id-is-huge": (GOOD | {"question_id": 10**30}, 2, "question_id is a number"),
    "difficulty-is-truth": (GOOD | {"difficulty": True}, 2, "difficulty is a truth value"),
    "label-is-word": (GOOD | {"is_ordered": "perhaps"}, 2, "is_ordered is text, true or false is wanted"),
    "record-is-text": ("SELECT 1", 1, "position 1: text where an object is wanted"),
    "question-is-list": (GOOD | {"question": ["a"]}, 1, "question is a list"),
    "no-question": (GOOD | {"question": None}, 1, "no question"),
    "no-db-id": (GOOD | {"db_id": None}, 1, "no db_id"),
    "db-id-parent": (GOOD | {"db_id": "../pets"}, 1, "db_id '../pets' holds a path separator"),
    "db-id-dots": (GOOD | {"db_id": ".."}, 1, "is no name of a database"),
    "db-id-absolute": (GOOD | {"db_id": "/etc/passwd"}, 1, "holds a path separator"),
    "db-id-backslash": (GOOD | {"db_id": "..\\pets"}, 1, "holds a path separator"),
    "db-id-nul": (GOOD | {"db_id": "pets\0"}, 1, "control character"),
    "db-id-long": (GOOD | {"db_id": "p" * 300}, 1, "longer than a file name"),
    "db-id-newline": (GOOD | {"db_id": "pe\nts"}, 1, "control character"),
    "database-missing": (GOOD | {"db_id": "zoo"}, 2, "database zoo"),
    "lone-surrogate": (GOOD | {"db_id": "\ud800", "question": "\udfff"}, 2, "database \ufffd"),
}


@pytest.mark.parametrize("case", REPORTED)
def test_problem_is_named_and_the_rest_usable(tmp_path, case):
    record, rows, message = REPORTED[case]
    if isinstance(record, dict):
        record = record | ({"question_id": 2} if record["question_id"] == 1 else {})
    records = [GOOD | {"difficulty": "simple", "is_ordered": True}, record, GOOD | {"question_id": 3}]
    benchmark = read_benchmark(make_files(tmp_path, {"dev.json": records, "pets.sqlite": None}))
    assert benchmark.questions.height == rows + 1 and len(benchmark.entries) == 3
    assert message in problems(benchmark) and len(benchmark.problems) <= 2  # a gold of the wrong type is no gold either
    assert benchmark.questions.row(0, named=True)["gold_sql"] == "SELECT 1"
    assert benchmark.questions["position"].to_list() == ([0, 1, 2] if rows == 2 else [0, 2])
    assert benchmark.database_path("pets").name == "pets.sqlite"


def test_duplicate_ids_stay_apart(tmp_path):
    ids = [137, "137", None, "2", 137, "137#2"]
    records = [GOOD | {"question_id": question_id} for question_id in ids]
    benchmark = read_benchmark(make_files(tmp_path, {"dev.json": records, "pets.sqlite": None}))
    assert benchmark.questions["question_id"].to_list() == ["137", "137#3", "2", "2#2", "137#4", "137#2"]
    assert len(benchmark.problems) == 3 and "question id '137' is used before; this one is '137#3'" in problems(
        benchmark
    )


def test_minidev_duplicates_pair_across_engines(tmp_path):
    files = {
        f"mini_dev_{engine}.json": [BIRD | {"question_id": 137, "SQL": f"SELECT {n}"} for n in (1, 2)]
        for engine in ("sqlite", "postgresql")
    }
    benchmark = read_benchmark(make_files(tmp_path, files | {"dev_databases/pets/pets.sqlite": None}))
    assert benchmark.questions.select("question_id", "gold_sql", "gold_sql_postgres").rows() == [
        ("137", "SELECT 1", "SELECT 1"),
        ("137#2", "SELECT 2", "SELECT 2"),
    ]
    assert len(benchmark.problems) == 1


def test_minidev_engines_that_disagree(tmp_path):
    files = {"mini_dev_sqlite.json": [BIRD], "mini_dev_mysql.json": [BIRD | {"question_id": 8}]}
    assert "mini_dev_mysql.json, position 0: question '8' is not that" in problems(
        read_benchmark(make_files(tmp_path, files))
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"not a database at all", "not an SQLite database"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
    ],
    ids=["empty", "text", "lfs-pointer"],
)
def test_bad_database_is_a_problem(tmp_path, content, message):
    files = {"dev.json": [SPIDER, SPIDER | {"db_id": "zoo"}], "database/pets/pets.sqlite": content}
    benchmark = read_benchmark(make_files(tmp_path, files | {"database/zoo/zoo.sqlite": None}))
    assert len(benchmark.problems) == 1 and message in problems(benchmark)
    assert benchmark.database_path("zoo") and benchmark.schema("zoo")
    with pytest.raises(BenchmarkError, match=message):
        benchmark.database_path("pets")


def test_zip_that_is_not_unpacked_is_named(tmp_path):
    files = {"dev.json": [BIRD], "dev_tables.json": [TABLES], "dev_databases.zip": b"PK\3\4"}
    benchmark = read_benchmark(make_files(tmp_path, files))
    assert "dev_databases.zip is there but not unpacked" in problems(benchmark)


def test_bad_tables_json_is_a_problem(tmp_path):
    files = {"dev.json": [SPIDER], "database/pets/pets.sqlite": None}
    for content, message in (
        ("[", "line 1: not JSON"),
        ({}, "an object, a list of schemas"),
        ([TABLES, {"db_id": "x"}], "position 1: x no field"),
    ):
        benchmark = read_benchmark(make_files(tmp_path, files | {"tables.json": content}))
        assert len(benchmark.problems) == 1 and message in problems(benchmark)
        assert benchmark.schema("pets").tables[0].name == "pet"
