"""Has a model name the category of every stored error on SQLite, as the plans paper has (section 5.5, appendix D).

In: a scored run, a model as a configuration describes one. Out: rows of `error_judgements`. Errors of equal question, gold,
SQL and message are one request, each goes through the model's journal, and a rerun asks only what has no answer yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from workbench.calls import open_journal
from workbench.config import ModelConfig
from workbench.error_columns import WRONG
from workbench.error_judge import SAMPLING, judge_messages, read_judgement
from workbench.errors import ConfigError, GenerationError, ResultsError
from workbench.header import describe_run
from workbench.llm import Request, Response, check_model, open_provider
from workbench.local_model import served
from workbench.portability import HOME
from workbench.progress import progress
from workbench.results import Run, content_hash, part_name

KEYS = ["model", "target", "dialect", "question_id"]
_ABOUT = ["benchmark", *KEYS, "db_id"]


@dataclass
class Judged:
    """errors: rows of the judge. asked: requests that were answered now. failed: those that were not, asked again next
    time. stopped: why asking ended early, else null."""

    errors: int
    asked: int = 0
    failed: int = 0
    stopped: str | None = None

    def __str__(self) -> str:
        failed = f", {self.failed} got none" if self.failed else ""
        return f"{self.errors} errors, {self.asked} answers new{failed}" + (f"\n{self.stopped}" if self.stopped else "")


def judge_errors(run: Run | str | Path, model: ModelConfig, metric: str = "df_match") -> Judged:
    """Ask the model for the category of every prediction that the metric says is wrong on SQLite, and store its answers.

    ConfigError for models that are no judges, ResultsError where nothing was scored on SQLite, GenerationError where the
    model cannot be asked.
    """
    if model.provider in ("simulated", "predictions"):
        raise ConfigError(f"provider {model.provider} cannot judge", hint="--base-url URL, or --set provider=litellm")
    run = Run.open(run)
    with run.locked():
        rows = [row | {"request": _request(row, model)} for row in wrong_pairs(run, metric).iter_rows(named=True)]
        requests = {_key(row["request"]): row["request"] for row in rows}
        part = part_name(model.name)
        stored = run.read_part("error_judgements", part).filter(pl.col("answer").is_not_null())
        answers = {row["input_hash"]: row for row in stored.iter_rows(named=True) if row["input_hash"] in requests}
        done, known = Judged(len(rows)), len(answers)
        todo = [request for key, request in requests.items() if key not in answers]
        if todo:
            describe_run(run, judges=run.header.get("judges", {}) | {model.name: model.model_dump()})
        try:
            for request, answer in _ask(run, model, todo, done):
                answers[_key(request)] = _read(answer)
        finally:
            done.asked = sum(answer["answer"] is not None for answer in answers.values()) - known
            done.failed = len(requests) - known - done.asked
            run.write_part("error_judgements", part, [_row(row, model, answers) for row in rows])
    return done


def wrong_pairs(run: Run, metric: str) -> pl.DataFrame:
    """The errors of a run on SQLite: _ABOUT, question, gold_sql, sql (of a plan, what it compiles to), message,
    error_category, is_simulated. ResultsError where there are none."""
    scores = run.table("scores").filter(pl.col("engine") == HOME, pl.col("outcome").is_in(WRONG), ~pl.col(metric))
    if scores.is_empty():
        raise ResultsError(
            "has no errors on SQLite", where=run.path, hint="workbench score --engines sqlite, if not yet done"
        )
    said = ("error_category", "is_simulated")
    ran = run.table("executions").filter(role="prediction", engine=HOME).select(*KEYS, "sql", "status", "message")
    questions = run.table("questions").select("question_id", "question", "gold_sql")
    pairs = scores.select(*_ABOUT, "reason", *said).join(ran, on=KEYS, nulls_equal=True)
    why = pl.when(pl.col("sql").is_null()).then("reason").when(pl.col("status") != "ok").then("message")
    pairs = pairs.join(questions, on="question_id", maintain_order="left").with_columns(message=why)
    return pairs.select(*_ABOUT, "question", "gold_sql", "sql", "message", *said).sort(_ABOUT, nulls_last=True)


def _request(row: dict, model: ModelConfig) -> Request:
    """The request of an error, with the hash of its content."""
    messages = judge_messages(row["question"], row["gold_sql"], row["sql"], row["message"])
    sampling = SAMPLING | model.sampling
    key = content_hash(model.provider, model.model or model.name, messages, sampling)
    return Request(model.name, row["question_id"], row["db_id"], "judge", None, messages, sampling, {"key": key})


def _key(request: Request) -> str:
    return request.reference["key"]


def _ask(
    run: Run, model: ModelConfig, todo: list[Request], done: Judged
) -> Iterator[tuple[Request, Response | GenerationError]]:
    if not todo:
        return
    requests = iter(todo)
    with served(model) as at, progress(len(todo), f"asking {model.name}") as step:
        check_model(at)
        with open_journal(run, at) as journal:
            provider = open_provider(at, journal)
            for request, answer in provider.answers(lambda: next(requests, None)):
                step(provider.spent)
                yield request, answer
            done.stopped = provider.stopped


def _read(answer: Response | GenerationError) -> dict:
    if isinstance(answer, GenerationError):
        return {"category": None, "answer": None, "reason": str(answer)}
    category = read_judgement(answer.text)
    return {"category": category, "answer": answer.text, "reason": None if category else "names no one category"}


def _row(row: dict, model: ModelConfig, answers: dict[str, dict]) -> dict:
    key = _key(row["request"])
    answer = answers.get(key) or {"category": None, "answer": None, "reason": "not asked yet"}
    said = {name: answer[name] for name in ("category", "answer", "reason")}
    return {name: row[name] for name in _ABOUT} | {"judge": model.name, **said, "input_hash": key}
