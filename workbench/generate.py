"""Ask models: benchmark x model x target (and dialect, for SQL) -> rows of `generations`.

A part holds one model, target, dialect and database, of a large one a piece. A row is asked again only when what decides
it has changed: the model, its sampling, the messages, and for simulated models the gold they edit; or when it has no answer.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

import polars as pl

from workbench import simulated
from workbench.benchmarks import Benchmark
from workbench.calls import open_journal
from workbench.config import ModelConfig, checked
from workbench.errors import PLAN_ERROR_KINDS, BenchmarkError, ConfigError, GenerationError, ResultsError
from workbench.extract import Extracted
from workbench.gold_plans import store_gold_plans
from workbench.header import describe_run
from workbench.llm import Provider, Request, Response, check_model, open_provider
from workbench.local_model import served
from workbench.progress import progress
from workbench.prompts import ANSWER_TOKENS, Samples, messages_for, template_hash
from workbench.read_answer import answer_row, extracted, failed_row
from workbench.results import Run, content_hash, part_name
from workbench.sample_values import sample_values

GENERATION_VERSION = 3  # raise when the same request would be answered, read or compiled differently
BATCH = 500  # questions in a part, so that memory does not grow with a benchmark of one database
OPEN_SCHEMAS = 8
PROMPT_MESSAGES = 4  # of prompts.py; what follows is a repair's
# What a second try can mend: a plan was written, whole, and refused
REPAIRED = {*PLAN_ERROR_KINDS} - {"truncated"}


@dataclass
class Generated:
    """What a step did: rows made now, rows that were there, questions without an answer (asked again next time).

    absent: optional models that could not be asked, and why. stopped: models whose asking ended early, and why.
    """

    rows: int = 0
    kept: int = 0
    failed: int = 0
    absent: dict[str, str] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        failed = f", {self.failed} questions got none" if self.failed else ""
        absent = "".join(f"\n{name} could not be asked: {why}" for name, why in self.absent.items())
        absent += "".join(f"\n{name} was stopped: {why}" for name, why in self.stopped.items())
        return f"{self.rows} answers new, {self.kept} kept{failed}, from {', '.join(self.models) or 'no model'}{absent}"

    @property
    def is_whole(self) -> bool:
        """Whether every question of every model has an answer."""
        return not (self.failed or self.absent or self.stopped)


def generate(
    run: Run | str | Path,
    benchmark: Benchmark,
    models: Sequence[ModelConfig | dict],
    dialects: Sequence[str] = ("sqlite",),
    limit: int | None = None,
    seed: int = 0,
) -> Generated:
    """Ask each model each question, once per dialect for SQL and once for a plan; store what is new.

    limit: only the first questions of the benchmark. Prediction files among `models` are imported, see import_predictions.
    """
    from workbench.import_predictions import import_predictions  # which stores questions as this step does

    if not 0 <= seed < 2**63:
        raise ConfigError(f"seed {seed}", hint="from 0 to 2**63 - 1")
    done, run = Generated(), Run.create(run)
    models = [model if isinstance(model, ModelConfig) else checked(ModelConfig, model, "models") for model in models]
    with run.locked():
        questions = store_questions(run, benchmark, limit)
        store_gold_plans(run, benchmark, questions)
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
            if not model.is_optional:
                check_model(model, is_asking=False)
            prompts = {target: template_hash(target, model.thinking) for target in model.targets}
            describe_run(run, models={model.name: model.model_dump() | {"prompts": prompts}}, seed=seed)
            asking = _Asking(run, benchmark, model, seed, done)
            asked = questions.head(model.question_limit or questions.height)
            with progress(asking.total(asked, dialects), f"asking {model.name}") as asking.step:
                asking.ask(asking.requests(asked, dialects))
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


@dataclass
class _Batch:
    """The rows of one part to be: at most BATCH questions of one database, for one target, dialect and sample."""

    part: str
    target: str
    dialect: str | None
    sample: int
    questions: list[dict]
    waiting: set[str] = field(default_factory=set)  # questions without an answer yet
    made: dict[str, dict] = field(default_factory=dict)


class _Asking:
    """One model's questions on their way: what is asked next, and the parts that fill up."""

    def __init__(self, run: Run, benchmark: Benchmark, model: ModelConfig, seed: int, done: Generated):
        self.run, self.benchmark, self.model, self.seed, self.done = run, benchmark, model, seed, done
        known = simulated.MODELS.get(model.name) if model.provider == "simulated" else None
        self.about = {
            "model": model.name,
            "params_b": model.params_b or (known and known.params_b),
            "weights": model.weights or (known and known.weights),
            "regime": model.regime or "prompted",
            "is_simulated": model.provider == "simulated",
        }
        self.open: dict[tuple, _Batch] = {}
        self.earlier: dict[tuple, list[Response]] = {}  # answers that were refused and went back
        self.repairs: deque[Request] = deque()
        self.provider: Provider | None = None
        self.step: Callable[..., None] = lambda note="": None
        self.schema = lru_cache(maxsize=OPEN_SCHEMAS)(benchmark.schema)
        self.samples = lru_cache(maxsize=OPEN_SCHEMAS)(self._samples)

    def requests(self, questions: pl.DataFrame, dialects: Sequence[str]) -> Iterator[Request]:
        """What is not stored yet, batch by batch; a batch without anything new is brought up to date at once."""
        for target, dialect in _wanted(self.model, dialects):
            for sample in range(self.model.samples):
                for part, rows in _cut(questions, self.model.name, target, dialect, sample):
                    yield from self._batch(_Batch(part, target, dialect, sample, rows))

    def total(self, questions: pl.DataFrame, dialects: Sequence[str]) -> int:
        return len(_wanted(self.model, dialects)) * self.model.samples * questions.height

    def ask(self, requests: Iterator[Request]) -> None:
        """Ask them all; the endpoint is not even looked for when everything is stored. What stands is stored always."""
        first = next(requests, None)
        if first is None:
            return
        try:
            with served(self.model) as model:
                check_model(model)
                self._ask(model, chain([first], requests))
        except GenerationError as error:
            if not self.model.is_optional or self.provider is not None:
                raise
            self.done.absent[self.model.name] = str(error)

    def _ask(self, model: ModelConfig, requests: Iterator[Request]) -> None:
        with open_journal(self.run, model) as journal:
            self.provider = open_provider(model, journal)
            try:
                for request, answer in self.provider.answers(
                    lambda: self.repairs.popleft() if self.repairs else next(requests, None)
                ):
                    self.take(request, answer)
            finally:
                for batch in {id(batch): batch for batch in self.open.values()}.values():
                    self._store(batch)
        if self.provider.stopped:
            self.done.stopped[self.model.name] = self.provider.stopped

    def _batch(self, batch: _Batch) -> Iterator[Request]:
        stored = self.run.read_part("generations", batch.part).filter(pl.col("error").is_null())
        known = dict(stored.select("question_id", "input_hash").iter_rows())
        batch.waiting = {row["question_id"] for row in batch.questions}
        for row in batch.questions:
            try:
                request = self._request(row, batch)
            except GenerationError as error:  # its prompt does not fit
                request = self._bare_request(row, batch, [])
                self.open[_place(request)] = batch
                self.take(request, error)
                continue
            if known.get(request.question_id) == self._hash(request):
                batch.waiting.discard(request.question_id)
                self.done.kept += 1
                self.step()
                continue
            self.open[_place(request)] = batch
            yield request
        if not batch.waiting:
            self._store(batch)

    def take(self, request: Request, answer: Response | GenerationError) -> None:
        """Put an answer into its batch, and store the batch when it was the last; a refused plan may go back instead."""
        place = _place(request)
        if isinstance(answer, GenerationError):
            row = failed_row(request, answer)
            self.done.failed += 1
            self.earlier.pop(place, None)
        else:
            found = extracted(request, answer, self.schema(request.db_id))
            if request.attempt < self.model.repairs and found.status in REPAIRED:
                self.earlier.setdefault(place, []).append(answer)
                self.repairs.append(_repair(request, answer.text, found))
                return
            row = answer_row(request, [*self.earlier.pop(place, []), answer], found, self.model.thinking)
            self.done.rows += 1
        batch = self.open.pop(place)
        batch.made[request.question_id] = self.about | row | {"input_hash": self._hash(request)}
        batch.waiting.discard(request.question_id)
        self.step(self.provider.spent if self.provider else "")
        if not batch.waiting:
            self._store(batch)

    def _store(self, batch: _Batch) -> None:
        self.run.merge_part("generations", batch.part, [row["question_id"] for row in batch.questions], batch.made)

    def _request(self, row: dict, batch: _Batch) -> Request:
        schema, model = self.schema(row["db_id"]), self.model
        messages = messages_for(
            batch.target,
            batch.dialect,
            row["question"],
            row["evidence"],
            schema,
            self.samples(row["db_id"]),
            context_tokens=model.context_tokens,
            answer_tokens=model.answer_tokens or ANSWER_TOKENS,
            thinking=model.thinking,
        )
        return self._bare_request(row, batch, messages)

    def _bare_request(self, row: dict, batch: _Batch, messages: list[dict[str, str]]) -> Request:
        return Request(
            self.model.name,
            row["question_id"],
            row["db_id"],
            batch.target,
            batch.dialect,
            messages,
            {"seed": self.seed + batch.sample} | self._greedy() | self.model.sampling,
            self._reference(row),
            batch.sample,
        )

    def _greedy(self) -> dict:
        return {} if self.model.provider == "simulated" else {"temperature": 0}

    def _reference(self, row: dict) -> dict:
        if self.model.provider != "simulated":
            return {}
        return {"gold_sql": row["gold_sql"], "schema": self.schema(row["db_id"])}

    def _samples(self, db_id: str) -> Samples:
        """Sample values of a database; none where its file is absent."""
        try:
            return sample_values(self.benchmark.database_path(db_id), self.benchmark.schema(db_id))
        except BenchmarkError:
            return {}

    def _hash(self, request: Request) -> str:
        """All that decides a row: the request, how its answer is bound and read, for simulated models the gold they edit.

        A repair has the hash of the question that it repairs.
        """
        asked = {key: value for key, value in vars(request).items() if key not in ("reference", "attempt")}
        asked["messages"] = request.messages[:PROMPT_MESSAGES]
        settings = (self.model.model, self.model.thinking, self.model.repairs, self.model.is_constrained)
        return content_hash(
            GENERATION_VERSION, self.model.provider, self.about, asked, request.reference.get("gold_sql"), settings
        )


def _repair(request: Request, text: str, found: Extracted) -> Request:
    """The request with the refused plan and the refusal's words behind it, and behind those of attempts before."""
    words = f"This plan is refused: {found.status}: {found.message}\n\nWrite the whole plan again."
    more = [{"role": "assistant", "content": text}, {"role": "user", "content": words}]
    return replace(request, messages=[*request.messages, *more], attempt=request.attempt + 1)


def _wanted(model: ModelConfig, dialects: Sequence[str]) -> list[tuple[str, str | None]]:
    return [(target, dialect) for target in model.targets for dialect in _dialects(target, dialects)]


def _dialects(target: str, dialects: Sequence[str]) -> Sequence[str | None]:
    """SQL is asked for once per dialect, a plan once for all."""
    return dialects if target == "sql" else [None]


def _cut(
    questions: pl.DataFrame, model: str, target: str, dialect: str | None, sample: int
) -> Iterator[tuple[str, list[dict]]]:
    """(part, its questions): a database's questions in the benchmark's order, at most BATCH in a part."""
    for (db_id,), rows in questions.group_by("db_id", maintain_order=True):
        for number, piece in enumerate(rows.iter_slices(BATCH)):
            more = [str(one) for one in (sample, number)] if sample or number else []
            yield part_name(model, target, dialect, db_id, *more), piece.rows(named=True)


def _place(request: Request) -> tuple:
    return request.target, request.dialect, request.sample, request.question_id
