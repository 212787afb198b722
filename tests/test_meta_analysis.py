"""The elastic net beside scikit-learn's, and the meta-analysis on made-up studies whose answer is known."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from workbench.elastic_net import fit
from workbench.errors import ResultsError
from workbench.feature_names import REGRESSION
from workbench.meta_analysis import FEWEST, checks, coefficients, outcomes, pooled

PLANTED = {"ps_has_scalar_subquery": 0.9, "qc_n_literals": -0.6, "qc_n_casts": 0.3}  # per standard deviation


def problem(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(rows, 21))
    x[:, 3] = 0.8 * x[:, 2] + 0.6 * x[:, 3]
    y = (draw.random(rows) < 1 / (1 + np.exp(-x[:, :3] @ [0.8, -0.5, 0.3]))).astype(int)
    return x, y, draw.multinomial(rows, np.full(rows, 1 / rows), size=6)


def objective(x, y, counts, b, c: float, l1_ratio: float) -> float:
    """LogisticRegression's, as its user guide states it."""
    losses = np.log(1 + np.exp(-(2 * y - 1) * (x @ b[1:] + b[0])))
    return counts @ losses + (l1_ratio * np.abs(b[1:]).sum() + (1 - l1_ratio) * np.square(b[1:]).sum() / 2) / c


@pytest.mark.parametrize("c", [0.03, 0.3, 3.0])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_the_elastic_net_is_scikit_learns(c, l1_ratio):
    x, y, weights = problem(150)
    found = fit(x, y, c, weights, l1_ratio)
    for row, counts in zip(found, weights, strict=True):
        drawn = np.repeat(np.arange(len(y)), counts)
        theirs = LogisticRegression(C=c, l1_ratio=l1_ratio, solver="saga", tol=1e-8, max_iter=100_000)
        theirs.fit(x[drawn], y[drawn])
        assert row[1:] == pytest.approx(theirs.coef_[0], abs=1e-3)
        # where saga leaves all coefficients at 0 it ends before its intercept is right
        ours, other = (objective(x, y, counts, b, c, l1_ratio) for b in (row, [*theirs.intercept_, *theirs.coef_[0]]))
        assert ours <= other + 1e-6


def test_separated_outcomes_have_finite_coefficients():
    x = np.linspace(-1, 1, 40)[:, None]
    (row,) = fit(x, (x[:, 0] > 0).astype(int), 1.0)
    assert np.isfinite(row).all() and row[1] > 1


def test_a_resample_with_one_outcome_has_none():
    x, y, _ = problem(30)
    assert np.isnan(fit(x, y, 1.0, np.vstack([y, np.ones(30)]))).all(axis=1).tolist() == [True, False]


def study(effects: list[dict[str, float]], questions: int = 500, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Answers of one model for each of `effects`, and features of all questions; half of the questions diverge."""
    draw = np.random.default_rng(seed)
    features = pl.DataFrame(
        {"run": "r", "benchmark": "made up", "question_id": [str(i) for i in range(questions)]}
        | {name: draw.normal(size=questions) for name in REGRESSION}
    )
    parts = []
    for number, effect in enumerate(effects):
        line = sum((features[name].to_numpy() * size for name, size in effect.items()), np.zeros(questions))
        wins = draw.random(questions) < 1 / (1 + np.exp(-line))
        both = draw.random(questions) < 0.5
        right = draw.random(questions) < 0.5
        parts.append(
            pl.DataFrame(
                {
                    "run": "r", "benchmark": "made up", "model": f"m{number}", "params_b": 1.0, "weights": "open",
                    "regime": "prompted", "is_simulated": True, "question_id": features["question_id"],
                    "db_id": [f"db{i % 15}" for i in range(questions)],
                    "sql": np.where(both, right, ~wins), "plan": np.where(both, right, wins),
                }
            )
        )  # fmt: skip
    return pl.concat(parts), features


def test_planted_effects_are_found_with_sign_and_rank():
    answers, features = study([PLANTED] * 5)
    table = pooled(coefficients(answers, features, resamples=100))
    found = dict(table.select("feature", "reml_estimate").rows())
    ranked = sorted(found, key=lambda name: abs(found[name] or 0), reverse=True)
    assert ranked[:3] == list(PLANTED)
    assert all(np.sign(found[name]) == np.sign(size) for name, size in PLANTED.items())
    over_zero = dict(table.select("feature", (pl.col("low") <= 0) & (pl.col("high") >= 0)).rows())
    assert [name for name in PLANTED if over_zero[name]] == []


def test_models_that_disagree_pool_to_nothing_and_show_it():
    name = "ps_max_depth"
    answers, features = study([{name: 1.0}, {name: -1.0}] * 3)
    row = pooled(coefficients(answers, features, resamples=100)).row(by_predicate=pl.col("feature") == name, named=True)
    assert row["k"] == 6 and row["i2"] > 75
    assert row["reml_low"] < 0 < row["reml_high"]


def test_what_cannot_be_fitted_says_why():
    answers, features = study([PLANTED, {}])
    features = features.with_columns(qc_n_casts=pl.lit(0.0))
    agreed = answers.with_columns(plan=pl.when(pl.col("model") == "m1").then("sql").otherwise("plan"))
    table = coefficients(agreed, features, resamples=20)
    constant = table.row(by_predicate=(pl.col("model") == "m0") & (pl.col("feature") == "qc_n_casts"), named=True)
    assert constant["beta"] is None and constant["reason"].startswith("constant")
    few = table.filter(model="m1")
    assert few["beta"].null_count() == few.height and set(few["reason"]) == {
        f"fewer than {FEWEST} divergent questions that SQL, or that the plan, answers"
    }
    summary = pooled(table).row(by_predicate=pl.col("feature") == "qc_n_casts", named=True)
    assert summary["k"] == 0 and summary["estimate"] is None and "m0: constant" in summary["left_out"]
    aucs = checks(agreed, features).filter(model="m1", target="qp_beats_sql")
    assert aucs["auc"].to_list() == [None, None] and aucs["reason"].null_count() == 0


def test_the_same_seed_gives_the_same_numbers():
    answers, features = study([PLANTED], questions=200)
    assert coefficients(answers, features, 30).equals(coefficients(answers, features, 30))
    assert not coefficients(answers, features, 30).equals(coefficients(answers, features, 30, seed=2))


def test_checks_tell_divergence_from_difficulty():
    answers, features = study([PLANTED] * 2)
    table = checks(answers, features)
    aucs = {(row["model"], row["target"], row["by"]): row["auc"] for row in table.to_dicts()}
    assert all(aucs[model, "qp_beats_sql", "features"] > 0.7 for model in ("m0", "m1"))
    assert all(aucs[model, "qp_beats_sql", "difficulty"] < 0.65 for model in ("m0", "m1"))


def test_only_native_answers_on_one_engine_count():
    base = {"run": "r", "benchmark": "b", "model": "m", "params_b": 1.0, "weights": "open", "regime": "prompted", "is_simulated": False, "db_id": "d"}  # fmt: skip
    rows = [
        base | {"question_id": question, "target": target, "dialect": dialect, "engine": engine, "df_match": verdict}
        for question, target, dialect, engine, verdict in [
            ("1", "sql", "sqlite", "sqlite", True), ("1", "sql", "sqlite", "mysql", False),
            ("1", "plan", None, "sqlite", False), ("1", "plan", None, "mysql", False),
            ("2", "sql", "sqlite", "sqlite", None), ("2", "plan", None, "sqlite", True),
        ]
    ]  # fmt: skip
    found = outcomes(pl.DataFrame(rows))
    assert found.select("question_id", "sql", "plan").rows() == [("1", True, False)]
    with pytest.raises(ResultsError, match="both SQL and plans"):
        outcomes(pl.DataFrame(rows[:2]))
