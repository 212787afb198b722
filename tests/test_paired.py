"""Paired tests between models, and HES-SQL's gaps, on a few made-up scores."""

import polars as pl
import pytest

from workbench.ablation import ablation
from workbench.errors import ResultsError
from workbench.paired import paired
from workbench.results import dtypes


def scores(**verdicts: str) -> pl.DataFrame:
    """A letter a question: 1 right, 0 wrong, - not judged. A name that ends in _plan is of the model's plans."""
    rows = []
    for name, answers in verdicts.items():
        target = "plan" if name.endswith("_plan") else "sql"
        about = {
            "run": "r",
            "benchmark": "b",
            "model": name.removesuffix("_plan"),
            "target": target,
            "is_simulated": False,
        }
        about |= {"dialect": None if target == "plan" else "sqlite", "engine": "sqlite", "db_id": "d"}
        rows += [
            about | {"question_id": str(i), "df_match": {"1": True, "0": False}.get(a)} for i, a in enumerate(answers)
        ]
    return pl.DataFrame(rows, schema=dtypes("scores"))


def test_counts_and_tests():
    (row,) = paired(scores(a="1" * 10 + "0" * 5 + "-", b="0" * 8 + "11" + "10000" + "1")).to_dicts()
    assert (row["n"], row["first_right"], row["second_right"], row["only_first"], row["only_second"]) == (
        15,
        10,
        3,
        8,
        1,
    )
    assert row["difference"] == pytest.approx(7 / 15) and row["low"] < 7 / 15 < row["high"]
    assert row["p_exact"] == pytest.approx(2 * (1 + 9) / 2**9) == row["p_holm"]


def test_models_are_compared_by_target_and_targets_by_model():
    table = paired(scores(a="1100", a_plan="1111", b="0000", b_plan="1010"))
    pairs = table.select("first", "first_target", "second", "second_target").rows()
    assert sorted(pairs) == [
        ("a", "plan", "a", "sql"),
        ("a", "plan", "b", "plan"),
        ("a", "sql", "b", "sql"),
        ("b", "plan", "b", "sql"),
    ]
    assert (table["p_holm"] >= table["p_exact"]).all()


def test_one_model_alone_has_nothing_to_be_compared_with():
    with pytest.raises(ResultsError, match="nothing to compare"):
        paired(scores(a="10"))


def structure(**ex: float) -> pl.DataFrame:
    about = {
        "run": "r",
        "benchmark": "b",
        "grade": "all",
        "target": "sql",
        "dialect": "sqlite",
        "engine": "sqlite",
        "n": 10,
    }
    return pl.DataFrame(
        [about | {"model": model, "ex": value} for model, value in ex.items()], schema=dtypes("structure")
    )


def generations(**tokens: int | None) -> pl.DataFrame:
    rows = [{"model": m, "target": "sql", "input_tokens": 0, "output_tokens": n} for m, n in tokens.items()]
    return pl.DataFrame(rows, schema=dtypes("generations"))


def test_gaps_and_elasticity():
    table = ablation(structure(weak=0.4, middle=0.5, strong=0.8), generations(weak=100, middle=150, strong=None))
    rows = {row["model"]: row for row in table.to_dicts()}
    assert [rows[name]["pgr"] for name in ("weak", "middle", "strong")] == pytest.approx([0, 0.25, 1])
    assert rows["middle"]["tep"] == pytest.approx((0.1 / 0.4) / 0.5)
    assert rows["weak"]["tep_reason"] == "as many tokens as the baseline"
    assert rows["strong"]["tep_reason"] == "tokens are not known"
    assert {row["weak"] for row in rows.values()} == {"weak"}


def test_the_baseline_can_be_named():
    table = ablation(structure(a=0.4, b=0.5, c=0.9), generations(), "b")
    assert dict(table.select("model", "pgr").rows()) == pytest.approx({"a": -0.25, "b": 0, "c": 1})
    with pytest.raises(ResultsError, match="there is no model 'x'"):
        ablation(structure(a=0.4), generations(), "x")


def test_a_lone_model_has_no_gap():
    (row,) = ablation(structure(a=0.4), generations()).to_dicts()
    assert row["pgr"] is None and row["pgr_reason"] == "the strong and the weak method have the same EX"
