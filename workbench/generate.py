"""Ask models: benchmark x model x target (and dialect, for SQL) -> rows of `generations`.

A part holds one model, target, dialect and database. A row is asked again only when what decides it has changed: the
model, its sampling, the messages, and for simulated models the gold they edit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from workbench import simulated
from workbench.benchmarks import Benchmark
from workbench.config import ModelConfig, checked
from workbench.errors import ConfigError, ResultsError
from workbench.header import describe_run
from workbench.llm import Provider, Request, get_provider
from workbench.progress import track
from workbench.prompts import TEMPLATE_HASH, prompt_hash, sql_messages
from workbench.results import Run, content_hash, part_name

GENERATION_VERSION = 1  # raise when the same request would be answered or read differently


@dataclass
class Generated:
    """What a step did: rows made now, rows that were there."""

    rows: int = 0
    kept: int = 0
    models: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.rows} answers new, {self.kept} kept, from {', '.join(self.models) or 'no model'}"


def generate(
    run: Run | str | Path,
    benchmark: Benchmark,
    models: Sequence[ModelConfig | dict],
    dialects: Sequence[str] = ("sqlite",),
    limit: int | None = None,
    seed: int = 0,
) -> Generated:
    """Ask each model each question, once per dialect for SQL; store what is new.

    limit: only the first questions of the benchmark. Prediction files among `models` are imported, see import_predictions.
    """
    from workbench.import_predictions import import_predictions  # which stores questions as this step does

    if not 0 <= seed < 2**63:
        raise ConfigError(f"seed {seed}", hint="from 0 to 2**63 - 1")
    done, run = Generated(), Run.create(run)
    models = [model if isinstance(model, ModelConfig) else checked(ModelConfig, model, "models") for model in models]
    with run.locked():
        questions = store_questions(run, benchmark, limit)
        for model in models:
            if model.provider == "predictions":
                imported = import_predictions(
                    run,
                    benchmark,
                    model.files,
                    model=model.name,
                    engine=model.engine,
                    params_b=model.params_b,
                    weights=model.weights,
                )
                done.models += [name for name in imported.models if name not in done.models]
                continue
            get_provider(model.provider).check(model.name)
            describe_run(run, models={model.name: model.model_dump()}, prompts={"sql": TEMPLATE_HASH}, seed=seed)
            _ask_model(run, benchmark, questions, model, dialects, seed, done)
            done.models.append(model.name)
    return done


def store_questions(run: Run, benchmark: Benchmark, limit: int | None = None) -> pl.DataFrame:
    """Store the benchmark's questions in the run; a run holds one benchmark."""
    check_benchmark(run, benchmark)
    questions = benchmark.questions if limit is None else benchmark.questions.head(limit)
    stored = run.read_part("questions", "questions")
    wanted = (
        questions.with_columns(benchmark=pl.lit(benchmark.name), run=pl.lit(run.name))
        .select(stored.columns)
        .cast(stored.schema)
    )
    if not stored.equals(wanted):
        run.write_part("questions", "questions", wanted)
    describe_run(run, benchmark=benchmark)
    return wanted


def check_benchmark(run: Run, benchmark: Benchmark) -> None:
    """ResultsError where a run holds results of another benchmark."""
    there = run.header.get("benchmark")
    if there and there["name"] != benchmark.name:
        hint = "choose another run name"
        raise ResultsError(f"holds results of {there['name']}, not of {benchmark.name}", where=run.path, hint=hint)


def _ask_model(
    run: Run,
    benchmark: Benchmark,
    questions: pl.DataFrame,
    model: ModelConfig,
    dialects: Sequence[str],
    seed: int,
    done: Generated,
) -> None:
    known = simulated.MODELS.get(model.name) if model.provider == "simulated" else None
    about = {
        "model": model.name,
        "params_b": model.params_b or (known and known.params_b),
        "weights": model.weights or (known and known.weights),
        "regime": model.regime or "prompted",
        "is_simulated": model.provider == "simulated",
    }
    batches = [
        (dialect, db_id, rows)
        for dialect in dialects
        for (db_id,), rows in questions.group_by("db_id", maintain_order=True)
    ]
    for dialect, db_id, rows in track(batches, len(batches), f"asking {model.name}"):
        requests = [_request(benchmark, model, row, dialect, seed) for row in rows.iter_rows(named=True)]
        _ask_batch(run, part_name(model.name, "sql", dialect, db_id), model, requests, about, done)


def _ask_batch(run: Run, part: str, model: ModelConfig, requests: list[Request], about: dict, done: Generated) -> None:
    stored = dict(run.read_part("generations", part).select("question_id", "input_hash").iter_rows())
    made = {}
    for request in requests:
        key = content_hash(GENERATION_VERSION, model.provider, about, vars(request))
        if stored.get(request.question_id) != key:
            made[request.question_id] = about | _answered(request, get_provider(model.provider)) | {"input_hash": key}
    done.rows += len(made)
    done.kept += len(requests) - len(made)
    run.merge_part("generations", part, [request.question_id for request in requests], made)


def _request(benchmark: Benchmark, model: ModelConfig, row: dict, dialect: str, seed: int) -> Request:
    messages = sql_messages(row["question"], row["evidence"], benchmark.schema(row["db_id"]), dialect)
    reference = {"gold_sql": row["gold_sql"]} if model.provider == "simulated" else {}
    return Request(
        model.name,
        row["question_id"],
        row["db_id"],
        "sql",
        dialect,
        messages,
        {"seed": seed} | model.sampling,
        reference,
    )


def _answered(request: Request, provider: Provider) -> dict:
    response = provider.answer(request)
    artefact = response.text.strip() or None
    return {
        "target": request.target,
        "dialect": request.dialect,
        "question_id": request.question_id,
        "db_id": request.db_id,
        "prompt_hash": prompt_hash(request.messages),
        "response": response.text,
        "thinking": response.thinking,
        "artefact": artefact,
        "parse_status": "ok" if artefact else "empty",
        "input_tokens": response.input_tokens,
        "output_tokens": response.output_tokens,
        "reasoning_tokens": response.reasoning_tokens,
        "artefact_tokens": None,
        "seconds": response.seconds,
        "finish_reason": response.finish_reason,
        "error": None,
    }
