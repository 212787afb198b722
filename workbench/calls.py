"""The journal of a run's model, and its calls as a table: what was asked, what came back, what was paid.

In: results/RUN/calls/<model>.jsonl. Out: rows of `calls`, written when the asking ends, however it ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import polars as pl

from workbench.budget import Usage
from workbench.config import ModelConfig, Prices
from workbench.journal import Journal
from workbench.results import Run, dtypes, part_name

_AT_ONCE = 1000  # calls that are in memory as objects


@contextmanager
def open_journal(run: Run, model: ModelConfig) -> Iterator[Journal | None]:
    """The model's journal in a run, none for those that call nobody; its calls are stored as a table at the end."""
    if model.provider not in ("openai", "litellm"):
        yield None
        return
    part = part_name(model.name)
    journal = Journal(run.path / "calls" / f"{part}.jsonl")
    try:
        yield journal
    finally:
        run.write_part("calls", part, _table(journal, model))
        journal.close()


def _table(journal: Journal, model: ModelConfig) -> pl.DataFrame:
    schema = dtypes("calls")
    calls, frames = journal.all_calls(), [pl.DataFrame(schema=schema)]
    while chunk := list(islice(calls, _AT_ONCE)):
        frames.append(pl.DataFrame([_row(call, model.prices) | {"model": model.name} for call in chunk], schema=schema))
    return pl.concat(frames).sort("call")


def _row(call: dict, prices: Prices | None) -> dict:
    row = {name: call.get(name) for name in ("call", "target", "dialect", "question_id", "db_id", "sample", "attempt")}
    row |= {"number": call.get("number"), "started": call.get("at")}
    if "answer" in call:
        usage = Usage(**call["answer"]["usage"])
        return row | {
            "outcome": "answered",
            "input_tokens": usage.input,
            "cached_tokens": usage.cached,
            "output_tokens": usage.output,
            "reasoning_tokens": usage.reasoning,
            "tokens_source": call["answer"]["tokens_source"],
            "cost": usage.cost(prices),
            "seconds": call["answer"]["seconds"],
        }
    fault = call.get("fault", {"message": "the run ended before an answer came", "status": None})
    return row | {
        "outcome": "lost" if fault["status"] is None else "rejected",
        "status": fault["status"],
        "message": fault["message"],
    }
