"""Simulated models: an ordinary provider whose answers are seeded edits of the gold query.

They let the whole study be looked at without a model and are labelled "simulated" in every row and figure; nothing about
them is evidence on any real model. A nominal size sets how often a question is misunderstood (an edit of mutations.py), how
often SQL slips into another engine's words (dialect_slips.py) and how often a plan is no plan (plan_slips.py). The curves
have the published figures' shape: plans are harder for small models, and the same everywhere. The same model, question,
target, dialect and seed always give the same answer.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, log10
from random import Random

from workbench.dialect_slips import right_sql, slipped_sql
from workbench.errors import GenerationError, WorkbenchError
from workbench.llm import Request, Response
from workbench.mutation_names import read_query
from workbench.mutations import EDITS, changes
from workbench.plan_slips import slipped_plan
from workbench.results import content_hash
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan

MISTAKES = 5  # ways in which a question can be misunderstood, the same for all models
CHARACTERS = {"sql": 4, "plan": 3}  # a token, roughly
REASONING = {"sql": 260, "plan": 1450}  # tokens of thinking on average, as the plans paper's models need them
EASIER_ORDER = 0.35  # of mistakes in ordering are not made in plans, where the order of steps is explicit


@dataclass(frozen=True)
class SimulatedModel:
    """params_b: nominal size in billions, null for closed ones, whose skill is that of a size that nobody states."""

    params_b: float | None
    weights: str
    skill_b: float

    @property
    def sql_errors(self) -> float:
        """Share of questions that are misunderstood when SQL is asked for."""
        return _between(0.55 - 0.15 * log10(self.skill_b))

    @property
    def plan_errors(self) -> float:
        """The same when a plan is asked for: an unfamiliar language costs small models much and large ones little."""
        return _between(self.sql_errors + max(0.0, 0.6 - 0.28 * log10(self.skill_b)))

    @property
    def slips(self) -> float:
        """Share of answers in another dialect than SQLite's that are not quite in it; engines differ, see dialect_slips."""
        return _between(0.34 - 0.08 * log10(self.skill_b))

    @property
    def broken_plans(self) -> float:
        """Share of plans that cannot be read."""
        return 0.45 * exp(-1.5 * log10(self.skill_b))


def _between(share: float) -> float:
    return min(max(share, 0.02), 0.95)


MODELS = {
    "simulated-3b": SimulatedModel(3, "open", 3),
    "simulated-4b": SimulatedModel(4, "open", 4.5),
    "simulated-7b": SimulatedModel(7, "open", 6.5),
    "simulated-8b": SimulatedModel(8, "open", 8),
    "simulated-9b": SimulatedModel(9, "open", 11),
    "simulated-14b": SimulatedModel(14, "open", 13),
    "simulated-20b": SimulatedModel(20, "open", 21),
    "simulated-27b": SimulatedModel(27, "open", 30),
    "simulated-32b": SimulatedModel(32, "open", 33),
    "simulated-49b": SimulatedModel(49, "open", 45),
    "simulated-70b": SimulatedModel(70, "open", 70),
    "simulated-120b": SimulatedModel(120, "open", 115),
    "simulated-130b": SimulatedModel(130, "open", 140),
    "simulated-closed-a": SimulatedModel(None, "closed", 150),
    "simulated-closed-b": SimulatedModel(None, "closed", 200),
    "simulated-closed-c": SimulatedModel(None, "closed", 280),
}


def check(model: str) -> None:
    """GenerationError for a name that MODELS does not hold."""
    if model not in MODELS:
        raise GenerationError(f"there is no simulated model {model!r}", hint=f"available: {', '.join(MODELS)}")


def answer(request: Request) -> Response:
    """The gold query as this model understands it, in the dialect or as the plan that is asked for.

    request.reference: gold_sql, and schema (a Schema). Without the schema fewer edits apply, and SQL is written by
    sqlglot alone; plans need it. GenerationError for an unknown model and for a plan without a schema.
    """
    check(request.model)
    model, gold = MODELS[request.model], str(request.reference["gold_sql"])
    schema = request.reference.get("schema")
    if request.target == "plan":
        if schema is None:
            raise GenerationError("a simulated plan needs the schema", where=request.question_id)
        return _response(request, *_plan(request, model, gold, schema))
    schema = schema or Schema(())
    meant = _understood(request, model.sql_errors, gold, schema)
    draw = _draw("slip", request, request.dialect)
    dialect = request.dialect or "sqlite"
    slipped = slipped_sql(meant, dialect, schema, draw, model.slips)
    return _response(request, right_sql(meant, dialect, schema) if slipped is None else slipped)


def _plan(request: Request, model: SimulatedModel, gold: str, schema: Schema) -> tuple[str, str]:
    """(text, finish reason)."""
    for sql in (_understood(request, model.plan_errors, gold, schema), gold):
        text = _written(sql, schema)
        if text is None:
            continue
        draw = _draw("decoding", request, request.attempt)  # a refused plan that goes back may come out right
        if draw.random() >= model.broken_plans:
            return text, "stop"
        broken = slipped_plan(text, schema, draw)
        return broken, "length" if text.startswith(broken) else "stop"
    return "I cannot express this question as a plan.", "stop"


@lru_cache(maxsize=4096)
def _written(sql: str, schema: Schema) -> str | None:
    """The query's plan; none for an edit that is no query, and for a gold beyond the plan language."""
    try:
        return sql_to_plan(sql, schema).to_json()
    except WorkbenchError:
        return None


def _understood(request: Request, errors: float, gold: str, schema: Schema) -> str:
    """SQLite's SQL for what the model takes the question to be: one draw for all dialects of a target.

    Half of it is the question's own difficulty, the same for all models: they fail on the same questions.
    """
    hard = Random(content_hash("difficulty", request.db_id, request.question_id)).random()
    draw = _draw("understanding", request)
    chance = _uniform((hard + draw.random()) / 2)
    if chance >= errors:
        return gold
    found = mistakes(gold, schema, request.question_id, request.sampling.get("seed", 0))
    if request.target == "plan":
        found = [one for one in found if one[1] != "ordering_ranking" or draw.random() >= EASIER_ORDER] or found
    return draw.choice(found)[2] if found else gold


def _uniform(mean: float) -> float:
    """What the mean of two uniform numbers is as a uniform number: its distribution function."""
    return 2 * mean**2 if mean < 0.5 else 1 - 2 * (1 - mean) ** 2


@lru_cache(maxsize=4096)
def mistakes(gold: str, schema: Schema, question_id: str, seed: object = 0) -> list[tuple[str, str, str]]:
    """(kind, category, SQL) of edits that a question invites; none where the gold cannot be read."""
    try:
        tree = read_query(gold, schema)
    except WorkbenchError:
        return []
    kinds = list(EDITS)
    Random(content_hash("mistakes", question_id, seed)).shuffle(kinds)
    found = []
    for kind in kinds:
        changed = next(changes(tree, kind, schema, content_hash(question_id, seed)), None)
        if changed is not None:
            found.append((kind, EDITS[kind][0], changed))
        if len(found) == MISTAKES:
            break
    return found


def _draw(what: str, request: Request, *more: object) -> Random:
    seed = request.sampling.get("seed", 0)
    return Random(content_hash(what, request.model, request.question_id, request.target, seed, *more))


def _response(request: Request, text: str, finish_reason: str = "stop") -> Response:
    """Tokens from the length of the text and a drawn length of thinking; time is nominal, no clock is read."""
    model, draw = MODELS[request.model], _draw("length", request, request.dialect)
    tokens = -(-len(text) // CHARACTERS[request.target])
    reasoning = round(REASONING[request.target] * draw.lognormvariate(-0.18, 0.6))
    prompt = sum(len(message["content"]) for message in request.messages) // 4
    speed = 220 / model.skill_b**0.3  # tokens a second
    return Response(
        text,
        finish_reason,
        round(0.2 + (tokens + reasoning) / speed, 3),
        input_tokens=prompt,
        output_tokens=tokens + reasoning,
        reasoning_tokens=reasoning,
        tokens_source="nominal",
    )
