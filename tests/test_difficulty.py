"""Study tables by difficulty, on a few made-up scores whose means are plain."""

import polars as pl
import pytest

from workbench.difficulty import CDF_POINTS, efficiency, structure
from workbench.errors import ResultsError
from workbench.results import dtypes


def score_row(i: int, **more: object) -> dict:
    about = {"run": "r", "benchmark": "b", "model": "m", "target": "sql", "dialect": "sqlite", "is_simulated": False}
    about |= {"engine": "sqlite", "gold_engine": "sqlite", "question_id": str(i), "db_id": f"d{i % 2}"}
    return about | more


def table(*rows: dict) -> pl.DataFrame:
    return pl.DataFrame([score_row(i, **row) for i, row in enumerate(rows)], schema=dtypes("scores"))


ALIKE = [
    {"difficulty": "simple", "bird_ex": True, "jaccard": 1.0, "skeleton_similarity": 1.0, "exact_set_match": True},
    {"difficulty": "simple", "bird_ex": False, "jaccard": 0.5, "skeleton_similarity": 0.6, "exact_set_match": None},
    {"difficulty": "moderate", "bird_ex": True, "jaccard": 0.75, "skeleton_similarity": 0.8, "exact_set_match": False},
    {"hardness": "extra", "bird_ex": None, "jaccard": 0.25, "skeleton_similarity": 0.4, "exact_set_match": False},
]


def test_structure():
    rows = {row["grade"]: row for row in structure(table(*ALIKE)).iter_rows(named=True)}
    assert list(rows) == ["all", "simple", "moderate", "extra"]
    everything = rows["all"]
    assert (everything["n"], everything["judged"], everything["in_grammar"]) == (4, 3, 3)
    assert everything["ex"] == pytest.approx(2 / 3) and everything["exact_set_match"] == pytest.approx(1 / 3)
    assert everything["jaccard"] == 0.625 and everything["skeleton_similarity"] == pytest.approx(0.7)
    assert everything["jaccard_low"] < 0.625 < everything["jaccard_high"]
    shares = dict(zip(CDF_POINTS.round(2).tolist(), everything["jaccard_cdf"], strict=True))
    assert [shares[x] for x in (0.0, 0.24, 0.25, 0.5, 0.74, 0.75, 0.99, 1.0)] == [0, 0, 0.25, 0.5, 0.5, 0.75, 0.75, 1]
    assert rows["simple"]["jaccard"] == 0.75 and rows["extra"]["ex"] is None


TIMED = {"bird_ex": True, "ves": 2.0, "r_ves": 1.0, "hes_ves": 2.0, "time_ratio": 1.0, "stable_speed": 4.0}
WRONG = {"bird_ex": False, "ves": 0.0, "r_ves": 0.0, "hes_ves": 0.0}


def test_efficiency():
    rows = [TIMED, TIMED | {"hes_ves": 1.0, "time_ratio": 0.5, "stable_speed": 0.25}, WRONG, {"bird_ex": True}]
    elsewhere = {"bird_ex": True, "engine": "duckdb"}
    (row,) = efficiency(table(*rows, elsewhere)).iter_rows(named=True)
    assert (row["n"], row["untimed"], row["grade"], row["engine"]) == (3, 1, "all", "sqlite")
    assert row["hes_ves"] == 1.0 and row["ves"] == pytest.approx(4 / 3) and row["ex"] == 0.75
    assert row["time_ratio"] == 0.75 and row["stable_efficiency"] == pytest.approx(1.0)
    assert row["stable_low"] < 1 < row["stable_high"]


def test_engines_are_averaged():
    mysql = {"engine": "mysql", "gold_engine": "mysql", "dialect": "mysql"}
    rows = {row["engine"]: row for row in efficiency(table(TIMED, WRONG, TIMED | mysql)).iter_rows(named=True)}
    assert list(rows) == ["mysql", "sqlite", "mean"]
    assert (rows["sqlite"]["hes_ves"], rows["mysql"]["hes_ves"], rows["mean"]["hes_ves"]) == (1.0, 2.0, 1.5)
    assert rows["mean"]["dialect"] is None and rows["mean"]["n"] == 3


def test_the_mean_over_engines_has_an_interval_over_questions():
    """Two engines give the same for each question, so their mean's interval is that of one."""
    rows = [TIMED | {"hes_ves": value} for value in (0.5, 1.0, 2.0, 0.25)]
    mysql = {"engine": "mysql", "gold_engine": "mysql", "dialect": "mysql"}
    both = pl.concat([table(*rows), table(*(row | mysql for row in rows))])
    found = {row["engine"]: row for row in efficiency(both).iter_rows(named=True)}
    one, mean = found["sqlite"], found["mean"]
    assert [mean[name] for name in ("hes_ves", "hes_ves_low", "hes_ves_high")] == pytest.approx(
        [one[name] for name in ("hes_ves", "hes_ves_low", "hes_ves_high")]
    )
    assert mean["hes_ves_low"] < mean["hes_ves"] < mean["hes_ves_high"]


@pytest.mark.parametrize("study", [structure, efficiency])
def test_nothing_to_study_is_said(study):
    for scores in (table(), table({"bird_ex": True})):
        with pytest.raises(ResultsError, match="no "):
            study(scores)
