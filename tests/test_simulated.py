"""Simulated models: deterministic, better where they are larger, and wrong in the ways that models are."""

from collections import Counter
from functools import cache
from random import Random

import pytest
import sqlglot

from workbench.dialect_slips import SLIPS, right_sql, slipped_sql
from workbench.errors import GenerationError, PlanError
from workbench.llm import Request
from workbench.plan import Plan
from workbench.plan_slips import FAULTS, slipped_plan
from workbench.schema import Column, ForeignKey, Schema, Table
from workbench.simulated import MODELS, answer, mistakes
from workbench.sql_to_plan import sql_to_plan

SCHEMA = Schema(
    (
        Table(
            "people",
            (Column("id", "INTEGER", False), Column("Name", "TEXT"), Column("town", "INTEGER"), Column("age", "INTEGER"),
             Column("born", "TEXT")),
            ("id",),
            (ForeignKey(("town",), "towns", ("id",)),),
        ),
        Table("towns", (Column("id", "INTEGER", False), Column("Name", "TEXT"), Column("size", "REAL")), ("id",)),
    )
)  # fmt: skip
GOLD = """SELECT T1.Name, MAX(T1.age) FROM people AS T1 JOIN towns AS T2 ON T1.town = T2.id
WHERE T2.Name = 'Berlin' AND T1.age > 20 GROUP BY T1.Name, T1.id ORDER BY MAX(T1.age) DESC LIMIT 3"""


def _request(
    model: str = "simulated-8b", question_id: str = "1", dialect: str | None = "sqlite", seed: int = 0, gold: str = GOLD,
    target: str = "sql", schema: Schema | None = SCHEMA,
) -> Request:  # fmt: skip
    reference = {"gold_sql": gold} | ({"schema": schema} if schema is not None else {})
    messages = [{"role": "user", "content": "?"}]
    return Request(model, question_id, "db", target, dialect, messages, {"seed": seed}, reference)


@cache
def _share_right(model: str, target: str) -> float:
    """Of 400 questions with this gold."""
    dialect, gold = ("sqlite", GOLD) if target == "sql" else (None, sql_to_plan(GOLD, SCHEMA).to_json())
    texts = [answer(_request(model, str(i), dialect, target=target)).text for i in range(400)]
    return sum(text == gold for text in texts) / 400


@pytest.mark.parametrize("target", ["sql", "plan"])
def test_the_same_request_gives_the_same_answer(target):
    first, again = ([answer(_request(question_id=str(i), target=target)) for i in range(20)] for _ in range(2))
    assert first == again


def test_seed_and_question_change_the_answers():
    texts = [[answer(_request(question_id=str(i), seed=seed)).text for i in range(30)] for seed in (0, 1)]
    assert texts[0] != texts[1]
    assert len(set(texts[0])) > 5


def test_thirteen_sizes_and_three_closed():
    sizes = [model.params_b for model in MODELS.values() if model.weights == "open"]
    assert len(sizes) == 13 and sizes == sorted(set(sizes)) and (sizes[0], sizes[-1]) == (3, 130)
    assert [model.params_b for model in MODELS.values() if model.weights == "closed"] == [None] * 3


@pytest.mark.parametrize("curve", ["sql_errors", "plan_errors", "slips", "broken_plans"])
def test_skill_grows_with_size(curve):
    shares = [getattr(model, curve) for model in MODELS.values()]
    assert shares == sorted(shares, reverse=True)


def test_larger_models_answer_better_and_plans_cost_small_ones_more():
    small, middle, large = "simulated-3b", "simulated-20b", "simulated-130b"
    for target in ("sql", "plan"):
        assert _share_right(small, target) + 0.05 < _share_right(middle, target) < _share_right(large, target) - 0.05
    assert _share_right(small, "sql") - _share_right(small, "plan") > 0.2
    assert abs(_share_right(large, "sql") - _share_right(large, "plan")) < 0.1


def test_models_fail_on_the_same_questions():
    wrong = [
        {i for i in range(300) if answer(_request(model, str(i))).text != GOLD}
        for model in ("simulated-8b", "simulated-9b")
    ]
    both = len(wrong[0] & wrong[1]) / 300
    assert both > 1.2 * len(wrong[0]) * len(wrong[1]) / 300**2


def test_mistakes_are_of_many_kinds():
    kinds = Counter(kind for i in range(60) for kind, _, _ in mistakes(GOLD, SCHEMA, str(i)))
    assert len(kinds) >= 15 and max(kinds.values()) < 0.15 * kinds.total()


@pytest.mark.parametrize("engine", SLIPS)
def test_an_engine_has_several_slips_and_each_leaves_its_mark(engine):
    assert len(SLIPS[engine]) >= 4
    gold = (
        "SELECT Name || '!', strftime('%Y', born), CAST(age AS REAL) / 2, COUNT(*) FROM people WHERE Name GLOB 'A*' "
        "GROUP BY Name, age HAVING COUNT(*) > 1 LIMIT 2 OFFSET 1"
    )
    texts = {slipped_sql(gold, engine, SCHEMA, Random(i), 9) for i in range(200)}
    assert len(texts) >= len(SLIPS[engine]) - 1 and right_sql(gold, engine, SCHEMA) not in texts


def test_slips_fall_on_other_engines_only():
    assert {answer(_request("simulated-closed-c", str(i))).text for i in range(100)} >= {GOLD}
    right = right_sql(GOLD, "postgres", SCHEMA)
    small, large = (
        sum(answer(_request(model, str(i), "postgres")).text == right for i in range(300))
        for model in ("simulated-3b", "simulated-closed-c")
    )
    assert small < large < 300
    sqlglot.parse_one(right, read="postgres")


def test_broken_plans_fail_in_every_way_that_plans_can():
    text = sql_to_plan(GOLD, SCHEMA).to_json()
    kinds = set()
    for number in range(300):
        with pytest.raises(PlanError) as found:
            Plan.from_json(slipped_plan(text, SCHEMA, Random(number)), SCHEMA)
        kinds.add(found.value.kind)
    assert kinds >= {"not_json", "truncated", "trailing_text", "schema_violation"}
    assert kinds >= {"unknown_operator", "unknown_table", "unknown_column"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_changes_a_plan(fault):
    text = sql_to_plan(GOLD, SCHEMA).to_json()
    assert all(fault(text, SCHEMA, Random(seed)) != text for seed in range(5))


def test_plans_take_more_tokens_and_time():
    sql, plan = (
        [answer(_request(question_id=str(i), target=target)) for i in range(100)] for target in ("sql", "plan")
    )
    for name in ("output_tokens", "reasoning_tokens", "seconds"):
        assert sum(getattr(one, name) for one in plan) > 2 * sum(getattr(one, name) for one in sql)
    assert all(one.output_tokens > one.reasoning_tokens for one in sql + plan)


UNREADABLE = {"no SQL": "SELECT FROM WHERE (", "nothing": "  "}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_gold_that_does_not_parse_is_answered_as_it_stands_and_has_no_plan(name):
    gold = UNREADABLE[name]
    for dialect in ("sqlite", "postgres"):
        assert answer(_request(gold=gold, dialect=dialect)).text == gold
    assert answer(_request(gold=gold, target="plan")).text == "I cannot express this question as a plan."


def test_without_a_schema_there_is_sql_but_no_plan():
    assert sqlglot.parse_one(answer(_request(dialect="postgres", schema=None)).text, read="postgres")
    with pytest.raises(GenerationError, match="needs the schema"):
        answer(_request(target="plan", schema=None))


def test_an_unknown_model_is_named_with_those_there_are():
    with pytest.raises(GenerationError, match="available: simulated-3b"):
        answer(_request("gpt-4"))
