"""Does a query's shape favour plans over SQL? Per model an elastic net over the features, pooled over models.

In: stored scores and features. Out: the study tables `coefficients` (model x feature), `pooled` (feature) and `meta_checks`
(model). Definitions: plans paper, section 6.6 and appendix I; where it leaves room: features are standardised over each
model's divergent questions, C is chosen once per model by 5-fold cross-validation, the standard error is the standard
deviation over a bootstrap that resamples databases, or questions where there are few databases. Simulated models are
never pooled with real ones.
"""

import os
from collections.abc import Callable

import numpy as np
import polars as pl

from workbench.elastic_net import fit
from workbench.errors import ResultsError
from workbench.feature_names import REGRESSION
from workbench.pooling import pool
from workbench.portability import HOME, MIN_CLUSTERS
from workbench.progress import track
from workbench.results import dtypes

RESAMPLES = 1000
SEED = 20_260_101
L1_RATIO = 0.5
CS = tuple(float(c) for c in np.geomspace(0.003, 10, 8))
FOLDS = 5
FEWEST = 10  # divergent questions on either side, below which nothing is fitted
SOME = 4  # models, up to which further processes take longer to start than they save
MODEL = ["run", "benchmark", "model", "params_b", "weights", "regime", "is_simulated"]


def meta_analysis(
    scores: pl.DataFrame, features: pl.DataFrame, metric: str = "df_match", resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, pl.DataFrame]:
    """The study tables pooled, coefficients and meta_checks; columns: results.TABLES.

    features: as stored in `question_features`. ResultsError where no model was asked for both SQL and plans.
    """
    answers = outcomes(scores, metric)
    features = features.filter(pl.col("refusal").is_null()).select("run", "benchmark", "question_id", *REGRESSION)
    models = coefficients(answers, features, resamples, seed)
    alone = _unpaired(scores, answers)
    unfitted = alone.join(pl.DataFrame({"feature": REGRESSION}), how="cross").with_columns(
        n=0, plan_wins=0, undescribed=0
    )
    tables = {
        "coefficients": pl.concat([models, unfitted], how="diagonal_relaxed"),
        "meta_checks": checks(answers, features, seed),
    }
    tables["pooled"] = pooled(tables["coefficients"])
    return {name: _shaped(name, tables[name], metric) for name in ("pooled", "coefficients", "meta_checks")}


def _shaped(name: str, table: pl.DataFrame, metric: str) -> pl.DataFrame:
    schema = dtypes(name)
    missing = [pl.lit(None).alias(column) for column in schema if column not in (*table.columns, "metric")]
    return table.with_columns(pl.lit(metric).alias("metric"), *missing).select(list(schema)).cast(schema)


def outcomes(scores: pl.DataFrame, metric: str = "df_match", engine: str = HOME) -> pl.DataFrame:
    """Whether each model answers a question rightly as SQL and as a plan: MODEL, question_id, db_id, sql, plan.

    On one engine, SQLite by default: there the two targets differ in form alone, not in dialects known. Only questions
    with a verdict on both stay.
    """
    judged = scores.filter(pl.col("engine") == engine, pl.col(metric).is_not_null())
    own = judged.filter(pl.col("dialect").is_null() | (pl.col("dialect") == engine))
    wide = own.pivot("target", index=[*MODEL, "question_id", "db_id"], values=metric, aggregate_function="first")
    both = wide.drop_nulls(["sql", "plan"]) if {"sql", "plan"} <= set(wide.columns) else wide.clear()
    if both.is_empty():
        raise ResultsError(
            f"no model has verdicts on both SQL and plans on {engine}",
            where="scores",
            hint="generate --target sql, and plan",
        )
    return both.select(*MODEL, "question_id", "db_id", "sql", "plan").sort(*MODEL, "question_id", nulls_last=True)


def _unpaired(scores: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Models that have verdicts on one target alone, and which: MODEL, reason."""
    alone = scores.join(answers, on=MODEL, how="anti", nulls_equal=True)
    targets = pl.col("target").unique().sort().str.join(" and ")
    return (
        alone.group_by(MODEL)
        .agg(reason=pl.format("no question with verdicts on both SQL and a plan on SQLite (it has {})", targets))
        .sort(MODEL, nulls_last=True)
    )


def coefficients(
    answers: pl.DataFrame, features: pl.DataFrame, resamples: int = RESAMPLES, seed: int = SEED
) -> pl.DataFrame:
    """The elastic net of each model on `qp_beats_sql` among its divergent questions (just one of the two is right).

    answers: from `outcomes`. features: run, benchmark, question_id and the columns REGRESSION. One row per model and
    feature: n (divergent questions), plan_wins, undescribed (divergent questions without features, not in n), is_separated,
    c, beta (per standard deviation of the feature), error, low and high (percentiles of the bootstrap), nonzero (share of
    resamples), resamples, and the reason where something is null.
    """
    return _each_model(answers, features, _coefficients, resamples, seed, label="elastic nets")


def _each_model(answers: pl.DataFrame, features: pl.DataFrame, work: Callable, *more: int, label: str) -> pl.DataFrame:
    """The rows that `work` gives for each model's questions, in the order of the models, on all processors."""
    from joblib import Parallel, delayed

    both = answers.join(features, on=["run", "benchmark", "question_id"], how="left", maintain_order="left")
    groups = [group for _, group in both.group_by(MODEL, maintain_order=True)]
    processes = os.cpu_count() if len(groups) > SOME else 1
    parallel = Parallel(n_jobs=processes, return_as="generator", max_nbytes=None)
    done = parallel(delayed(work)(group, *more) for group in groups)
    rows = [row for part in track(done, len(groups), label) for row in part]
    return pl.DataFrame(rows, infer_schema_length=None)


def _coefficients(group: pl.DataFrame, resamples: int, seed: int) -> list[dict]:
    divergent = group.filter(pl.col("sql") != pl.col("plan"))
    described = divergent.drop_nulls(REGRESSION)
    y = described["plan"].to_numpy().astype(int)
    about = group.select(MODEL).row(0, named=True) | {"n": len(y), "plan_wins": int(y.sum())}
    about["undescribed"] = len(divergent) - len(described)
    found = _fitted(described, y, resamples, seed)
    return [about | {"feature": name} | found[name] for name in REGRESSION]


def _fitted(divergent: pl.DataFrame, y: np.ndarray, resamples: int, seed: int) -> dict[str, dict]:
    columns = ("is_separated", "c", "beta", "error", "low", "high", "nonzero", "resamples")
    nothing = dict.fromkeys(columns)
    if not _is_enough(y):
        reason = f"fewer than {FEWEST} divergent questions that SQL, or that the plan, answers"
        return {name: nothing | {"reason": reason} for name in REGRESSION}
    names, x = _standardised(divergent)
    c = _chosen_c(x, y, seed)
    nothing |= {"is_separated": _is_separated(x, y), "c": c}
    beta = fit(x, y, c, l1_ratio=L1_RATIO)[0, 1:]
    drawn = fit(x, y, c, _bootstrap(divergent, resamples, seed), L1_RATIO)[:, 1:]
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    found = {name: nothing | {"reason": "constant among the divergent questions"} for name in REGRESSION}
    for place, name in enumerate(names):
        values = drawn[:, place]
        error = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        low, high = np.percentile(values, [2.5, 97.5])
        found[name] = nothing | {
            "beta": float(beta[place]),
            "error": error or None,
            "low": float(low),
            "high": float(high),
            "nonzero": float((values != 0).mean()),
            "resamples": len(values),
            "reason": None if error else "0 in every resample, so without a standard error",
        }
    return found


def _is_separated(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether a plane parts the two outcomes, so that without a penalty no coefficient would be finite."""
    from scipy.optimize import linprog

    signed = (2 * y - 1)[:, None] * np.column_stack([np.ones(len(y)), x])
    return linprog(np.zeros(signed.shape[1]), -signed, -np.ones(len(y)), bounds=(None, None)).status == 0


def _standardised(rows: pl.DataFrame) -> tuple[list[str], np.ndarray]:
    """The features that vary, to mean 0 and standard deviation 1."""
    x = rows.select(REGRESSION).to_numpy().astype(float)
    spread = x.std(axis=0)
    varying = spread > 1e-12
    return [name for name, kept in zip(REGRESSION, varying, strict=True) if kept], (
        (x[:, varying] - x[:, varying].mean(axis=0)) / spread[varying]
    )


def _folds(y: np.ndarray, seed: int) -> np.ndarray:
    """FOLDS x n: 1 where a row is in the training part."""
    from sklearn.model_selection import StratifiedKFold

    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
    weights = np.ones((FOLDS, len(y)))
    for row, (_, held) in zip(weights, parts, strict=True):
        row[held] = 0
    return weights


def _out_of_fold(x: np.ndarray, y: np.ndarray, cs: np.ndarray, training: np.ndarray) -> np.ndarray:
    """len(cs) x n: each row's log odds by the fit of the folds that it is not in."""
    fitted = fit(x, y, np.repeat(cs, len(training)), np.tile(training, (len(cs), 1)), L1_RATIO)
    lines = (fitted[:, :1] + fitted[:, 1:] @ x.T).reshape(len(cs), len(training), len(y))
    return lines[:, np.argmin(training, axis=0), np.arange(len(y))]


def _chosen_c(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    """The C of the least log loss out of fold; of equals the one that shrinks more."""
    lines = _out_of_fold(x, y, np.array(CS), _folds(y, seed))
    return CS[int((np.logaddexp(0, lines) - y * lines).mean(axis=1).argmin())]


def _bootstrap(rows: pl.DataFrame, resamples: int, seed: int) -> np.ndarray:
    """Resamples x questions: how often each question is drawn, with its database where there are MIN_CLUSTERS or more."""
    by_database = rows["db_id"].n_unique() >= MIN_CLUSTERS
    clusters = rows["db_id"].rank("dense").to_numpy() - 1
    if not by_database:
        clusters = np.arange(rows.height)
    count = int(clusters.max()) + 1
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    return draws[:, clusters].astype(float)


def pooled(table: pl.DataFrame) -> pl.DataFrame:
    """Each feature's coefficient over models: fixed effect, Q, I2, random effects by both estimators of tau2.

    table: from `coefficients`. k models enter; left_out names those without an estimate or a standard error, and why.
    """
    rows = []
    keys = ["run", "benchmark", "is_simulated", "feature"]
    for key, group in table.group_by(keys, maintain_order=True):
        usable = group.drop_nulls(["beta", "error"])
        left = group.filter(pl.col("error").is_null()).group_by("reason", maintain_order=True).agg("model")
        row = dict(zip(keys, key, strict=True)) | {"k": usable.height}
        row["left_out"] = "; ".join(f"{reason}: {', '.join(models)}" for reason, models in left.rows()) or None
        if usable.height:
            found = pool(usable["beta"].to_list(), usable["error"].to_list())
            row |= {name: getattr(found, name) for name in ("estimate", "error", "low", "high", "q", "q_p", "i2")}
            for short, random in (("dl", found.dersimonian_laird), ("reml", found.reml)):
                names = ("tau2", "estimate", "error", "low", "high", "further_low", "further_high")
                row |= {f"{short}_{name}": getattr(random, name) for name in names}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None).fill_nan(None)


def checks(answers: pl.DataFrame, features: pl.DataFrame, seed: int = SEED) -> pl.DataFrame:
    """Cross-validated AUC per model: of the features for SQL right, plan right and `qp_beats_sql`, and of difficulty alone.

    Each is the mean over folds of the AUC within a fold, so that a fit without coefficients has 0.5. difficulty: the
    out-of-fold prediction of whether either target is right, used alone to tell on divergent questions which of the two
    was, in whichever direction; near 0.5 where divergence is not difficulty under another name. Null with a reason where
    one side has fewer than FEWEST questions.
    """
    return _each_model(answers, features, _checks, seed, label="cross-validation")


def _checks(group: pl.DataFrame, seed: int) -> list[dict]:
    about = group.select(MODEL).row(0, named=True)
    group = group.drop_nulls(REGRESSION)
    sql, plan = (group[name].to_numpy().astype(int) for name in ("sql", "plan"))
    is_divergent = sql != plan
    wins = plan[is_divergent]
    lines = {"sql": (group, sql), "plan": (group, plan), "qp_beats_sql": (group.filter(is_divergent), wins)}
    aucs = {
        ("features", target): (_auc(*_cross_validated(part, y, seed)), len(y)) for target, (part, y) in lines.items()
    }
    line, _, _ = _cross_validated(group, sql | plan, seed)
    auc = None if line is None or not _is_enough(wins) else _auc(line[is_divergent], np.zeros(len(wins)), wins)
    aucs["difficulty", "qp_beats_sql"] = (auc and max(auc, 1 - auc), len(wins))
    few = f"fewer than {FEWEST} questions on one side"
    return [
        about | {"target": target, "by": by, "n": n, "auc": auc, "reason": few if auc is None else None}
        for (by, target), (auc, n) in aucs.items()
    ]


def _auc(line: np.ndarray | None, folds: np.ndarray | None, y: np.ndarray) -> float | None:
    """The mean of the folds' own AUCs: intercepts differ between folds, against their shares."""
    from sklearn.metrics import roc_auc_score

    if line is None:
        return None
    return float(np.mean([roc_auc_score(y[folds == fold], line[folds == fold]) for fold in np.unique(folds)]))


def _is_enough(y: np.ndarray) -> bool:
    return min(y.sum(), len(y) - y.sum()) >= FEWEST


def _cross_validated(
    rows: pl.DataFrame, y: np.ndarray, seed: int
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray]:
    """Log odds out of fold, the fold that each row is held out in, y; null twice where one side has too few."""
    if not _is_enough(y):
        return None, None, y
    _, x = _standardised(rows)
    training = _folds(y, seed + 1)
    (line,) = _out_of_fold(x, y, np.array([_chosen_c(x, y, seed)]), training)
    return line, np.argmin(training, axis=0), y
