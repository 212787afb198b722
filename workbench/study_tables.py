"""Every study by name: which function makes it, of what a run stores, and under which table it is kept.

In: a stored run. Out: `STUDIES`; functions are named, not imported, so that asking for one loads no other. Reads only what
is stored, never a model or a database.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import polars as pl

from workbench.errors import ResultsError
from workbench.results import Run


@dataclass(frozen=True)
class Study:
    """table: the name of results.TABLES that a run's is stored under. function: "module.function" of this package;
    None where its one input is the study.

    inputs: what the function takes, each of the run; they raise ResultsError where it holds nothing to study. printed:
    the function that gives the same of the papers' figures, where they print it.
    """

    table: str
    function: str | None
    inputs: tuple[Callable[[Run], object], ...] = ()
    printed: str | None = None

    def of_run(self, run: Run) -> pl.DataFrame:
        given = [each(run) for each in self.inputs]
        return _function(self.function)(*given) if self.function else given[0]

    def of_published(self) -> pl.DataFrame:
        return _function(self.printed)()


def _function(name: str) -> Callable:
    module, _, function = name.partition(".")
    return getattr(import_module(f"workbench.{module}"), function)


def scores(run: Run) -> pl.DataFrame:
    stored = run.table("scores")
    if stored.is_empty():
        raise ResultsError("has no scores yet", where=run.path, hint="workbench score first")
    return stored


def headline(run: Run) -> str:
    """The metric that the run's configuration names first."""
    from workbench.portability import HEADLINE

    return _config(run).get("metrics", [HEADLINE])[0]


def _config(run: Run) -> dict:
    return run.header.get("config") or {}


def _itself(run: Run) -> Run:
    return run


def _round_trips(run: Run) -> pl.DataFrame:
    rows = run.table("roundtrip")
    if rows.is_empty():
        raise ResultsError("has no round trips", where=run.path, hint="workbench plan roundtrip PATH --run RUN first")
    return rows


def _wrong_pairs(run: Run) -> pl.DataFrame:
    from workbench.judge_errors import wrong_pairs

    return wrong_pairs(run, headline(run))


def _features(run: Run) -> pl.DataFrame:
    from workbench.question_features import stored_features

    return stored_features(run)


def _stored(table: str) -> Callable[[Run], pl.DataFrame]:
    return lambda run: run.table(table)


def _study(name: str) -> Callable[[Run], pl.DataFrame]:
    return lambda run: STUDIES[name].of_run(run)


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

    run = Run.open(path)
    return meta_analysis(scores(run), _features(run), headline(run))


_JUDGED = (scores, headline)
STUDIES = {
    "portability": Study("portability", "portability.portability", _JUDGED, "published.portability"),
    "crossover": Study("crossover", "crossover.crossover", (_study("portability"),), "crossover.published_crossover"),
    "roundtrip": Study("fidelity", "plan_roundtrip.fidelity", (_round_trips,)),
    "errors": Study("error_counts", "error_tables.error_counts", _JUDGED),
    "error_agreement": Study("error_agreement", "error_agreement.sources", (_wrong_pairs, _stored("error_judgements"))),
    "failures": Study("failure_kinds", "error_tables.failure_kinds", _JUDGED),
    "features": Study("features", "question_features.feature_table", (_features,)),
    "coefficients": Study("coefficients", None, (_meta("coefficients"),)),
    "meta_checks": Study("meta_checks", None, (_meta("meta_checks"),)),
    "meta": Study("pooled", None, (_meta("pooled"),)),
    "structure": Study("structure", "difficulty.structure", (scores,)),
    "efficiency": Study("efficiency", "difficulty.efficiency", (scores,)),
    "ablation": Study(
        "ablation",
        "ablation.ablation",
        (_study("structure"), _stored("generations"), lambda run: _config(run).get("baseline")),
    ),
    "paired": Study("paired", "paired.paired", _JUDGED),
    "tokens": Study("tokens", "token_study.tokens", (_itself,), "token_study.published_tokens"),
    "agreement": Study("agreement", "agreement.agreement", (scores,)),
    "sides": Study("sides", "agreement.sides", (_itself,), "agreement.published_sides"),
    "annotators": Study("annotators", "agreement.annotators", (_itself,)),
    "metric_gap": Study("metric_gap", "agreement.metric_gap", (_round_trips,), "agreement.published_gap"),
}
# printed under one name, as far as a run has what they need
TOGETHER = {
    "agreement": ("agreement", "sides", "annotators", "metric_gap"),
    "meta": ("coefficients", "meta_checks", "meta"),
}
LABEL_STUDIES = ("classifier",)  # of hand labels and benchmarks, not of a run: `classifier_study`
