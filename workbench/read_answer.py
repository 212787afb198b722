"""One answer of a model -> its row of `generations`: what it holds, what that compiles to, what it took.

In: a request, the response to it or why there is none, the schema. Out: the row's columns. A plan's SQL is written for
every engine; a dialect that refuses it is named with its reason.
"""

from dataclasses import replace
from functools import lru_cache

from workbench.backends import BACKENDS
from workbench.errors import GenerationError, WorkbenchError
from workbench.extract import Extracted, extract_plan, extract_sql, split_thinking, thinking_fault
from workbench.llm import Request, Response
from workbench.plan import Plan
from workbench.plan_to_sql import plan_to_sql
from workbench.prompts import prompt_hash
from workbench.schema import Schema
from workbench.tokens import count_tokens


def extracted(request: Request, response: Response, schema: Schema) -> Extracted:
    """The artefact of an answer, see extract.py, and of a plan what it compiles to."""
    _, answer = split_thinking(response.text, response.thinking)
    if request.target == "plan":
        return _plan(answer, schema, response.finish_reason, response.refusal)
    return extract_sql(answer, response.finish_reason, response.refusal)


@lru_cache(maxsize=1024)  # models, and samples of one, write many plans alike
def _plan(answer: str, schema: Schema, finish_reason: str | None, refusal: str | None) -> Extracted:
    found = extract_plan(answer, schema, finish_reason, refusal)
    return replace(found, compiled=compiled(found.plan)) if found.plan else found


def answer_row(request: Request, responses: list[Response], found: Extracted, thinking_mode: str | None = None) -> dict:
    """The row of an answered question. responses: to every attempt, the last being the one that was read into `found`."""
    last = responses[-1]
    thinking, answer = split_thinking(last.text, last.thinking)
    return _asked(request) | {
        "response": last.text,
        "thinking": thinking,
        "thinking_fault": thinking_mode and thinking_fault(thinking_mode, last.text, last.thinking),
        "artefact": found.artefact,
        "parse_status": found.status,
        "parse_message": found.message,
        **found.compiled,
        **{name: _total(responses, name) for name in _SUMMED},
        "artefact_tokens": artefact_tokens(found.artefact, answer, last),
        "tokens_source": last.tokens_source,
        "constraint": last.constraint,
        "finish_reason": last.finish_reason,
    }


_SUMMED = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost", "seconds")


def _total(responses: list[Response], name: str) -> float | None:
    values = [value for response in responses if (value := getattr(response, name)) is not None]
    return sum(values) if values else None


def artefact_tokens(artefact: str | None, answer: str, response: Response) -> int | None:
    """The artefact's share by characters of the output without reasoning; counted where no output is reported."""
    if artefact is None:
        return None
    if response.output_tokens is None:
        return count_tokens(artefact)
    spoken = response.output_tokens - (response.reasoning_tokens or 0)
    return min(spoken, max(1, round(spoken * len(artefact) / max(len(answer), len(artefact)))))


def failed_row(request: Request, error: GenerationError) -> dict:
    """The row of a question without an answer."""
    return _asked(request) | {"parse_status": "empty", "error": str(error)}


def compiled(plan: Plan) -> dict[str, str | None]:
    """The plan's SQL by column of `generations`, and the refusals of those engines that have none."""
    row, refusals = {}, []
    for engine in BACKENDS:
        try:
            row[f"sql_{engine}"] = plan_to_sql(plan, engine)
        except WorkbenchError as fault:
            refusals.append(f"{engine}: {fault}")
        except Exception as fault:  # noqa: BLE001 one plan of thousands; it is counted, by name
            refusals.append(f"{engine}: bug: {type(fault).__name__}: {' '.join(str(fault).split())[:200]}")
    return row | {"sql_refusals": "\n".join(refusals) or None}


def _asked(request: Request) -> dict:
    return {
        "target": request.target,
        "dialect": request.dialect,
        "question_id": request.question_id,
        "db_id": request.db_id,
        "sample": request.sample,
        "prompt_hash": prompt_hash(request.messages),
        "attempts": request.attempt + 1,
    }
