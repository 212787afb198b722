"""Hand labels: the files parse and count as their README says, halves never share a database, every key is a real question's."""

from itertools import product
from pathlib import Path

import polars as pl
import pytest

import workbench.labels
from workbench.benchmarks import read_benchmark
from workbench.labels import CATEGORIES, ERROR_TYPES, HALVES, error_key, errors, question_classes, question_key
from workbench.predictions import read_predictions

QUESTION_FILES = ("spider", "bird", "bird/gold_without_database.json")
README = Path(workbench.labels.__file__).with_name("README.md")
MOST_WORDS = 20  # of a note: a reason in our own words, no place for a benchmark's text


@pytest.fixture(scope="module")
def golds(shared) -> dict[str, list[tuple[str, str, str]]]:
    """(db_id, question, gold) by name of the benchmark, of all that is at hand."""
    frames = {name: read_benchmark(shared / "data" / name).questions for name in QUESTION_FILES}
    frames["bundled"] = read_benchmark("bundled").questions
    frames["bundled-train"] = read_benchmark("bundled", split="train").questions
    found = {name: frame.select("db_id", "question", "gold_sql").rows() for name, frame in frames.items()}
    return {
        "spider-dev": found["spider"],
        "bird-dev": found["bird"] + found["bird/gold_without_database.json"],
        "bundled": found["bundled"],
        "bundled-train": found["bundled-train"],
    }


def check_table(frame: pl.DataFrame, optional: tuple[str, ...]) -> None:
    assert frame["key"].is_unique().all()
    assert frame["key"].str.contains("^[0-9a-f]{64}$").all()
    assert frame.drop(optional).null_count().sum_horizontal().item() == 0
    assert set(frame["half"]) == set(HALVES)
    assert frame.group_by("db_id").agg(pl.col("half").n_unique())["half"].to_list() == [1] * frame["db_id"].n_unique()
    assert all(len(note.split()) <= MOST_WORDS for note in frame["note"].drop_nulls())


def test_question_classes_are_whole():
    check_table(question_classes(), optional=("note",))
    assert set(question_classes()["drawn"]) == {"random", "sought"}


@pytest.mark.parametrize(
    ("half", "rows", "ordered", "fixed"), [("tune", 300, 120, 60), ("held", 330, 120, 60)], ids=["tune", "held"]
)
def test_enough_questions_of_each_class(half, rows, ordered, fixed):
    frame = question_classes().filter(half=half)
    assert len(frame) >= rows
    assert frame["is_ordered"].sum() >= ordered
    assert frame["is_row_count_fixed"].sum() >= fixed


def test_each_class_key_is_a_question_of_its_benchmark(golds):
    for benchmark, frame in question_classes().group_by("benchmark"):
        keys = {question_key(*row): row[0] for row in golds[benchmark[0]]}
        assert {key: keys.get(key) for key in frame["key"]} == dict(frame.select("key", "db_id").rows())


def test_errors_are_whole():
    frame = errors()
    check_table(frame, optional=("second_category", "second_error_type"))
    for column, known in (("category", CATEGORIES), ("error_type", ERROR_TYPES)):
        assert set(frame[column]) == set(known)
        assert set(frame[f"second_{column}"].drop_nulls()) <= set(known)
    assert set(frame["engine"]) == {"sqlite", "mysql", "postgres"}
    assert not frame.filter(pl.col("second_category") == pl.col("category")).height


@pytest.mark.parametrize(
    ("number", "tune", "held", "gold_wrong"), [(1, 100, 157, 47), (2, 110, 131, 51)], ids=["first", "second"]
)
def test_errors_of_each_round(number, tune, held, gold_wrong):
    frame = errors().filter(round=number)
    assert dict(frame["half"].value_counts().rows()) == {"tune": tune, "held": held}
    assert frame["gold_wrong"].sum() == gold_wrong


def test_no_error_belongs_to_another_round():
    assert set(errors()["round"]) == {1, 2}
    assert set(errors().filter(round=2)["drawn"]) == {"random"}


@pytest.mark.parametrize(
    ("column", "names"), [("category", CATEGORIES), ("error_type", ERROR_TYPES)], ids=["category", "type"]
)
def test_readme_counts_the_errors(column, names):
    """Its rows hold, for rounds 1 and 2: tune, held, gold wrong."""
    rows = [line.strip("| \n").split(" | ") for line in README.read_text(encoding="utf-8").splitlines()]
    printed = {row[0]: [int(cell) for cell in row[2:]] for row in rows if row[0] in names and len(row) == 8}
    counted = {name: [] for name in names}
    for name, number in product(names, (1, 2)):
        frame = errors().filter(pl.col(column) == name, round=number)
        halves = [frame.filter(half=half).height for half in HALVES]
        counted[name] += [*halves, frame["gold_wrong"].sum()]
    assert printed == counted


def test_a_database_is_in_the_same_half_of_both_files():
    halves = pl.concat([frame.select("db_id", "half") for frame in (question_classes(), errors())]).unique()
    assert halves["db_id"].is_unique().all()


@pytest.mark.parametrize("name", ["spider", "bird", "bird_minidev"])
def test_each_error_key_is_a_prediction_of_its_system(shared, name):
    benchmark = read_benchmark(shared / "data" / name)
    found = {}
    for file in sorted((shared / "data" / "predictions" / name).iterdir()):
        predictions = read_predictions(file, benchmark)
        for row in benchmark.questions.join(predictions.frame, on="question_id").drop_nulls("sql").rows(named=True):
            key = error_key(row["db_id"], row["question"], row["gold_sql"], row["sql"])
            found[key, predictions.model, predictions.engine or "sqlite"] = row["db_id"]
    labelled = errors().filter(benchmark=benchmark.name)
    assert len(labelled) >= 50
    for key, system, engine, db_id in labelled.select("key", "system", "engine", "db_id").rows():
        assert found[key, system, engine] == db_id
