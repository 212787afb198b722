"""Judge what was generated: run predictions and golds on the engines, compare, store `executions` and `scores`.

Work goes database by database (score_database.py), and a pair's verdict is made in one place (judge.py). A row is made
again only when what decides it has changed: the two statements, the database's contents, the engine's version, the limits,
the question's class, or the rules. Executed results are cached by content, so a row that is judged again is not always
run again.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from workbench.backends import BACKENDS
from workbench.backends.base import Limits
from workbench.benchmarks import Benchmark, read_benchmark
from workbench.errors import ConfigError, ResultsError
from workbench.execute import Executor
from workbench.generate import store_questions
from workbench.header import describe_run
from workbench.progress import track
from workbench.question_features import store_features
from workbench.results import Run, part_name
from workbench.score_database import NO_GOLD, REFERENCE, Database, Scored


def score(
    run: Run | str | Path,
    engines: Sequence[str] | None = None,
    limits: Limits | None = None,
    instances: int = 0,
) -> Scored:
    """Judge every generation of a run on every engine; an engine that is absent is named and its rows stay unjudged.

    engines: those the predictions were written for, where not given; all where there are plans only. Predictions for one
    dialect only are run as written on the other engines asked for; of a plan, the SQL that it was compiled to for each.
    instances: more of each database, made up, on which predictions on SQLite are judged too (column test_suite).
    """
    run, limits = Run.open(run), limits or Limits()
    benchmark = benchmark_of(run)
    with run.locked():
        questions = store_questions(run, benchmark, limit=run.header.get("question_limit"))
        generations = run.table("generations").join(
            questions.select("question_id"), on="question_id", how="semi", maintain_order="left"
        )
        is_first = pl.col("sample").fill_null(0) == 0
        further, generations = generations.filter(~is_first).height, generations.filter(is_first)
        if generations.is_empty():
            raise ResultsError(
                "has no generations to score", where=run.path, hint="workbench import or workbench generate first"
            )
        engines = list(dict.fromkeys(engines or written_for(generations)))
        if not engines:
            raise ConfigError("its predictions are for no engine there is", hint=f"available: {', '.join(BACKENDS)}")
        for engine in engines:
            if engine not in BACKENDS:
                raise ConfigError(f"there is no engine {engine!r}", hint=f"available: {', '.join(BACKENDS)}")
        _drop_orphans(run, generations)
        store_features(run, benchmark, questions)
        gold_engines = {engine: _gold_engine(engine, questions) for engine in engines}
        with Executor(list(dict.fromkeys([*engines, *gold_engines.values(), REFERENCE])), limits) as executor:
            describe_run(run, engines=executor.versions, limits=asdict(limits))
            done = Scored(unavailable=executor.unavailable, unprepared=executor.unprepared, further=further)
            batches = _batches(generations, engines)
            for db_id, groups in track(batches, len(batches), "scoring"):
                asked = questions.filter(pl.col("db_id") == db_id)
                Database(run, executor, limits, benchmark, db_id, asked, gold_engines, instances).score(groups, done)
            done.unstored = executor.unstored
    return done


def is_whole(run: Run) -> bool:
    """Whether every stored pair with a gold has a verdict."""
    return run.table("scores").filter(pl.col("reason") != NO_GOLD, outcome="not_judged").is_empty()


def benchmark_of(run: Run) -> Benchmark:
    """The benchmark a run was made from, read again from where it lay."""
    about = run.header.get("benchmark")
    if not about:
        raise ResultsError(
            "names no benchmark yet", where=run.path, hint="workbench import or workbench generate first"
        )
    return read_benchmark(**about["origin"])


def dialect_for(engine: str, written: Sequence[str]) -> str | None:
    """Which of the dialects a model wrote is run on an engine: the engine's own, else SQLite's as written, else none."""
    return next((dialect for dialect in (engine, "sqlite") if dialect in written), None)


def _batches(generations: pl.DataFrame, engines: list[str]) -> list[tuple[str, list[tuple[str, list[dict]]]]]:
    """Per database: (engine, the rows of one model, target and dialect) for each part to be."""
    written: dict[tuple, list[str]] = defaultdict(list)
    for model, target, dialect in generations.select("model", "target", "dialect").unique(maintain_order=True).rows():
        written[model, target].append(dialect)
    by_db: dict[str, list] = defaultdict(list)
    for (model, target, dialect, db_id), group in generations.group_by(
        "model", "target", "dialect", "db_id", maintain_order=True
    ):
        for engine in engines:
            if dialect is None or dialect == dialect_for(engine, written[model, target]):
                by_db[db_id].append((engine, group.rows(named=True)))
    used = {engine for groups in by_db.values() for engine, _ in groups}
    for engine in engines:
        if engine not in used:
            raise ConfigError(
                f"nothing in the run can be scored on {engine}", hint="its predictions are for other dialects"
            )
    return sorted(by_db.items())


def written_for(generations: pl.DataFrame) -> list[str]:
    """The engines whose dialects the generations are in; of plans alone, all."""
    written = [name for name in sorted(generations["dialect"].drop_nulls().unique()) if name in BACKENDS]
    return written or (list(BACKENDS) if "plan" in generations["target"] else [])


def _gold_engine(engine: str, questions: pl.DataFrame) -> str:
    """Where the gold runs: on the engine itself if the benchmark ships a gold for it, else on SQLite."""
    column = f"gold_sql_{engine}"
    return engine if column in questions.columns and questions[column].is_not_null().any() else "sqlite"


def _drop_orphans(run: Run, generations: pl.DataFrame) -> None:
    """Delete the parts whose generations are gone."""
    keys = generations.select("model", "target", "dialect", "db_id").unique().rows()
    wanted = {part_name(*key, engine) for key in keys for engine in BACKENDS}
    wanted |= {part_name("gold", db_id, engine) for *_, db_id in keys for engine in BACKENDS}
    for table in ("executions", "scores"):
        for part in set(run.parts(table)) - wanted:
            run.drop_part(table, part)
