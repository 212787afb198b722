"""What both targets cost in tokens: the artefact, the reasoning around it, and all of the output (plans paper, appendix J).

In: stored generations and gold plans. Out: one row per model x target, and two of the gold itself. All are means. The gold's tokens
are counted (tokens.py), a model's are its endpoint's unless tokens_source says otherwise; so compare ratios across rows.
"""

import polars as pl

from workbench.errors import ResultsError
from workbench.results import Run, dtypes

GOLD = "gold"
_KEYS = ["model", "params_b", "is_simulated", "target"]


def tokens(run: Run) -> pl.DataFrame:
    """The token table of a run; columns are described in results.TABLES. ResultsError where there are no answers."""
    rows = pl.concat([_models(run), _gold(run)], how="diagonal_relaxed")
    if rows.is_empty() and not run.parts("generations"):
        raise ResultsError("has no answers with tokens", where=run.path, hint="workbench generate first")
    sql = pl.col("target") == "sql"
    ratios = [
        (pl.col(name) / pl.col(name).filter(sql).first().over("model")).alias(ratio)
        for name, ratio in (("artefact_tokens", "artefact_ratio"), ("output_tokens", "output_ratio"))
    ]
    benchmark = run.header.get("benchmark", {}).get("name")
    table = rows.with_columns(*ratios, run=pl.lit(run.name), benchmark=pl.lit(benchmark))
    schema = dtypes("tokens")
    absent = [pl.lit(None).alias(name) for name in schema if name not in table.columns]
    return table.with_columns(absent).select(list(schema)).cast(schema)


def published_tokens() -> pl.DataFrame:
    """Appendix J of the plans paper: means over BIRD, of all models together."""
    from workbench.published import read

    sql = pl.col("target") == "sql"
    ratios = [
        (pl.col(name) / pl.col(name).filter(sql).first()).alias(ratio)
        for name, ratio in (("artefact_tokens", "artefact_ratio"), ("output_tokens", "output_ratio"))
    ]
    printed = read("tokens").with_columns(*ratios, tokens_source=pl.lit("reported"))
    return pl.DataFrame(printed.to_dicts(), schema=dtypes("tokens"))


def _models(run: Run) -> pl.DataFrame:
    answered = run.table("generations").filter(pl.col("output_tokens").is_not_null())
    means = [
        pl.col(name).mean()
        for name in ("input_tokens", "output_tokens", "reasoning_tokens", "artefact_tokens", "attempts")
    ]
    sources = pl.col("tokens_source").drop_nulls().unique().sort().str.join(", ").alias("tokens_source")
    is_ok = (pl.col("parse_status") == "ok").mean().alias("ok_share")
    return (
        answered.group_by(_KEYS)
        .agg(pl.len().alias("n"), *means, is_ok, sources)
        .sort("model", "target", descending=[False, True])
    )


def _gold(run: Run) -> pl.DataFrame:
    """Of the golds that have a plan, both forms; a gold has no reasoning, so its output is the artefact."""
    golds = run.table("gold_plans").filter(pl.col("plan").is_not_null())
    if golds.is_empty():
        return pl.DataFrame(schema={"model": pl.String, "target": pl.String})
    rows = []
    for target in ("sql", "plan"):
        mean = golds[f"{target}_tokens"].mean()
        counted = {"artefact_tokens": mean, "output_tokens": mean, "n": golds.height, "tokens_source": "counted"}
        rows.append({"model": GOLD, "target": target, "ok_share": 1.0} | counted)
    return pl.DataFrame(rows)
