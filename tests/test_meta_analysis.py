"""The elastic net beside scikit-learn's, and the meta-analysis on made-up studies whose answer is known."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

from workbench.cli import main
from workbench.elastic_net import fit
from workbench.errors import ResultsError
from workbench.feature_names import REGRESSION
from workbench.meta_analysis import FEWEST, MODEL, checks, coefficients, meta_analysis, outcomes, pooled
from workbench.results import Run, dtypes
from workbench.study import study as run_study

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
    assert (
        summary["k"] == 0
        and summary["estimate"] is None
        and "constant among the divergent questions: m0" in summary["left_out"]
    )
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


def stored(answers: pl.DataFrame, features: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same as a run stores them: a row of scores for each target, features with a column for refusals."""
    sides = [
        answers.select(*MODEL, "question_id", "db_id", df_match=side, target=pl.lit(side), engine=pl.lit("sqlite"))
        for side in ("sql", "plan")
    ]
    return pl.concat(sides).with_columns(dialect=pl.lit(None, pl.String)), features.with_columns(refusal=None)


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    """Of three simulated models and a real one with an effect; "m4" was asked for SQL alone; of the first forty
    questions no gold has features."""
    answers, features = study([PLANTED] * 4 + [{}], questions=300)
    answers = answers.with_columns(is_simulated=pl.col("model") != "m3")
    scores, features = stored(answers, features)
    scores = scores.filter((pl.col("model") != "m4") | (pl.col("target") == "sql"))
    number = pl.col("question_id").cast(pl.Int64)
    gone = [pl.when(number >= 40).then(pl.col(name)).alias(name) for name in REGRESSION]
    features = features.with_columns(*gone, refusal=pl.when(number < 40).then(pl.lit("unsupported: x")))
    return meta_analysis(scores, features, resamples=50)


def test_every_table_is_as_described(tables):
    assert list(tables) == ["pooled", "coefficients", "meta_checks"]
    for name, table in tables.items():
        assert table.schema == pl.Schema(dtypes(name)) and set(table["metric"]) == {"df_match"}


def test_simulated_models_are_pooled_apart(tables):
    ranks = tables["pooled"].filter(feature="ps_has_scalar_subquery").sort("is_simulated")
    assert ranks["is_simulated"].to_list() == [False, True]
    real, simulated = ranks.iter_rows(named=True)
    assert (real["k"], simulated["k"]) == (1, 3)
    assert simulated["low"] > 0.1 and "m4" in simulated["left_out"]


def test_a_model_that_misses_a_target_says_so(tables):
    rows = tables["coefficients"].filter(model="m4")
    assert rows.height == len(REGRESSION) and set(rows["beta"]) == {None} and set(rows["n"]) == {0}
    assert "it has sql" in rows["reason"][0]


def test_questions_without_features_are_counted(tables):
    rows = tables["coefficients"].filter(model="m0").select("n", "undescribed").unique().row(0, named=True)
    assert 0 < rows["undescribed"] < 40 and rows["n"] > 100


def test_separated_outcomes_are_said(tables):
    assert set(tables["coefficients"].filter(model="m0")["is_separated"]) == {False}
    answers, features = study([{}], questions=60)
    first = dict(features.select("question_id", "qc_n_casts").rows())
    wins = pl.col("question_id").replace_strict(first, return_dtype=pl.Float64) > 0
    table = coefficients(answers.with_columns(plan=wins, sql=~wins), features, resamples=20)
    assert set(table["is_separated"]) == {True}
    assert table.filter(feature="qc_n_casts")["beta"].item() > 0.5


def test_a_fit_that_finds_nothing_tells_nothing():
    answers, features = study([{}] * 2, questions=100)
    answers = answers.with_columns(
        sql=pl.col("question_id").hash(1) % 2 == 0, plan=pl.col("question_id").hash(1) % 2 == 1
    )
    constant = features.with_columns([pl.lit(0.0).alias(name) for name in REGRESSION[1:]])
    aucs = checks(answers, constant)
    assert all(0.3 < auc < 0.7 for auc in aucs.filter(by="features")["auc"])


def test_the_studies_are_stored_and_made_once(root):
    answers, features = study([PLANTED] * 2, questions=120)
    scores, features = stored(answers, features)
    run = Run.create("r")
    wide = {name: pl.Series(dtype=dtype) for name, dtype in dtypes("scores").items()}
    with run.locked():
        run.write_part("scores", "s", pl.concat([pl.DataFrame(wide), scores], how="diagonal_relaxed"))
        filled = pl.DataFrame(schema=dtypes("question_features"))
        run.write_part("question_features", "f", pl.concat([filled, features], how="diagonal_relaxed"))
    printed = CliRunner().invoke(main, ["study", "meta", "--run", "r"])
    assert printed.exit_code == 0 and all(word in printed.output for word in ("plan_wins", "auc", "reml_tau2"))
    for name, table in {"meta": "pooled", "coefficients": "coefficients", "meta_checks": "meta_checks"}.items():
        assert not run.table(table).is_empty() and run_study(name, "r").equals(run.table(table))
    assert CliRunner().invoke(main, ["study", "meta", "--published"]).exit_code == 2
