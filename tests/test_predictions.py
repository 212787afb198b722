"""Prediction files are paired with the right questions or refused; real files give their published accuracies."""

import json
import sqlite3

import polars as pl
import pytest

from workbench.benchmarks import read_benchmark
from workbench.errors import PredictionError
from workbench.predictions import name_parts, read_predictions

# --- the real files


@pytest.fixture(scope="module")
def slices(shared):
    return {name: read_benchmark(shared / "data" / name) for name in ("bird", "spider", "bird_minidev")}


# Set-of-rows accuracy in per cent, as given with the files (BIRD's rule: equal sets of row tuples on SQLite).
ACCURACY = {
    "bird/predict_dev_CodeS-1b.json": ("CodeS-1b", None, 76.0),
    "bird/predict_dev_CodeS-7b.json": ("CodeS-7b", None, 82.9),
    "bird/predict_dev_CodeS-15b.json": ("CodeS-15b", None, 84.5),
    "bird/predict_dev_ChatGPT.json": ("ChatGPT", None, 65.1),
    "spider/CodeS-1b.txt": ("CodeS-1b", None, 72.5),
    "spider/CodeS-3b.txt": ("CodeS-3b", None, 80.5),
    "spider/CodeS-7b.txt": ("CodeS-7b", None, 82.4),
    "spider/CodeS-15b.txt": ("CodeS-15b", None, 82.1),
    "spider/DAIL-SQL+GPT-4.txt": ("DAIL-SQL+GPT-4", None, 77.0),
    "bird_minidev/predict_mini_dev_gpt-4_sqlite.json": ("gpt-4", "sqlite", 76.9),
    "bird_minidev/predict_mini_dev_gpt-4-turbo_sqlite.json": ("gpt-4-turbo", "sqlite", 55.8),
    "bird_minidev/predict_mini_dev_gpt-4-32k_sqlite.json": ("gpt-4-32k", "sqlite", 73.1),
    "bird_minidev/predict_mini_dev_gpt-35-turbo_sqlite.json": ("gpt-35-turbo", "sqlite", 61.5),
    "bird_minidev/predict_mini_dev_meta-llama-3-70b-instruct-2_sqlite.json": (
        "meta-llama-3-70b-instruct-2",
        "sqlite",
        67.3,
    ),
}


@pytest.mark.parametrize("file", ACCURACY)
def test_accuracy_of_real_files_on_sqlite(shared, slices, file):
    benchmark = slices[file.split("/")[0]]
    model, engine, accuracy = ACCURACY[file]
    predictions = read_predictions(shared / "data" / "predictions" / file, benchmark)
    assert (predictions.model, predictions.engine) == (model, engine)
    assert predictions.frame["question_id"].to_list() == benchmark.questions["question_id"].to_list()
    connections = {
        db_id: sqlite3.connect(benchmark.database_path(db_id)) for db_id in benchmark.questions["db_id"].unique()
    }

    def rows(db_id, sql):
        try:
            return set(connections[db_id].execute(sql).fetchall())
        except sqlite3.Error:
            return None

    right = 0
    for db_id, gold, sql in zip(
        *benchmark.questions.select("db_id", "gold_sql"), predictions.frame["sql"], strict=True
    ):
        expected = rows(db_id, gold)
        assert expected is not None
        right += rows(db_id, sql) == expected
    for connection in connections.values():
        connection.close()
    assert round(100 * right / benchmark.questions.height, 1) == accuracy


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
def test_real_minidev_files_of_other_engines(shared, slices, engine):
    files = sorted((shared / "data" / "predictions" / "bird_minidev").glob(f"*_{engine}.json"))
    read = [read_predictions(file, slices["bird_minidev"]) for file in files]
    assert len(read) == 5 and {predictions.engine for predictions in read} == {engine.replace("postgresql", "postgres")}
    assert all(
        predictions.frame.shape == (52, 2) and predictions.frame["sql"].null_count() == 0 for predictions in read
    )


# --- forms and failures, on a benchmark of three questions

DBS = {"a": "pets", "b": "pets", "c": "zoo"}
BIRD = "\t----- bird -----\t"


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark")
    records = [{"question_id": q, "db_id": db, "question": q, "SQL": "SELECT 0"} for q, db in DBS.items()]
    (folder / "dev.json").write_text(json.dumps(records))
    return read_benchmark(folder)


ONE, TWO, THREE = "SELECT 1", "SELECT 2", "SELECT 3"
RECORDS = [{"question_id": q, "sql": sql} for q, sql in zip("cab", (THREE, ONE, TWO), strict=True)]
JSONL = "\n".join(map(json.dumps, RECORDS))
FORMS = {  # file name, content, SQL by question or None for ONE, TWO, THREE
    "bird": ("p.json", {"0": f"{ONE}{BIRD}pets", "1": f"{TWO}{BIRD}pets", "2": f"{THREE}{BIRD}zoo"}, None),
    "bird-without-separator": ("p.json", {"0": ONE, "1": TWO, "2": THREE}, None),
    "bird-other-key-order": ("p.json", {"2": THREE, "0": ONE, "1": TWO}, None),
    "bird-failures": ("p.json", {"0": 0, "1": True, "2": THREE}, [None, None, THREE]),
    "bird-blank": ("p.json", {"0": f" {BIRD}pets", "1": "", "2": f"{THREE}{BIRD}"}, [None, None, THREE]),
    "bird-surrogate": ("p.json", {"0": "SELECT '\ud800'", "1": TWO, "2": THREE}, ["SELECT '\ufffd'", TWO, THREE]),
    "bird-in-txt": ("p.txt", {"0": ONE, "1": TWO, "2": THREE}, None),
    "bird-byte-order-mark": ("p.json", "\ufeff" + json.dumps({"0": ONE, "1": TWO, "2": THREE}), None),
    "json-list": ("p.json", [ONE, None, f"{THREE};"], [ONE, None, f"{THREE};"]),
    "json-records": ("p.json", RECORDS, None),
    "json-records-without-id": (
        "p.json",
        [{"SQL": sql, "db_id": db} for sql, db in zip((ONE, TWO, THREE), DBS.values(), strict=True)],
        None,
    ),
    "json-records-gold-beside": ("p.json", [r | {"sql": "gold", "predicted_sql": r["sql"]} for r in RECORDS], None),
    "jsonl": ("p.jsonl", JSONL, None),
    "jsonl-named-json": ("p.json", JSONL + "\n\n", None),
    "jsonl-named-txt": ("p.txt", JSONL, None),
    "jsonl-null": ("p.jsonl", JSONL.replace('"SELECT 2"', "null"), [ONE, None, THREE]),
    "csv": ("p.csv", f'question_id,sql\nc,{THREE}\na,{ONE}\nb,"{TWO}\n, 5"\n', [ONE, f"{TWO}\n, 5", THREE]),
    "csv-without-id": ("p.csv", f"Predicted_SQL\r\n{ONE}\r\n{TWO}\r\n{THREE}\r\n", None),
    "csv-empty-cell": ("p.csv", f"id,sql\na,\nb,{TWO}\nc,{THREE}\n", [None, TWO, THREE]),
    "csv-semicolon-named-txt": ("p.txt", f"id;sql\na;{ONE}\nb;{TWO}\nc;{THREE}\n", None),
    "tsv": ("p.tsv", f"id\tsql\na\t{ONE}\nb\t{TWO}\nc\t{THREE}\n", None),
    "spider": ("p.txt", f"{ONE}\n{TWO}\n{THREE}\n", None),
    "spider-no-newline-at-end": ("p.sql", f"{ONE}\n{TWO}\n{THREE}", None),
    "spider-windows": ("p.txt", f"{ONE}\r\n{TWO}\r\n{THREE}\r\n", None),
    "spider-tab": ("p.txt", f"{ONE}\tpets\n{TWO}\tother\n{THREE}\n", None),
    "spider-empty-lines": ("p.txt", f"\n{TWO}\n\n", [None, TWO, None]),
    "spider-blank-line": ("p.txt", f"{ONE}\n   \n{THREE}\n", [ONE, None, THREE]),
    "spider-named-csv": ("p.csv", f"{ONE}\n{TWO}\n{THREE}\n", None),
    "spider-column-named-sql": (
        "p.txt",
        f"SELECT a, sql, b FROM t\n{TWO}\n{THREE}\n",
        ["SELECT a, sql, b FROM t", TWO, THREE],
    ),
    "spider-line-separators": (
        "p.txt",
        f"SELECT '\u2028\x0b\x0c'\n{TWO}\n{THREE}\n",
        ["SELECT '\u2028\x0b\x0c'", TWO, THREE],
    ),
    "spider-no-sql": ("p.txt", f"I cannot answer\n{TWO}\n{THREE}\n", ["I cannot answer", TWO, THREE]),
    "spider-bracket": ("p.txt", f"[SQL] {ONE}\n{TWO}\n{THREE}\n", [f"[SQL] {ONE}", TWO, THREE]),
}


def write(folder, name, content):
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path, benchmark, form):
    name, content, expected = FORMS[form]
    predictions = read_predictions(write(tmp_path, name, content), benchmark)
    assert predictions.frame.rows() == list(zip("abc", expected or (ONE, TWO, THREE), strict=True))
    assert predictions.frame.schema == {"question_id": pl.String, "sql": pl.String}
    assert (predictions.model, predictions.engine) == ("p", None)


def test_parquet(tmp_path, benchmark):
    pl.DataFrame(RECORDS).write_parquet(tmp_path / "p.parquet")
    assert read_predictions(tmp_path / "p.parquet", benchmark).frame["sql"].to_list() == [ONE, TWO, THREE]


BAD = {  # file name, content, words of the error
    "too-few-keys": ("p.json", {"0": ONE, "1": TWO}, "2 predictions for the 3 questions of"),
    "too-many-keys": ("p.json", {str(n): ONE for n in range(4)}, "4 predictions for the 3 questions of"),
    "keys-are-ids": (
        "p.json",
        {"717": ONE, "718": TWO, "719": THREE},
        'key \'717\' is no position (keys are "0" to "2"',
    ),
    "keys-from-one": ("p.json", {"1": ONE, "2": TWO, "3": THREE}, "key '3' is no position"),
    "keys-are-words": ("p.json", {"a": ONE, "b": TWO, "c": THREE}, "key 'a' is no position"),
    "key-leading-zero": ("p.json", {"00": ONE, "1": TWO, "2": THREE}, "key '00' is no position"),
    "key-other-digits": ("p.json", {"\u0660": ONE, "1": TWO, "2": THREE}, "is no position"),
    "key-long": ("p.json", {"9" * 5000: ONE, "1": TWO, "2": THREE}, "is no position"),
    "key-twice": ("p.json", '{"0": "x", "1": "y", "1": "z"}', "p.json: key '1' stands twice"),
    "other-database": (
        "p.json",
        {"0": ONE, "1": f"{TWO}{BIRD}zoo", "2": THREE},
        "position 1: predicts for database 'zoo', the question is about 'pets'",
    ),
    "record-other-database": (
        "p.json",
        [r | {"db_id": "pets"} for r in RECORDS],
        "question c: predicts for database 'pets'",
    ),
    "empty-object": ("p.json", {}, "0 predictions for the 3"),
    "empty-list": ("p.json", [], "0 predictions for the 3"),
    "short-list": ("p.json", [ONE], "1 prediction for the 3"),
    "empty-file": ("p.txt", "", "0 predictions for the 3"),
    "empty-json": ("p.json", "", "0 predictions for the 3"),
    "broken-json": ("p.json", '{"0": "SELECT 1",\n "1": }', "p.json: line 2: not JSON"),
    "cut-json": ("p.json", '{"0": "SELECT 1"', "p.json: line 1: not JSON"),
    "no-json": ("p.json", "SELECT 1\nSELECT 2\nSELECT 3\n", "p.json: line 1: not JSON"),
    "json-number": ("p.json", "5", "holds a number, an object or a list is wanted"),
    "broken-jsonl": ("p.jsonl", JSONL.replace('"sql": "SELECT 1"', '"sql" 1'), "p.jsonl: line 2: not JSON"),
    "deep-json": ("p.json", '{"0": ' * 100_000, "nested too deeply"),
    "unknown-id": ("p.jsonl", JSONL.replace('"b"', '"z"'), "position 2: there is no question 'z' (in"),
    "id-twice": ("p.jsonl", JSONL.replace('"b"', '"a"'), "position 2: question 'a' stands twice"),
    "id-missing": ("p.jsonl", JSONL.rpartition("\n")[0], "2 predictions for the 3 questions of"),
    "id-null": ("p.jsonl", JSONL.replace('"b"', "null"), "position 2: question_id is null, a question id is wanted"),
    "record-is-text": ("p.json", [*RECORDS[:2], "SELECT 1"], "position 2: text where an object is wanted"),
    "no-sql-field": (
        "p.jsonl",
        JSONL.replace('"sql"', '"answer"'),
        "no SQL column (found: question_id, answer; wanted: ",
    ),
    "no-sql-column": (
        "p.csv",
        "question_id,answer\na,SELECT 1\n",
        "no SQL column (found: question_id, answer; wanted: ",
    ),
    "csv-ragged": ("p.csv", "id,sql\na,SELECT 1, 2\n", "p.csv: line 2: 3 cells under 2 column names"),
    "csv-open-quote": ("p.csv", 'id,sql\na,"SELECT 1\nb,x\n', "p.csv: line 3: not CSV"),
    "csv-too-short": ("p.csv", "sql\nSELECT 1\n", "1 prediction for the 3"),
    "too-few-lines": ("p.txt", f"{ONE}\n{TWO}\n", "2 predictions for the 3"),
    "line-too-many": ("p.txt", f"{ONE}\n{TWO}\n{THREE}\n\n", "4 predictions for the 3"),
    "not-utf8": ("p.txt", b"SELECT 1\nSELECT '\xe9'\nSELECT 3\n", "line 2: byte 0xe9 is not UTF-8 text"),
    "nul": ("p.txt", "SELECT 1\nSELECT '\0'\nSELECT 3\n", "line 2: a NUL byte"),
    "database": ("p.json", b"SQLite format 3\0", "is an SQLite database"),
    "zip": ("p.json", b"PK\x03\x04", "is a zip archive (unpack it)"),
    "parquet": ("p.parquet", b"PAR1", "not parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_file_that_does_not_fit_gives_one_line(tmp_path, benchmark, case):
    name, content, message = BAD[case]
    with pytest.raises(PredictionError) as caught:
        read_predictions(write(tmp_path, name, content), benchmark)
    assert message in str(caught.value) and str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_folder_and_missing_file(tmp_path, benchmark):
    with pytest.raises(PredictionError, match="is a folder"):
        read_predictions(tmp_path, benchmark)
    with pytest.raises(PredictionError, match="there is no such file"):
        read_predictions(tmp_path / "p.json", benchmark)


def test_real_file_of_another_benchmark(shared, slices):
    folder = shared / "data" / "predictions"
    with pytest.raises(PredictionError, match="129 predictions for the 564 questions of spider-dev"):
        read_predictions(folder / "bird" / "predict_dev_CodeS-1b.json", slices["spider"])
    with pytest.raises(PredictionError, match="564 predictions for the 129 questions of bird-dev"):
        read_predictions(folder / "spider" / "CodeS-1b.txt", slices["bird"])


def test_left_out_questions_keep_their_place(tmp_path):
    records = [
        {"question_id": q, "db_id": db, "question": q} for q, db in (("a", "pets"), ("b", "../x"), ("c", "pets"))
    ]
    benchmark = read_benchmark(write(tmp_path, "dev.json", records))
    for name, content in (("p.txt", f"{ONE}\n{TWO}\n{THREE}\n"), ("p.jsonl", JSONL)):
        frame = read_predictions(write(tmp_path, name, content), benchmark).frame
        assert frame.rows() == [("a", ONE), ("c", THREE)]


def test_repeated_ids_pair_in_order(tmp_path):
    records = [{"question_id": q, "db_id": "pets", "question": "?"} for q in (137, 137, 138)]
    benchmark = read_benchmark(write(tmp_path, "dev.json", records))
    content = "\n".join(json.dumps({"question_id": q, "sql": sql}) for q, sql in ((137, ONE), (138, THREE), (137, TWO)))
    frame = read_predictions(write(tmp_path, "p.jsonl", content), benchmark).frame
    assert frame.rows() == [("137", ONE), ("137#2", TWO), ("138", THREE)]


@pytest.mark.parametrize(
    ("name", "model", "engine"),
    [
        ("predict_dev_CodeS-7b.json", "CodeS-7b", None),
        ("predict_mini_dev_gpt-4_postgresql.json", "gpt-4", "postgres"),
        ("predict_mini_dev_gpt-4_cot_mysql.json", "gpt-4_cot", "mysql"),
        ("mini_dev_x_SQLITE.json", "x", "sqlite"),
        ("predict_mini_dev_gpt-4.json", "gpt-4", None),
        ("DAIL-SQL+GPT-4.txt", "DAIL-SQL+GPT-4", None),
        ("gpt-3.5", "gpt-3.5", None),
        ("my_model_sqlite.txt", "my_model_sqlite", None),
        ("predict_dev.json", "predict_dev", None),
        ("predict_x.jsonl", "x", None),
    ],
)
def test_model_and_engine_of_a_file_name(name, model, engine):
    assert name_parts(name) == (model, engine)


def test_given_model_and_engine_win(tmp_path, benchmark):
    file = write(tmp_path, "predict_mini_dev_gpt-4_mysql.json", {"0": ONE, "1": TWO, "2": THREE})
    predictions = read_predictions(file, benchmark, model="mine", engine="duckdb")
    assert (predictions.model, predictions.engine) == ("mine", "duckdb")
