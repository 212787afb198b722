"""All metrics of a pair together: what is null and why, and that gold is right by each of them."""

import json
import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from spider_shop import NAMES

from workbench.benchmarks import read_benchmark
from workbench.bird_metrics import bird_ex_two_pass
from workbench.metrics import bird_ex
from workbench.pair_metrics import COLUMNS, RESULT_COLUMNS, REWARD_COLUMNS, TEXT_COLUMNS, TIMED_COLUMNS, pair_metrics
from workbench.results import TABLES
from workbench.spider_sql import spider_names
from workbench.suite_rule import suite_match

DOCS = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
GOLD = "SELECT name FROM singer WHERE age > 5"
SLOWER, FASTER = [2.0, 4.0], [1.0, 1.0]


def test_every_column_is_described():
    assert set(COLUMNS) <= set(TABLES["scores"])


@pytest.mark.parametrize("column", [*TEXT_COLUMNS, *RESULT_COLUMNS, *TIMED_COLUMNS[:5], "reward"])
def test_every_column_is_explained(column):
    assert f"`{column}`" in DOCS.read_text()


def test_a_right_pair():
    row = pair_metrics(
        "SELECT name FROM singer WHERE 5 < age", GOLD, NAMES, is_right=True, predicted_rows=[("a",)],
        gold_rows=[("a",)], seconds_predicted=SLOWER, seconds_gold=FASTER,
    )  # fmt: skip
    assert list(row) == list(COLUMNS)
    assert row["exact_set_match"] is False and row["hardness"] == "easy"  # Spider's grammar has no value on the left
    assert row["spider_ex"] is False and row["soft_f1"] == 1.0
    assert row["jaccard"] == pytest.approx(6 / 8)  # < and > are the two that differ
    assert row["ves"] == pytest.approx(0.375**0.5) and row["r_ves"] == pytest.approx(0.5**0.5)
    assert row["hes_ves"] == pytest.approx((1 / 3) ** 0.5) and row["time_ratio"] == pytest.approx(1 / 3)
    assert row["stable_speed"] == pytest.approx(8**-0.5)
    assert [row[name] for name in REWARD_COLUMNS] == pytest.approx([3 + 1 / 3, 1, 2, 0, 1 / 3])
    assert row["metrics_reason"] is None


CASES = [  # id, arguments, columns that must be so, words of the reason
    (
        "wrong",
        {"is_right": False, "predicted_rows": [("b",)], "gold_rows": [("a",)]},
        {"soft_f1": 0.0, "spider_ex": False, "ves": 0.0, "time_ratio": None, "stable_speed": None, "reward": 0.0},
        None,
    ),
    (
        "prediction failed",
        {"is_right": False, "gold_rows": [("a",)]},
        {"exact_set_match": True, "soft_f1": 0.0, "spider_ex": False, "r_ves": 0.0, "reward_execution": -2.5},
        None,
    ),
    (
        "gold failed",
        {"is_right": False, "predicted_rows": [("a",)]},
        {"soft_f1": 0.0, "spider_ex": None, "ves": 0.0, "reward": None, "exact_set_match": True},
        None,
    ),
    (
        "not judged",
        {"is_right": None},
        {"soft_f1": None, "spider_ex": None, "ves": None, "reward": None, "exact_set_match": True, "jaccard": 1.0},
        "not judged",
    ),
    (
        "not timed",
        {"is_right": True, "predicted_rows": [("a",)], "gold_rows": [("a",)]},
        {"ves": None, "time_ratio": None, "reward": 3.0, "reward_efficiency": 0.0, "spider_ex": True},
        "not timed",
    ),
    (
        "timed, the same statement",
        {
            "is_right": True, "predicted_rows": [("a",)], "gold_rows": [("a",)],
            "seconds_predicted": SLOWER, "seconds_gold": FASTER,
        },
        {"stable_speed": 1.0, "stable_speed_low": 1.0, "stable_speed_high": 1.0},
        None,
    ),
    (
        "out of form",
        {"is_right": True, "predicted_rows": [("a",)], "gold_rows": [("a",)], "is_format_valid": False},
        {"reward": -2.0, "reward_format": -2.0, "reward_execution": 0.0},
        "not timed",
    ),
    (
        "the prose's reward",
        {"is_right": False, "predicted_rows": [("b",)], "gold_rows": [("a",)], "reward_rule": "prose"},
        {"reward": 3.0},
        None,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "columns", "reason"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_is_null(arguments, columns, reason):
    row = pair_metrics(GOLD, GOLD, NAMES, **arguments)
    assert {name: row[name] for name in columns} == columns
    assert row["metrics_reason"] == reason


def test_no_prediction():
    row = pair_metrics(None, GOLD, NAMES, is_right=False, gold_rows=[("a",)])
    assert {name: row[name] for name in (*TEXT_COLUMNS, *RESULT_COLUMNS)} == {
        "exact_set_match": False,
        "hardness": "easy",
        "skeleton_similarity": 0.0,
        "jaccard": 0.0,
        "sql_jaccard": 0.0,
        "spider_ex": False,
        "soft_f1": 0.0,
    }
    assert row["reward"] == -2.0


def test_no_gold():
    row = pair_metrics("SELECT 1", None, NAMES, is_right=None)
    assert {name for name in COLUMNS if row[name] is not None} == {"metrics_reason"}


def test_a_gold_outside_spider_s_grammar():
    row = pair_metrics("SELECT 1", "SELECT name FROM singer s", NAMES, is_right=False, predicted_rows=[], gold_rows=[])
    assert row["exact_set_match"] is row["hardness"] is row["spider_ex"] is None
    assert row["soft_f1"] == 1.0 and "no Spider metrics, gold: Spider's grammar" in row["metrics_reason"]


SLICES = {"spider": (564, 564), "bird": (129, 10), "bird_minidev": (52, 1)}  # golds, how many Spider's grammar can read


@pytest.mark.parametrize("slice_name", SLICES)
def test_gold_is_right_by_every_metric(slice_name, shared):
    benchmark = read_benchmark(shared / "data" / slice_name)
    names, counted, readable = {}, 0, 0
    for db_id, questions in benchmark.questions.group_by("db_id", maintain_order=True):
        db_id = db_id[0]
        names[db_id] = spider_names(benchmark.schema(db_id), benchmark.stated_tables(db_id))
        with closing(sqlite3.connect(f"file:{benchmark.database_path(db_id)}?mode=ro", uri=True)) as connection:
            connection.text_factory = lambda text: text.decode(errors="replace")
            for gold in questions["gold_sql"]:
                sides = [connection.execute(gold).fetchall() for _ in range(2)]
                assert bird_ex(*sides) and bird_ex_two_pass(*sides) and suite_match([tuple(sides)], gold), gold
                row = pair_metrics(
                    gold, gold, names[db_id], is_right=True, predicted_rows=sides[0], gold_rows=sides[1],
                    seconds_predicted=[1.0, 2.0], seconds_gold=[2.0, 1.0],
                )  # fmt: skip
                readable += row["exact_set_match"] is not None
                assert row["exact_set_match"] in (True, None) and row["spider_ex"] == row["exact_set_match"], gold
                assert row["soft_f1"] == row["skeleton_similarity"] == row["jaccard"] == row["sql_jaccard"] == 1.0, gold
                assert row["hes_ves"] == row["time_ratio"] == row["stable_speed"] == 1.0 and row["reward"] == 4.0, gold
                assert set(TIMED_COLUMNS) <= {name for name in COLUMNS if row[name] is not None}
                counted += 1
    assert (counted, readable) == SLICES[slice_name]


def test_processor_time_of_a_pair(shared):
    """A few milliseconds with everything on, also on BIRD's longest golds beside others'."""
    names = spider_names(read_benchmark(shared / "data" / "bird").schema("superhero"))
    golds = [one["SQL"] for one in json.loads((shared / "data/bird/gold_without_database.json").read_text())][:300]
    rows = [(i, str(i)) for i in range(20)]
    start = time.process_time()
    for predicted, gold in pairwise(golds):
        pair_metrics(predicted, gold, names, is_right=False, predicted_rows=rows, gold_rows=rows[::-1])
    assert (time.process_time() - start) / (len(golds) - 1) < 0.005
