"""The study's tables and figures by name: from a run's stored scores, or from the papers' printed figures.

Reads only what is stored, never a model or a database.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from workbench import paths
from workbench.errors import ConfigError, ResultsError
from workbench.results import Run

if TYPE_CHECKING:
    from workbench.house import HouseFigure


@dataclass(frozen=True)
class Study:
    """table: the name of results.TABLES that a run's is stored under. of_run: raises ResultsError where a run holds nothing
    to study. of_published: the same of the papers' figures, where they print it."""

    table: str
    of_run: Callable[[Run], pl.DataFrame]
    of_published: Callable[[], pl.DataFrame] | None = None


def _portability(run: Run) -> pl.DataFrame:
    from workbench.portability import portability

    return portability(_scores(run), headline(run))


def headline(run: Run) -> str:
    """The metric that the run's configuration names first."""
    from workbench.portability import HEADLINE

    return (run.header.get("config") or {}).get("metrics", [HEADLINE])[0]


def _published_portability() -> pl.DataFrame:
    from workbench.published import portability

    return portability()


def _crossover(run: Run) -> pl.DataFrame:
    from workbench.crossover import crossover

    return crossover(_portability(run))


def _published_crossover() -> pl.DataFrame:
    from workbench.crossover import crossover

    return crossover(_published_portability())


def _roundtrip(run: Run) -> pl.DataFrame:
    from workbench.plan_roundtrip import fidelity

    return fidelity(_round_trips(run))


def _round_trips(run: Run) -> pl.DataFrame:
    rows = run.table("roundtrip")
    if rows.is_empty():
        raise ResultsError("has no round trips", where=run.path, hint="workbench plan roundtrip PATH --run RUN first")
    return rows


def _errors(run: Run) -> pl.DataFrame:
    from workbench.error_tables import error_counts

    return error_counts(_scores(run), headline(run))


def _error_agreement(run: Run) -> pl.DataFrame:
    from workbench.error_agreement import sources
    from workbench.judge_errors import wrong_pairs

    return sources(wrong_pairs(run, headline(run)), run.table("error_judgements"))


def _failures(run: Run) -> pl.DataFrame:
    from workbench.error_tables import failure_kinds

    return failure_kinds(_scores(run), headline(run))


def _features(run: Run) -> pl.DataFrame:
    from workbench.question_features import feature_table, stored_features

    return feature_table(stored_features(run))


def _meta(table: str) -> Callable[[Run], pl.DataFrame]:
    def of_run(run: Run) -> pl.DataFrame:
        files = [
            file for name in ("scores", "question_features") for file in sorted((run.path / name).glob("*.parquet"))
        ]
        return _meta_tables(run.path, tuple((file, file.stat().st_mtime_ns) for file in files))[table]

    return of_run


@lru_cache(maxsize=2)
def _meta_tables(path: Path, stamps: tuple) -> dict[str, pl.DataFrame]:
    """The three tables of the meta-analysis, made once for scores and features as they are."""
    from workbench.meta_analysis import meta_analysis
    from workbench.question_features import stored_features

    run = Run.open(path)
    return meta_analysis(_scores(run), stored_features(run), headline(run))


def _structure(run: Run) -> pl.DataFrame:
    from workbench.difficulty import structure

    return structure(_scores(run))


def _efficiency(run: Run) -> pl.DataFrame:
    from workbench.difficulty import efficiency

    return efficiency(_scores(run))


def _ablation(run: Run) -> pl.DataFrame:
    from workbench.ablation import ablation

    baseline = (run.header.get("config") or {}).get("baseline")
    return ablation(_structure(run), run.table("generations"), baseline)


def _paired(run: Run) -> pl.DataFrame:
    from workbench.paired import paired

    return paired(_scores(run), headline(run))


def _tokens(run: Run) -> pl.DataFrame:
    from workbench.token_study import tokens

    return tokens(run)


def _published_tokens() -> pl.DataFrame:
    from workbench.token_study import published_tokens

    return published_tokens()


def _agreement(run: Run) -> pl.DataFrame:
    from workbench.agreement import agreement

    return agreement(_scores(run))


def _sides(run: Run) -> pl.DataFrame:
    from workbench.agreement import sides

    return sides(run)


def _published_sides() -> pl.DataFrame:
    from workbench.agreement import published_sides

    return published_sides()


def _annotators(run: Run) -> pl.DataFrame:
    from workbench.agreement import annotators

    return annotators(run)


def _metric_gap(run: Run) -> pl.DataFrame:
    from workbench.agreement import metric_gap

    return metric_gap(_round_trips(run))


def _published_gap() -> pl.DataFrame:
    from workbench.agreement import published_gap

    return published_gap()


STUDIES = {
    "portability": Study("portability", _portability, _published_portability),
    "crossover": Study("crossover", _crossover, _published_crossover),
    "roundtrip": Study("fidelity", _roundtrip),
    "errors": Study("error_counts", _errors),
    "error_agreement": Study("error_agreement", _error_agreement),
    "failures": Study("failure_kinds", _failures),
    "features": Study("features", _features),
    "coefficients": Study("coefficients", _meta("coefficients")),
    "meta_checks": Study("meta_checks", _meta("meta_checks")),
    "meta": Study("pooled", _meta("pooled")),
    "structure": Study("structure", _structure),
    "efficiency": Study("efficiency", _efficiency),
    "ablation": Study("ablation", _ablation),
    "paired": Study("paired", _paired),
    "tokens": Study("tokens", _tokens, _published_tokens),
    "agreement": Study("agreement", _agreement),
    "sides": Study("sides", _sides, _published_sides),
    "annotators": Study("annotators", _annotators),
    "metric_gap": Study("metric_gap", _metric_gap, _published_gap),
}
# printed under one name, as far as a run has what they need
TOGETHER = {
    "agreement": ("agreement", "sides", "annotators", "metric_gap"),
    "meta": ("coefficients", "meta_checks", "meta"),
}
LABEL_STUDIES = ("classifier",)  # of hand labels and benchmarks, not of a run: `classifier_study`


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


def _scores(run: Run) -> pl.DataFrame:
    scores = run.table("scores")
    if scores.is_empty():
        raise ResultsError("has no scores yet", where=run.path, hint="workbench score first")
    return scores


def _published(name: str) -> pl.DataFrame:
    """In the shape of our own study where there is one, else as printed."""
    from workbench.published import read

    own = STUDIES[name].of_published if name in STUDIES else None
    return own() if own else read(name)


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

    own = [name for name, each in STUDIES.items() if each.of_published]
    return own + [name for name in PRINTED if name not in own]


def accuracy(run: Run | str | Path) -> pl.DataFrame:
    """Accuracy of each model on each engine in percent, with its interval and what its failures were, for reading."""
    from workbench.portability import accuracy_by_engine

    run = Run.open(run)
    scores = _scores(run)
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
    table = accuracy_by_engine(scores, headline(run)).join(failures, on=keys, how="left", maintain_order="left")
    return table.select(
        *keys[:2], "mode", "engine", "metric", "n", "correct", *percent, "not_judged", "empty_gold", "failures"
    )


def show(files: Sequence[Path]) -> None:
    """Show the pictures among the files of `figures` in a notebook."""
    from IPython.display import Image, display

    for path in files:
        if path.suffix == ".png":
            display(Image(filename=str(path), width=700))
