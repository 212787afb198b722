"""The papers' printed figures, as parquet under results/published/, in the shape of our own study tables.

In: the transcription of the plans paper's table 2 (CSV, percent). Out: the stored parquet with the same columns and
values, and `portability`, the study table that figures draw, as fractions of 1. Facts only; sources in the README there.
"""

from pathlib import Path

import polars as pl

from workbench import paths
from workbench.errors import ResultsError
from workbench.portability import PAPER_ENGINES, SCHEMA

SOURCE = "plans paper, table 2"
PARAMS_NOTE = "total parameters; assumed where the name does not say"
N_QUESTIONS = {"bird-dev": 1534, "spider-dev": 1034}  # plans paper, appendix E

TABLE_2 = pl.Schema(
    {"model": pl.String, "params_b": pl.Float64, "weights": pl.String, "tier": pl.String, "regime": pl.String}
    | {"target": pl.String, "benchmark": pl.String}
    | dict.fromkeys(PAPER_ENGINES, pl.Float64)
    | {"portability_printed": pl.Float64}
)


def portability_file() -> Path:
    return paths.published_dir() / "portability.parquet"


def write_portability(csv: str | Path, path: Path | None = None) -> Path:
    """Store the transcribed table 2 as parquet, unchanged; the file appears whole or not at all.

    path: by default results/published/portability.parquet. ResultsError where the CSV isn't there or isn't this table.
    """
    csv, path = Path(csv), path or portability_file()
    if not csv.is_file():
        raise ResultsError("no such file", where=csv, hint="the transcribed table 2 of the plans paper")
    try:
        table = pl.read_csv(csv, schema_overrides=TABLE_2)
    except pl.exceptions.PolarsError as error:
        raise ResultsError("not a CSV of table 2", where=csv, hint=str(error).splitlines()[0]) from error
    if table.schema != TABLE_2:
        raise ResultsError("other columns than table 2 has", where=csv, hint=f"expected: {', '.join(TABLE_2)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    table.write_parquet(part, statistics=False)
    part.replace(path)
    return path


def read_portability() -> pl.DataFrame:
    """Table 2 as printed: one row per model x target x benchmark, percent. ResultsError where it isn't stored."""
    if not portability_file().is_file():
        raise ResultsError("no published figures", where=portability_file(), hint="they are part of the checkout")
    return pl.read_parquet(portability_file())


def portability() -> pl.DataFrame:
    """Table 2 as a study table: the columns of `workbench.portability.portability`, then source and params_note.

    Fractions of 1. portability is the printed column: recomputed from accuracies of one decimal it would lose digits
    (up to 0.004). The other bounds are computed from the printed accuracies. No intervals: none are printed.
    SQL was asked for once per dialect (mode "native"), a plan once for all ("compiled").
    """
    accuracies = [pl.col(engine) for engine in PAPER_ENGINES]
    lower, best = pl.min_horizontal(accuracies), pl.max_horizontal(accuracies)
    table = read_portability().with_columns(pl.col(PAPER_ENGINES) / 100)
    columns = dict.fromkeys(SCHEMA, pl.lit(None)) | {name: pl.col(name) for name in table.columns if name in SCHEMA}
    columns |= {
        "run": pl.lit("published"),
        "is_simulated": pl.lit(False),
        "mode": pl.when(pl.col("target") == "plan").then(pl.lit("compiled")).otherwise(pl.lit("native")),
        "metric": pl.lit("df_match"),
        "engines": pl.lit(", ".join(PAPER_ENGINES)),
        "n": pl.col("benchmark").replace_strict(N_QUESTIONS),
        "lower_bound": lower,
        "best": best,
        "mean": pl.mean_horizontal(accuracies),
        "delta_worst": lower - pl.col("sqlite"),
        "portability": pl.col("portability_printed") / 100,
    }
    return table.select(
        *(column.cast(SCHEMA[name]).alias(name) for name, column in columns.items()),
        source=pl.lit(SOURCE),
        params_note=pl.lit(PARAMS_NOTE),
    )
