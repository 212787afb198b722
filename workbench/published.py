"""The papers' printed figures: transcribed in papers/*.csv, stored as parquet under results/published/.

In: the transcriptions, one file a printed table and one of numbers in running text, as printed. Out: `write_published`, the
stored parquet with the same rows and a column `source`; `read`; and `portability`, the plans paper's table 2 in the shape of
our own study table, as fractions of 1. Facts only; the README there describes every column.
"""

import io
from pathlib import Path

import polars as pl

from workbench import paths
from workbench.errors import ResultsError
from workbench.portability import PAPER_ENGINES, SCHEMA
from workbench.results import write_whole

PAPERS = paths.PACKAGE / "papers"
PARAMS_NOTE = "total parameters; assumed where the name does not say"
N_QUESTIONS = {"bird-dev": 1534, "spider-dev": 1034}  # plans paper, appendix E

_ENGINES = dict.fromkeys(PAPER_ENGINES, pl.Float64)
_WORDS = {"benchmark": pl.String, "model": pl.String}
PRINTED = {  # name of the file: its columns; `source` follows in each
    "portability": {"model": pl.String, "params_b": pl.Float64, "weights": pl.String, "tier": pl.String}
    | {"regime": pl.String, "target": pl.String, "benchmark": pl.String}
    | _ENGINES
    | {"portability_printed": pl.Float64},
    "roundtrip": {"benchmark": pl.String, "metric": pl.String} | _ENGINES,
    "sides": {"metric": pl.String, "sided": pl.Int64, "share": pl.Float64},
    "tokens": _WORDS | {"target": pl.String, "artefact_tokens": pl.Float64, "output_tokens": pl.Float64},
    "fine_tuning": _WORDS
    | {"params_b": pl.Float64, "target": pl.String, "engine": pl.String, "before": pl.Float64, "after": pl.Float64},
    "ranking": {"benchmark": pl.String, "metric": pl.String, "rank": pl.Int64, "model": pl.String, "value": pl.Float64},
    "ablation": _WORDS | dict.fromkeys(("exact_set_match", "pgr", "tep"), pl.Float64),
    "general": {"model": pl.String} | dict.fromkeys(("ifeval", "gpqa", "math_500"), pl.Float64),
    "statements": {"name": pl.String, "benchmark": pl.String, "value": pl.Float64}
    | {"unit": pl.String, "as_printed": pl.String},
}


def write_published(transcriptions: str | Path = PAPERS, folder: str | Path | None = None) -> list[Path]:
    """Store every transcription NAME.csv as folder/NAME.parquet, rows unchanged; each file is there whole or not at all.

    folder: by default results/published. ResultsError, before anything is written, where a file is missing or is not the
    table that it should be.
    """
    folder = Path(folder or paths.published_dir())
    tables = {name: _transcribed(Path(transcriptions) / f"{name}.csv", name) for name in PRINTED}
    for name, table in tables.items():
        buffer = io.BytesIO()
        table.write_parquet(buffer, statistics=False)
        write_whole(folder / f"{name}.parquet", buffer.getvalue())
    return [folder / f"{name}.parquet" for name in tables]


def read(name: str) -> pl.DataFrame:
    """A printed table: the columns of PRINTED, then source. ResultsError where it isn't stored."""
    path = paths.published_dir() / f"{name}.parquet"
    if name not in PRINTED or not path.is_file():
        raise ResultsError("no published figures", where=path, hint="they are part of the checkout")
    return pl.read_parquet(path)


def _transcribed(csv: Path, name: str) -> pl.DataFrame:
    if not csv.is_file():
        raise ResultsError("no such file", where=csv, hint=f"the transcription of {name}")
    schema = pl.Schema(PRINTED[name] | {"source": pl.String})
    try:
        table = pl.read_csv(csv, schema_overrides=schema)
    except pl.exceptions.PolarsError as error:
        raise ResultsError(f"not a CSV of {name}", where=csv, hint=str(error).splitlines()[0]) from error
    if table.schema != schema:
        raise ResultsError(f"other columns than {name} has", where=csv, hint=f"expected: {', '.join(schema)}")
    return table


def portability() -> pl.DataFrame:
    """Table 2 as a study table: the columns of `workbench.portability.portability`, then source and params_note.

    Fractions of 1. portability is the printed column: recomputed from accuracies of one decimal it would lose digits
    (up to 0.004). The other bounds are computed from the printed accuracies. No intervals: none are printed.
    SQL was asked for once per dialect (mode "native"), a plan once for all ("compiled").
    """
    accuracies = [pl.col(engine) for engine in PAPER_ENGINES]
    lower, best = pl.min_horizontal(accuracies), pl.max_horizontal(accuracies)
    table = read("portability").with_columns(pl.col(PAPER_ENGINES) / 100)
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
        "source",
        params_note=pl.lit(PARAMS_NOTE),
    )
