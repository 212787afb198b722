"""HES-SQL's table 3 of a run: exact match, execution accuracy, performance gap recovered, token elasticity, a row a model.

In: the study table `structure` and the run's generations. Out: the study table `ablation`. Definitions: hes_sql.pgr and
hes_sql.tep (equations 4 and 5, both on execution accuracy); the weak method is the named baseline, else the worst model, the
strong one the best. The paper prints the reciprocal of equation 4 on exact match; see results/published/README.md.
"""

import polars as pl

from workbench.difficulty import ALL
from workbench.errors import ResultsError
from workbench.figure_rows import by_size, one_engine
from workbench.hes_sql import Measure, Tokens, pgr, tep
from workbench.results import dtypes

NO_TOKENS = Measure(None, "tokens are not known")


def ablation(structure: pl.DataFrame, generations: pl.DataFrame, baseline: str | None = None) -> pl.DataFrame:
    """Columns as result_columns.py describes them. ResultsError where the baseline is none of the models, or none is judged."""
    rows = by_size(one_engine(structure.filter(grade=ALL))[0].to_dicts())
    made = []
    for target in dict.fromkeys(row["target"] for row in rows):
        judged = [row for row in rows if row["target"] == target and row["ex"] is not None]
        if judged:
            made += _of_target(judged, _tokens(generations.filter(target=target)), baseline)
    if not made:
        raise ResultsError("no model has an execution accuracy", where="ablation", hint="workbench score first")
    return pl.DataFrame(made, schema=dtypes("ablation"))


def _of_target(rows: list[dict], tokens: dict[str, Tokens], baseline: str | None) -> list[dict]:
    named = [row for row in rows if row["model"] == baseline]
    if baseline and not named:
        raise ResultsError(f"there is no model {baseline!r}", where="baseline", hint=rows[0]["run"])
    weak = named[0] if named else min(rows, key=lambda row: row["ex"])
    strong = max(rows, key=lambda row: row["ex"])
    made = []
    for row in rows:
        gap, elasticity = pgr(row["ex"], weak["ex"], strong["ex"]), NO_TOKENS
        if weak["model"] in tokens and row["model"] in tokens:
            elasticity = tep(row["ex"], weak["ex"], tokens[row["model"]], tokens[weak["model"]])
        measures = {
            "pgr": gap.value,
            "pgr_reason": gap.reason,
            "tep": elasticity.value,
            "tep_reason": elasticity.reason,
        }
        made.append(
            {name: row.get(name) for name in dtypes("ablation")}
            | measures
            | {"weak": weak["model"], "strong": strong["model"]}
        )
    return made


def _tokens(generations: pl.DataFrame) -> dict[str, Tokens]:
    """Of each model whose answers all have tokens."""
    sums = generations.group_by("model").agg(
        pl.col("input_tokens", "output_tokens").sum(),
        lacking=pl.any_horizontal(pl.col("input_tokens", "output_tokens").is_null()).any(),
        n=pl.len(),
    )
    return {
        row["model"]: Tokens(row["input_tokens"], row["output_tokens"], row["n"])
        for row in sums.filter(~pl.col("lacking")).iter_rows(named=True)
    }
