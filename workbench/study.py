"""The study's tables and figures by name: from a run's stored scores, or from the papers' printed figures.

Reads only what is stored, never a model or a database.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from workbench import paths
from workbench.errors import ConfigError, NotBuiltError, ResultsError
from workbench.results import Run

STUDIES = ("portability",)
PLANNED = (
    "crossover",
    "errors",
    "features",
    "meta",
    "classifier",
    "agreement",
    "roundtrip",
    "tokens",
    "efficiency",
    "structure",
)


def study(name: str, run: Run | str | Path | None = None, *, is_published: bool = False) -> pl.DataFrame:
    """Compute a study table and, for a run, store it under the run; of the papers' figures it is only returned."""
    _known(name, run, is_published)
    if is_published:
        from workbench import published

        return published.portability()
    from workbench.portability import portability

    run = Run.open(run)
    with run.locked():
        table = portability(_scores(run))
        run.write_study(name, table)
    return table


def figures(
    name: str | Sequence[str], run: Run | str | Path | None = None, *, is_published: bool = False
) -> list[Path]:
    """Draw figures (pdf, png, and the numbers as csv) under figures/; "all" draws every one. Returns the files."""
    if not isinstance(name, str) or name == "all":
        return [
            path
            for each in (STUDIES if name == "all" else name)
            for path in figures(each, run, is_published=is_published)
        ]
    from workbench.figures import FIGURES, save_figure

    table = study(name, run, is_published=is_published)
    folder = paths.figures_dir(paths.PUBLISHED if is_published else Run.open(run).path)
    drawn: list[Path] = []
    for benchmark in table["benchmark"].unique(maintain_order=True):
        figure = FIGURES[name](table, benchmark)
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{name}_{benchmark}")
        drawn += save_figure(figure, figure.numbers, folder, stem)
    return drawn


def _scores(run: Run) -> pl.DataFrame:
    scores = run.table("scores")
    if scores.is_empty():
        raise ResultsError("has no scores yet", where=run.path, hint="workbench score first")
    return scores


def _known(name: str, run: object, is_published: bool) -> None:
    if name in PLANNED:
        raise NotBuiltError(f"{name} is not built yet", hint=f"available: {', '.join(STUDIES)}")
    if name not in STUDIES:
        raise ConfigError(f"there is no study {name!r}", hint=f"available: {', '.join(STUDIES)}")
    if (run is None) == (not is_published):
        raise ConfigError("say which results", hint="either --run RUN or --published")


def names(name: str) -> Sequence[str]:
    """A study's name, or all of them for "all"."""
    return STUDIES if name == "all" else (name,)


def accuracy(run: Run | str | Path) -> pl.DataFrame:
    """Accuracy of each model on each engine in percent, with its interval and what its failures were, for reading."""
    from workbench.portability import accuracy_by_engine

    scores = _scores(Run.open(run))
    percent = [(100 * pl.col(name)).round(1).alias(name) for name in ("accuracy", "low", "high")]
    keys = ["model", "target", "engine"]
    failures = (
        scores.filter(pl.col("outcome").is_in(["prediction_failed", "gold_failed", "gold_timeout"]))
        .group_by(*keys, what=pl.coalesce("predicted_status", pl.lit("no query")).replace("ok", "gold failed"))
        .len()
        .sort("len", "what", descending=[True, False])
        .group_by(keys, maintain_order=True)
        .agg(failures=pl.format("{} {}", "len", "what").str.join(", "))
    )
    table = accuracy_by_engine(scores).join(failures, on=keys, how="left", maintain_order="left")
    return table.select(*keys[:2], "mode", "engine", "metric", "n", "correct", *percent, "not_judged", "failures")


def show(files: Sequence[Path]) -> None:
    """Show the pictures among the files of `figures` in a notebook."""
    from IPython.display import Image, display

    for path in files:
        if path.suffix == ".png":
            display(Image(filename=str(path), width=700))
