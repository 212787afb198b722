"""The study's tables and figures by name: from a run's stored scores, or from the papers' printed figures.

Reads only what is stored, never a model or a database.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from workbench import paths
from workbench.errors import ConfigError, ResultsError
from workbench.results import Run
from workbench.study_tables import LABEL_STUDIES, STUDIES, headline, scores

if TYPE_CHECKING:
    from workbench.house import HouseFigure


def study(name: str, run: Run | str | Path | None = None, *, is_published: bool = False) -> pl.DataFrame:
    """Compute a study table and, for a run, store it under the run; of the papers' figures it is only returned."""
    _known(name, run, is_published)
    if is_published:
        return _published(name)
    run = Run.open(run)
    with run.locked():
        table = STUDIES[name].of_run(run)
        run.write_study(STUDIES[name].table, table)
    return table


def studies(
    run: Run | str | Path | None = None, names: Sequence[str] | None = None, *, is_published: bool = False
) -> Iterator[tuple[str, pl.DataFrame | str]]:
    """Every study there is, or those named: its name and its table, or why the run has none."""
    check_chosen(run, is_published)
    run = run if run is None else Run.open(run)
    for name in available(is_published):
        if names is not None and name not in names:
            continue
        try:
            yield name, study(name, run, is_published=is_published)
        except ResultsError as error:
            yield name, str(error)


def figures(
    name: str | Sequence[str], run: Run | str | Path | None = None, *, is_published: bool = False
) -> list[Path]:
    """Draw figures (pdf, png, and the numbers as csv) under figures/; "all" draws every one there are numbers for.

    Returns the files. ConfigError for a name that is no figure's; ResultsError, of a single one, where there are no numbers.
    """
    if name == "all":
        found = all_figures(run, is_published=is_published)
        return [path for _, paths in found if not isinstance(paths, str) for path in paths]
    if not isinstance(name, str):
        return [path for each in name for path in figures(each, run, is_published=is_published)]
    check_chosen(run, is_published)
    return _save(_drawn(name, run, is_published), run)


def _drawn(name: str, run: Run | str | Path | None, is_published: bool) -> list[tuple[str, "HouseFigure"]]:
    """A figure of each benchmark, by the name of its files. Errors as `figures`."""
    from workbench.figures import FIGURES

    if name not in FIGURES:
        raise ConfigError(f"there is no figure {name!r}", hint=f"available: {', '.join(FIGURES)}")
    drawing = FIGURES[name]
    if is_published and not set(drawing.tables) <= set(available(is_published)):
        what = "cannot be redrawn, its numbers are not printed"
        raise ResultsError(what, where=drawing.paper, hint=f"figures {name} --run RUN draws a run's own")
    tables = [study(each, run, is_published=is_published) for each in drawing.tables]
    benchmarks = tables[0]["benchmark"].unique(maintain_order=True)
    names = [re.sub(r"[^A-Za-z0-9._-]+", "-", f"{name}_{benchmark}") for benchmark in benchmarks]
    return [(stem, drawing.draw(*tables, benchmark)) for stem, benchmark in zip(names, benchmarks, strict=True)]


def _save(drawn: list[tuple[str, "HouseFigure"]], run: Run | str | Path | None) -> list[Path]:
    from workbench.house import save_figure

    folder = figures_dir(run)
    return [path for stem, figure in drawn for path in save_figure(figure, figure.numbers, folder, stem)]


def figures_dir(run: Run | str | Path | None) -> Path:
    """Where the figures and tables of a run lie; None: of the papers."""
    return paths.figures_dir(paths.PUBLISHED if run is None else Run.open(run).path)


def all_figures(
    run: Run | str | Path | None = None, *, is_published: bool = False
) -> Iterator[tuple[str, list[Path] | str]]:
    """Every figure there is: its name and its files, or why it cannot be drawn."""
    from workbench.figures import FIGURES

    check_chosen(run, is_published)
    run = run if run is None else Run.open(run)
    for name in FIGURES:
        try:
            drawn = _drawn(name, run, is_published)
        except ResultsError as error:
            yield name, str(error)
        else:
            yield name, _save(drawn, run)


def _published(name: str) -> pl.DataFrame:
    """In the shape of our own study where there is one, else as printed."""
    from workbench.published import read

    own = STUDIES.get(name)
    return own.of_published() if own and own.printed else read(name)


def _known(name: str, run: object, is_published: bool) -> None:
    if is_published and name in available(is_published):
        return check_chosen(run, is_published)
    if name in LABEL_STUDIES:
        raise ConfigError(f"{name} is of hand labels, not of a run", hint=f"workbench study {name} --benchmark PATH")
    if name not in STUDIES:
        raise ConfigError(f"there is no study {name!r}", hint=f"available: {', '.join(STUDIES)}")
    if is_published:
        raise ConfigError(f"the papers print no {name}", hint=f"available: {', '.join(available(is_published))}")
    check_chosen(run, is_published)


def check_chosen(run: object, is_published: bool) -> None:
    """ConfigError unless either a run or the papers' figures are asked for."""
    if (run is None) == (not is_published):
        raise ConfigError("say which results", hint="either --run RUN or --published")


def available(is_published: bool) -> list[str]:
    """Names of the studies of a run, or of those that the papers print."""
    if not is_published:
        return list(STUDIES)
    from workbench.published import PRINTED

    own = [name for name, each in STUDIES.items() if each.printed]
    return own + [name for name in PRINTED if name not in own]


def accuracy(run: Run | str | Path) -> pl.DataFrame:
    """Accuracy of each model on each engine in percent, with its interval and what its failures were, for reading."""
    from workbench.portability import accuracy_by_engine

    run = Run.open(run)
    judged = scores(run)
    percent = [(100 * pl.col(name)).round(1).alias(name) for name in ("accuracy", "low", "high")]
    keys = ["model", "target", "engine"]
    failures = (
        judged.filter(pl.col("outcome").is_in(["prediction_failed", "gold_failed", "gold_timeout"]))
        .group_by(*keys, what=pl.coalesce("predicted_status", pl.lit("no query")).replace("ok", "gold failed"))
        .len()
        .sort("len", "what", descending=[True, False])
        .group_by(keys, maintain_order=True)
        .agg(failures=pl.format("{} {}", "len", "what").str.join(", "))
    )
    table = accuracy_by_engine(judged, headline(run)).join(failures, on=keys, how="left", maintain_order="left")
    return table.select(
        *keys[:2], "mode", "engine", "metric", "n", "correct", *percent, "not_judged", "empty_gold", "failures"
    )


def show(files: Sequence[Path]) -> None:
    """Show the pictures among the files of `figures` in a notebook."""
    from IPython.display import Image, display

    for path in files:
        if path.suffix == ".png":
            display(Image(filename=str(path), width=700))
