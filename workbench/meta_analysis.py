"""Does a query's shape favour plans over SQL? Per model an elastic net over the features, pooled over models.

In: stored scores and features. Out: the study tables `coefficients` (model x feature), `pooled` (feature) and `checks`
(model). Definitions: plans paper, section 6.6 and appendix I; where it leaves room: features are standardised over each
model's divergent questions, C is chosen once per model by 5-fold cross-validation, the standard error is the standard
deviation over a bootstrap that resamples databases, or questions where there are few databases.
"""

import numpy as np
import polars as pl

from workbench.elastic_net import fit
from workbench.errors import ResultsError
from workbench.feature_names import REGRESSION
from workbench.pooling import pool
from workbench.portability import MIN_CLUSTERS
from workbench.progress import track

RESAMPLES = 1000
SEED = 20_260_101
L1_RATIO = 0.5
CS = tuple(float(c) for c in np.geomspace(0.003, 10, 8))
FOLDS = 5
FEWEST = 10  # divergent questions on either side, below which nothing is fitted
MODEL = ["run", "benchmark", "model", "params_b", "weights", "regime", "is_simulated"]


def outcomes(scores: pl.DataFrame, metric: str = "df_match", engine: str = "sqlite") -> pl.DataFrame:
    """Whether each model answers a question rightly as SQL and as a plan: MODEL, question_id, db_id, sql, plan.

    On one engine, SQLite by default: there the two targets differ in form alone, not in dialects known. Only questions
    with a verdict on both stay.
    """
    judged = scores.filter(pl.col("engine") == engine, pl.col(metric).is_not_null())
    own = judged.filter(pl.col("dialect").is_null() | (pl.col("dialect") == engine))
    wide = own.pivot("target", index=[*MODEL, "question_id", "db_id"], values=metric, aggregate_function="first")
    if not {"sql", "plan"} <= set(wide.columns):
        raise ResultsError("no model was asked for both SQL and plans", where="scores", hint="--target sql and plan")
    return wide.drop_nulls(["sql", "plan"]).select(*MODEL, "question_id", "db_id", "sql", "plan")


def coefficients(
    answers: pl.DataFrame, features: pl.DataFrame, resamples: int = RESAMPLES, seed: int = SEED
) -> pl.DataFrame:
    """The elastic net of each model on `qp_beats_sql` among its divergent questions (just one of the two is right).

    answers: from `outcomes`. features: run, benchmark, question_id and the columns REGRESSION. One row per model and
    feature: n (divergent questions), plan_wins, c, beta (per standard deviation of the feature), error, low and high
    (percentiles of the bootstrap), nonzero (share of resamples), resamples, and the reason where something is null.
    """
    groups = answers.join(features, on=["run", "benchmark", "question_id"]).group_by(MODEL, maintain_order=True)
    rows = []
    for key, group in track(list(groups), answers.select(MODEL).unique().height, "elastic nets"):
        divergent = group.filter(pl.col("sql") != pl.col("plan"))
        y = divergent["plan"].to_numpy().astype(int)
        about = dict(zip(MODEL, key, strict=True)) | {"n": len(y), "plan_wins": int(y.sum())}
        found = _coefficients(divergent, y, resamples, seed)
        rows += [about | {"feature": name} | found[name] for name in REGRESSION]
    return pl.DataFrame(rows, infer_schema_length=None)


def _coefficients(divergent: pl.DataFrame, y: np.ndarray, resamples: int, seed: int) -> dict[str, dict]:
    nothing = {"c": None, "beta": None, "error": None, "low": None, "high": None, "nonzero": None, "resamples": None}
    if min(y.sum(), len(y) - y.sum()) < FEWEST:
        reason = f"fewer than {FEWEST} divergent questions that SQL, or that the plan, answers"
        return {name: nothing | {"reason": reason} for name in REGRESSION}
    names, x = _standardised(divergent)
    c = _chosen_c(x, y, seed)
    beta = fit(x, y, c, l1_ratio=L1_RATIO)[0, 1:]
    drawn = fit(x, y, c, _bootstrap(divergent, resamples, seed), L1_RATIO)[:, 1:]
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    found = {name: nothing | {"reason": "constant among the divergent questions"} for name in REGRESSION}
    for place, name in enumerate(names):
        values = drawn[:, place]
        error = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        low, high = np.percentile(values, [2.5, 97.5])
        found[name] = {
            "c": c,
            "beta": float(beta[place]),
            "error": error or None,
            "low": float(low),
            "high": float(high),
            "nonzero": float((values != 0).mean()),
            "resamples": len(values),
            "reason": None if error else "0 in every resample, so without a standard error",
        }
    return found


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


def _out_of_fold(x: np.ndarray, y: np.ndarray, c: float, training: np.ndarray) -> np.ndarray:
    """Each row's log odds by the fit of the folds that it is not in."""
    fitted = fit(x, y, c, training, L1_RATIO)
    lines = fitted[:, :1] + fitted[:, 1:] @ x.T
    return lines[np.argmin(training, axis=0), np.arange(len(y))]


def _chosen_c(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    """The C of the least log loss out of fold; of equals the one that shrinks more."""
    training = _folds(y, seed)
    losses = {}
    for c in CS:
        line = _out_of_fold(x, y, c, training)
        losses[c] = float((np.logaddexp(0, line) - y * line).mean())
    return min(losses, key=losses.get)


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
    for (run, benchmark, feature), group in table.group_by("run", "benchmark", "feature", maintain_order=True):
        usable = group.drop_nulls(["beta", "error"])
        left = group.filter(pl.col("error").is_null())
        row = {"run": run, "benchmark": benchmark, "feature": feature, "k": usable.height}
        row["is_simulated"] = bool(group["is_simulated"].any())
        row["left_out"] = (
            "; ".join(f"{model}: {reason}" for model, reason in left.select("model", "reason").rows()) or None
        )
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

    difficulty: the out-of-fold prediction of whether either target is right, used alone to tell on divergent questions
    which of the two was; near 0.5 where divergence is not difficulty under another name. Null with a reason where one
    side has fewer than FEWEST questions.
    """
    from sklearn.metrics import roc_auc_score

    rows = []
    for key, group in answers.join(features, on=["run", "benchmark", "question_id"]).group_by(
        MODEL, maintain_order=True
    ):
        about = dict(zip(MODEL, key, strict=True))
        sql, plan = (group[name].to_numpy().astype(int) for name in ("sql", "plan"))
        is_divergent = sql != plan
        lines = {
            "sql": (group, sql),
            "plan": (group, plan),
            "qp_beats_sql": (group.filter(is_divergent), plan[is_divergent]),
        }
        for target, (part, y) in lines.items():
            score = _cross_validated(part, y, seed)
            auc = None if score is None else float(roc_auc_score(y, score))
            rows.append(about | {"target": target, "by": "features", "n": len(y), "auc": auc})
        difficulty = _cross_validated(group, sql | plan, seed)
        y = plan[is_divergent]
        is_enough = difficulty is not None and min(y.sum(), len(y) - y.sum()) >= FEWEST
        auc = float(roc_auc_score(y, difficulty[is_divergent])) if is_enough else None
        rows.append(
            about | {"target": "qp_beats_sql", "by": "difficulty", "n": len(y), "auc": auc and max(auc, 1 - auc)}
        )
    reason = pl.when(pl.col("auc").is_null()).then(pl.lit(f"fewer than {FEWEST} questions on one side"))
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(reason=reason)


def _cross_validated(rows: pl.DataFrame, y: np.ndarray, seed: int) -> np.ndarray | None:
    if min(y.sum(), len(y) - y.sum()) < FEWEST:
        return None
    _, x = _standardised(rows)
    return _out_of_fold(x, y, _chosen_c(x, y, seed), _folds(y, seed + 1))
