"""Simulated models: an ordinary provider whose answers are seeded edits of the gold query.

They let the whole study be looked at without a model and are labelled "simulated" in every row and figure. A nominal size
sets how often an answer is edited and how often it slips into SQLite's dialect on another engine; nothing about them
is evidence on any real model. The same model, question, dialect and seed always give the same answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import sqlglot
from sqlglot import exp

from workbench.errors import GenerationError, WorkbenchError
from workbench.llm import Request, Response
from workbench.results import content_hash
from workbench.schema import Schema
from workbench.sql_to_plan import sql_to_plan


@dataclass(frozen=True)
class SimulatedModel:
    """params_b: nominal size in billions, null for closed ones. edits: chance of each of two edits. slips: chance of a dialect slip."""

    params_b: float | None
    weights: str
    edits: float
    slips: float


MODELS = {
    "simulated-1b": SimulatedModel(1, "open", 0.38, 0.30),
    "simulated-3b": SimulatedModel(3, "open", 0.30, 0.26),
    "simulated-8b": SimulatedModel(8, "open", 0.23, 0.22),
    "simulated-14b": SimulatedModel(14, "open", 0.19, 0.20),
    "simulated-32b": SimulatedModel(32, "open", 0.15, 0.18),
    "simulated-70b": SimulatedModel(70, "open", 0.11, 0.15),
    "simulated-120b": SimulatedModel(120, "open", 0.09, 0.13),
    "simulated-closed": SimulatedModel(None, "closed", 0.06, 0.10),
}


def check(model: str) -> None:
    """GenerationError for a name that MODELS does not hold."""
    if model not in MODELS:
        raise GenerationError(f"there is no simulated model {model!r}", hint=f"available: {', '.join(MODELS)}")


def answer(request: Request) -> Response:
    """The gold query after this model's edits, in the dialect asked for."""
    check(request.model)
    model, gold = MODELS[request.model], str(request.reference["gold_sql"])
    seed = request.sampling.get("seed", 0)
    try:
        tree = sqlglot.parse_one(gold, read="sqlite")
    except sqlglot.errors.SqlglotError:
        return _response(request, gold)  # nothing to edit: the gold as it stands
    # one draw of edits for all dialects: the model misunderstands a question once, whatever it is written in
    draw = Random(content_hash("edit", request.model, request.question_id, seed))
    for _ in range(2):
        if draw.random() < model.edits:
            tree = _edited(tree, draw)
    if request.target == "plan":
        return _response(request, _planned(tree, request.reference["schema"]))
    return _response(
        request,
        _written(
            tree,
            request.dialect or "sqlite",
            model,
            Random(content_hash("slip", request.model, request.question_id, request.dialect, seed)),
        ),
    )


def _written(tree: exp.Expression, dialect: str, model: SimulatedModel, draw: Random) -> str:
    """The query in a dialect; a slip leaves it as SQLite would write it, names unquoted."""
    if dialect == "sqlite":
        return tree.sql("sqlite")
    if draw.random() < model.slips:
        return tree.sql("sqlite")
    return tree.sql(dialect, identify=True)


def _planned(tree: exp.Expression, schema: Schema) -> str:
    """The query as a plan; as SQL where it has none."""
    sql = tree.sql("sqlite")
    try:
        return sql_to_plan(sql, schema).to_json()
    except WorkbenchError:
        return sql


def _response(request: Request, sql: str) -> Response:
    """Tokens are counted as a quarter of the characters; time is nominal, no clock is read."""
    tokens = -(-len(sql) // 4)
    prompt = sum(len(message["content"]) for message in request.messages) // 4
    return Response(
        sql, "stop", round(0.2 + tokens / 50, 3), input_tokens=prompt, output_tokens=tokens, reasoning_tokens=0
    )


def _edited(tree: exp.Expression, draw: Random) -> exp.Expression:
    """One edit that applies to this query, or the query itself when none does."""
    edits = list(EDITS.values())
    draw.shuffle(edits)
    for edit in edits:
        changed = edit(tree.copy(), draw)
        if changed is not None:
            return changed
    return tree


def _pick(draw: Random, nodes: list):
    return draw.choice(nodes) if nodes else None


def drop_condition(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Forget one condition of a WHERE."""
    where = _pick(draw, list(tree.find_all(exp.Where)))
    if where is None:
        return None
    if isinstance(where.this, exp.And):
        where.set("this", where.this.left if draw.random() < 0.5 else where.this.right)
    else:
        where.pop()
    return tree


def turn_comparison(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Use another comparison operator against a literal."""
    turned = {exp.GT: exp.GTE, exp.GTE: exp.GT, exp.LT: exp.LTE, exp.LTE: exp.LT, exp.EQ: exp.NEQ}
    node = _pick(
        draw, [n for n in tree.find_all(*turned) if type(n) in turned and isinstance(n.expression, exp.Literal)]
    )
    if node is None:
        return None
    node.replace(turned[type(node)](this=node.this, expression=node.expression))
    return tree


def swap_aggregate(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Use another aggregate of the same column."""
    swapped = {exp.Max: exp.Min, exp.Min: exp.Max, exp.Avg: exp.Sum, exp.Sum: exp.Avg}
    node = _pick(draw, [n for n in tree.find_all(*swapped) if type(n) in swapped])
    if node is None:
        return None
    node.replace(swapped[type(node)](this=node.this))
    return tree


def turn_order(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Sort the other way round, NULLs too."""
    node = _pick(draw, list(tree.find_all(exp.Ordered)))
    if node is None:
        return None
    node.set("desc", not node.args.get("desc"))
    node.set("nulls_first", not node.args.get("nulls_first"))
    return tree


def drop_distinct(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Forget a DISTINCT, of a SELECT or inside COUNT."""
    node = _pick(draw, list(tree.find_all(exp.Distinct)))
    if node is None:
        return None
    if isinstance(node.parent, exp.Select):
        node.pop()
    else:
        node.replace(node.expressions[0])
    return tree


def shift_limit(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Ask for one row more."""
    node = _pick(
        draw, [n for n in tree.find_all(exp.Limit) if isinstance(n.expression, exp.Literal) and n.expression.is_int]
    )
    if node is None:
        return None
    node.set("expression", exp.Literal.number(int(node.expression.this) + 1))
    return tree


def drop_column(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Forget one of the selected columns."""
    select = tree.find(exp.Select)
    if select is None or len(select.expressions) < 2 or isinstance(tree, exp.SetOperation):
        return None
    _pick(draw, select.expressions).pop()
    return tree


def misread_value(tree: exp.Expression, draw: Random) -> exp.Expression | None:
    """Spell a text value as the question might, in lower case and without its last letter."""
    node = _pick(
        draw, [n for n in tree.find_all(exp.Literal) if n.is_string and n.find_ancestor(exp.Where) and len(n.this) > 2]
    )
    if node is None:
        return None
    node.replace(exp.Literal.string(node.this.lower()[:-1]))
    return tree


EDITS: dict[str, Callable[[exp.Expression, Random], exp.Expression | None]] = {
    "drop_condition": drop_condition,
    "turn_comparison": turn_comparison,
    "swap_aggregate": swap_aggregate,
    "turn_order": turn_order,
    "drop_distinct": drop_distinct,
    "shift_limit": shift_limit,
    "drop_column": drop_column,
    "misread_value": misread_value,
}
