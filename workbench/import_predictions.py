"""Predictions that somebody already has, brought into a run as if a model had just given them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from workbench import paths
from workbench.backends import BACKENDS
from workbench.benchmarks import Benchmark
from workbench.errors import ConfigError, PredictionError
from workbench.header import describe_run
from workbench.predictions import Predictions, read_predictions
from workbench.results import Run, content_hash, part_name


@dataclass
class Imported:
    """models: their names in the order of the files. problems: file and what is wrong with single predictions in it."""

    models: list[str]
    problems: list[str]


def read_distinct(
    files: Iterable[tuple[str | Path, str | None, str | None]], benchmark: Benchmark
) -> dict[tuple[str, str], tuple[Path, Predictions]]:
    """Read (file, model, engine), the latter two null where the file's name says them; by model and dialect.

    PredictionError for a file that cannot be read or gives the same model in the same dialect as one before it.
    """
    found: dict[tuple[str, str], tuple[Path, Predictions]] = {}
    for file, model, engine in files:
        predictions = read_predictions(file, benchmark, model, engine)
        key = (paths.check_name(predictions.model, "a model"), predictions.engine or "sqlite")
        if key in found:
            raise PredictionError(
                f"gives {key[0]} on {key[1]}, as {found[key][0].name} does", where=file, hint="name the model of each"
            )
        found[key] = (Path(file), predictions)
    return found


def problems(read: dict[tuple[str, str], tuple[Path, Predictions]]) -> list[str]:
    """What is wrong with single predictions of the files that were read."""
    return [f"{file}: {problem}" for file, predictions in read.values() for problem in predictions.problems]


def import_predictions(
    run: Run | str | Path,
    benchmark: Benchmark,
    files: Sequence[str | Path],
    *,
    model: str | None = None,
    engine: str | None = None,
    params_b: float | None = None,
    weights: str | None = None,
) -> Imported:
    """Store prediction files as generations.

    model and engine are taken from a file's name where not given (mini-dev files name their engine; others are SQLite's).
    A size in the name ("CodeS-7b", "llama-3-70b") is stored as params_b. Importing a model again replaces its rows.
    """
    from workbench.generate import store_questions

    if engine is not None and engine not in BACKENDS:
        raise ConfigError(f"there is no engine {engine!r}", hint=f"available: {', '.join(BACKENDS)}")
    if model is not None and len(files) > 1 and engine is not None:
        raise ConfigError(
            "one model and engine for several files", hint="import them one at a time, or leave --model out"
        )
    if params_b is not None and not 0 < params_b <= 1e6:
        raise ConfigError(f"{params_b} billion parameters", hint="over 0, at most a million")
    if model is not None:
        paths.check_name(model, "a model")
    read = read_distinct([(file, model, engine) for file in files], benchmark)  # all, before any is stored
    run = Run.create(run)
    with run.locked():
        questions = store_questions(run, benchmark)
        dbs = dict(questions.select("question_id", "db_id").iter_rows())
        for (name, dialect), (file, predictions) in read.items():
            about = {
                "model": name,
                "params_b": params_b if params_b is not None else size_in_name(name),
                "weights": weights,
                "regime": "imported",
                "is_simulated": False,
                "target": "sql",
                "dialect": dialect,
            }
            by_db: dict[str, list[dict]] = {}
            for question_id, sql in predictions.frame.select("question_id", "sql").iter_rows():
                sql = sql if sql and sql.strip() else None
                row = (
                    about
                    | _EMPTY
                    | {"question_id": question_id, "db_id": dbs[question_id], "response": sql, "artefact": sql}
                )
                row |= {"parse_status": "ok" if sql else "empty", "input_hash": content_hash(about, question_id, sql)}
                by_db.setdefault(dbs[question_id], []).append(row)
            for db_id, rows in by_db.items():
                part = part_name(name, "sql", dialect, db_id)
                run.merge_part(
                    "generations", part, [r["question_id"] for r in rows], {r["question_id"]: r for r in rows}
                )
            entry = {
                "provider": "predictions",
                "file": file.name,
                "sha256": sha256(file.read_bytes()).hexdigest(),
                "params_b": about["params_b"],
                "weights": weights,
            }
            there = run.header.get("models", {}).get(name, {})
            describe_run(run, models={name: there | {dialect: entry}})
    return Imported(list(dict.fromkeys(name for name, _ in read)), problems(read))


_EMPTY = dict.fromkeys(
    (
        "prompt_hash",
        "thinking",
        "input_tokens",
        "output_tokens",
        "reasoning_tokens",
        "artefact_tokens",
        "seconds",
        "finish_reason",
        "error",
    )
)


def size_in_name(name: str) -> float | None:
    """Billions of parameters as a model's name states them, e.g. 7.0 for "CodeS-7b"; null where it states none."""
    found = re.findall(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])", name.lower())
    return float(found[-1]) if found else None
