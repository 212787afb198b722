"""How right, how alike and how fast predictions are, by difficulty of the question (HES-SQL, figures 5 to 9).

In: the scores table. Out: one row per model x target x dialect x engine x grade, and one for all grades. The grade is the
benchmark's own, where it has none Spider's hardness. All shares are fractions of 1. Reads stored scores only.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from workbench.efficiency import stable_efficiency
from workbench.errors import ResultsError
from workbench.metrics import wilson_interval
from workbench.portability import MODEL_KEYS
from workbench.rates import mean_interval
from workbench.results import dtypes

KEYS = [*MODEL_KEYS, "dialect", "engine"]
GRADES = ("all", "simple", "moderate", "challenging", "easy", "medium", "hard", "extra")
ALL = "all"
CDF_POINTS = np.linspace(0, 1, 101)  # Jaccard indices at which the cumulative shares are given


def structure(scores: pl.DataFrame) -> pl.DataFrame:
    """Execution accuracy, exact set match, likeness of skeletons and Jaccard, with the latter's cumulative distribution.

    Each measure is the mean over the pairs that have it, shares with Wilson's interval. jaccard_cdf: shares of pairs with an index of at most CDF_POINTS.
    ResultsError where there are no scores, or none holds a Jaccard index.
    """
    if scores.is_empty() or scores["jaccard"].null_count() == scores.height:
        raise ResultsError("no pair has a Jaccard index", where="scores", hint="workbench score first")
    rows = []
    for about, group in _grades(scores):
        jaccard, databases = _present(group, "jaccard")
        low, high = mean_interval(jaccard, databases) if jaccard else (None, None)
        shares = np.searchsorted(np.sort(jaccard), CDF_POINTS + 1e-12, side="right") / len(jaccard) if jaccard else []
        rows.append(
            about
            | {"n": group.height, "judged": group["bird_ex"].count(), "ex": group["bird_ex"].mean()}
            | _ends("ex", group["bird_ex"])
            | {"in_grammar": group["exact_set_match"].count(), "exact_set_match": group["exact_set_match"].mean()}
            | _ends("exact_set_match", group["exact_set_match"])
            | {name: group[name].mean() for name in ("skeleton_similarity", "jaccard", "sql_jaccard")}
            | {"jaccard_low": low, "jaccard_high": high, "jaccard_cdf": list(shares)}
        )
    return _table("structure", rows)


def efficiency(scores: pl.DataFrame) -> pl.DataFrame:
    """BIRD's and HES-SQL's efficiency over all judged pairs, wrong ones as 0, and the stable one over right pairs.

    Pairs whose gold ran on another engine have no ratio and are left out; so are right pairs that were not timed, which
    `untimed` counts. Over several engines, a row with the engine "mean" holds the means of the per-engine values (HES-SQL's
    reading); of its intervals there is that of hes_ves, which resamples questions with what they gave on all engines.
    ResultsError where there are no scores, or no right pair was timed.
    """
    if scores.is_empty() or scores["stable_speed"].null_count() == scores.height:
        raise ResultsError("no right pair was timed", where="scores", hint="workbench score --repeats 5")
    rows = []
    for about, group in _grades(scores.filter(pl.col("engine") == pl.col("gold_engine"))):
        ves, databases = _present(group, "hes_ves")
        low, high = mean_interval(ves, databases) if ves else (None, None)
        speeds, places = _present(group, "stable_speed")
        stable = stable_efficiency(speeds, places) if speeds else None
        rows.append(
            about
            | {"n": len(ves), "untimed": group["bird_ex"].sum() - len(speeds), "ex": group["bird_ex"].mean()}
            | {name: group[name].mean() for name in ("ves", "r_ves", "hes_ves", "time_ratio")}
            | {"hes_ves_low": low, "hes_ves_high": high}
            | {"stable_efficiency": stable and stable.ratio}
            | {"stable_low": stable and stable.low, "stable_high": stable and stable.high}
        )
    table = _table("efficiency", rows)
    over = _over_engines(table)
    if over.is_empty():
        return table
    ends = pl.DataFrame([_ends_over_engines(scores, row) for row in over.select(*MODEL_KEYS, "grade").to_dicts()])
    return pl.concat([table, over.with_columns(hes_ves_low=ends["low"], hes_ves_high=ends["high"])])


def _grades(scores: pl.DataFrame) -> Iterator[tuple[dict, pl.DataFrame]]:
    """Keys and rows of each model on each engine: of all grades first, then of each."""
    graded = scores.with_columns(grade=pl.coalesce("difficulty", "hardness"))
    for key, group in graded.sort(KEYS, nulls_last=True, maintain_order=True).group_by(KEYS, maintain_order=True):
        about = dict(zip(KEYS, key, strict=True))
        yield about | {"grade": ALL}, group
        found = group["grade"].drop_nulls().unique().to_list()
        for grade in sorted(found, key=lambda name: (GRADES.index(name) if name in GRADES else len(GRADES), name)):
            yield about | {"grade": grade}, group.filter(pl.col("grade") == grade)


def _present(group: pl.DataFrame, column: str) -> tuple[list[float], list[str]]:
    there = group.filter(pl.col(column).is_not_null())
    return there[column].to_list(), there["db_id"].to_list()


def _ends(name: str, verdicts: pl.Series) -> dict[str, float]:
    """Wilson's interval of a share, where there is one."""
    n = verdicts.count()
    return dict(zip((f"{name}_low", f"{name}_high"), wilson_interval(int(verdicts.sum()), n), strict=True)) if n else {}


def _over_engines(table: pl.DataFrame) -> pl.DataFrame:
    """Means of the rows of several engines; of models whose SQL is the engine's own, over its dialects."""
    measures = ["ex", "ves", "r_ves", "hes_ves", "time_ratio", "stable_efficiency"]
    means = (
        table.group_by([*MODEL_KEYS, "grade"], maintain_order=True)
        .agg(
            pl.col("engine").n_unique().alias("engines"),
            pl.col("n", "untimed").sum(),
            *[
                pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).first().alias(name)
                for name in measures
            ],
        )
        .filter(pl.col("engines") > 1)
        .with_columns(engine=pl.lit("mean"))
    )
    return _table("efficiency", means.drop("engines").to_dicts())


def _ends_over_engines(scores: pl.DataFrame, about: dict) -> dict[str, float | None]:
    """Interval of the mean of per-engine means: each question counts with all that it gave, an engine for as much as any."""
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(about[name])) for name in MODEL_KEYS)
    grade = pl.coalesce("difficulty", "hardness")
    pairs = scores.filter(same, pl.col("hes_ves").is_not_null(), pl.col("engine") == pl.col("gold_engine"))
    pairs = pairs if about["grade"] == ALL else pairs.filter(grade == about["grade"])
    weight = 1 / (pl.len().over("dialect", "engine") * pl.struct("dialect", "engine").n_unique())
    parts = pairs.select("db_id", "question_id", part=pl.col("hes_ves") * weight)
    questions = parts.group_by("db_id", "question_id", maintain_order=True).agg(pl.col("part").sum())
    if questions.is_empty():
        return {"low": None, "high": None}
    values = (questions["part"] * questions.height).to_list()
    return dict(zip(("low", "high"), mean_interval(values, questions["db_id"].to_list()), strict=True))


def _table(name: str, rows: list[dict]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dtypes(name))
