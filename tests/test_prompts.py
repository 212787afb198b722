"""Prompts: what they say, that nothing changes them unseen, and that their words on plans are the code's."""

import pytest

from workbench.errors import GenerationError
from workbench.plan import Plan
from workbench.plan_brief import EXPRESSION_FORMS, OPERATOR_FORMS, plan_brief
from workbench.plan_expressions import CAST_TYPES, COLLATIONS
from workbench.plan_from_json import OPERATORS
from workbench.plan_functions import AGGREGATES, SCALARS, WINDOWS
from workbench.plan_to_sql import plan_to_sql
from workbench.prompts import (
    DETAILS,
    DIALECT_NAMES,
    EXAMPLE,
    EXAMPLE_PLAN,
    EXAMPLE_SQL,
    messages_for,
    prompt_hash,
    schema_text,
    template_hash,
)
from workbench.schema import Column, ForeignKey, Schema, Table
from workbench.sql_to_plan import sql_to_plan

SCHEMA = Schema(
    (
        Table(
            "schools",
            (
                Column("CDS Code", "TEXT", natural_name="cds code", description="the  school's\ncode"),
                Column("kind", "TEXT", natural_name="type of school", value_description="p = public"),
            ),
            ("CDS Code",),
        ),
        Table("sat", (Column("cds", "TEXT"), Column("s", "")), (), (ForeignKey(("cds",), "schools", ("CDS Code",)),)),
    )
)
SAMPLES = {("schools", "kind"): ["'p'", "'it''s'"], ("sat", "s"): ["1", "2.5"]}
SNAPSHOT = """CREATE TABLE "schools" (
  "CDS Code" TEXT, -- the school's code
  "kind" TEXT, -- type of school; p = public; e.g. 'p', 'it''s'
  PRIMARY KEY ("CDS Code")
);

CREATE TABLE "sat" (
  "cds" TEXT,
  "s", -- e.g. 1, 2.5
  FOREIGN KEY ("cds") REFERENCES "schools" ("CDS Code")
);"""
# Changing a prompt changes what models answer: do it on purpose, and say so here.
TEMPLATES = {
    ("sql", None): "637830fb78356bd670507d2a63dbca7391333e4d3f32f47415a9c5466cd61972",
    ("plan", None): "f28395d013b5e903c334c291b32f5809b1defabd1ea698350e8e958c6e0182b9",
    ("sql", "fast"): "fd97c0c41118ded7da3db50f54efe024ebbf909b2e0907182924e63b9542062d",
    ("sql", "slow"): "0f8de3cd378df80fac6e631a0c85c5f251455c78f3947d92e8f58b024fee064a",
}


def _messages(target="sql", dialect="sqlite", question="How many?", evidence="p is public", **more):
    return messages_for(target, dialect if target == "sql" else None, question, evidence, SCHEMA, SAMPLES, **more)


def test_schema_snapshot():
    assert schema_text(SCHEMA, SAMPLES) == SNAPSHOT


@pytest.mark.parametrize(("key", "expected"), TEMPLATES.items(), ids=lambda value: "-".join(map(str, value)))
def test_template_snapshot(key, expected):
    assert template_hash(*key) == expected


def test_the_last_message_is_the_question_with_its_evidence():
    asked = f"Database:\n\n{SNAPSHOT}\n\nQuestion: How many?\nHint: p is public\n\n"
    assert _messages()[-1]["content"] == asked + "Write one SQLite query."
    assert _messages("plan")[-1]["content"] == asked + "Write one query plan."
    assert "Hint" not in _messages(evidence=None)[-1]["content"]


@pytest.mark.parametrize("dialect", [name for name in DIALECT_NAMES if name != "sqlite"])
def test_sql_prompts_differ_only_in_the_dialects_name(dialect):
    texts = [[message["content"] for message in _messages(dialect=name)] for name in ("sqlite", dialect)]
    assert texts[0] != texts[1]
    assert texts[0] == [text.replace(DIALECT_NAMES[dialect], "SQLite") for text in texts[1]]


CHANGES = {
    "question": {"question": "How few?"},
    "evidence": {"evidence": None},
    "dialect": {"dialect": "mysql"},
    "target": {"target": "plan"},
    "thinking fast": {"thinking": "fast"},
    "thinking slow": {"thinking": "slow"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changing_any_setting_changes_the_hash(change):
    assert prompt_hash(_messages(**change)) != prompt_hash(_messages())


def test_a_prompt_too_large_by_a_letter_loses_a_detail():
    size = sum(len(message["content"]) for message in _messages())
    fits = {"answer_tokens": 700, "context_tokens": 700 + -(-size // 3)}
    assert _messages(**fits) == _messages()
    smaller = _messages(**fits | {"context_tokens": fits["context_tokens"] - 1})
    assert "p = public" not in smaller[-1]["content"] and prompt_hash(smaller) != prompt_hash(_messages())


def test_the_example_is_one_query_in_two_forms():
    assert sql_to_plan(EXAMPLE_SQL, EXAMPLE).to_json() == EXAMPLE_PLAN
    for engine in DIALECT_NAMES:
        assert plan_to_sql(Plan.from_json(EXAMPLE_PLAN, EXAMPLE), engine)


def test_details_go_in_the_stated_order_and_tables_never():
    texts = [schema_text(SCHEMA, SAMPLES, detail) for detail in range(len(DETAILS))]
    kept = ("p = public", "e.g. 'p'", "the school's code", "TEXT", '"schools"')
    assert [[part in text for part in kept] for text in texts] == [
        [True, True, True, True, True],
        [False, True, True, True, True],
        [False, False, True, True, True],
        [False, False, False, True, True],
        [False, False, False, False, True],
    ]
    sizes = [len(text) for text in texts]
    assert sizes == sorted(sizes, reverse=True)


def test_a_prompt_that_cannot_fit_is_named_with_both_sizes():
    with pytest.raises(
        GenerationError, match=r"about \d+ tokens beside 1024 for the answer \(the context holds 1100\)"
    ):
        _messages(context_tokens=1100)


# ---- the specification in the prompt against the code


def test_every_operator_of_the_language_is_specified_and_no_other():
    assert list(OPERATOR_FORMS) == sorted(OPERATOR_FORMS, key=list(OPERATOR_FORMS).index)
    assert set(OPERATOR_FORMS) == set(OPERATORS)


@pytest.mark.parametrize("name", [*SCALARS, *AGGREGATES, *WINDOWS])
def test_every_function_is_specified(name):
    assert f" {name}(" in plan_brief()


@pytest.mark.parametrize("word", [*CAST_TYPES, *COLLATIONS])
def test_every_cast_and_collation_is_specified(word):
    assert word in plan_brief()


SHOPS = '{"scan":"shop","as":"T1"}'
ALONE = ("scan", "values")


@pytest.mark.parametrize("word", [word for word, (example, _) in OPERATOR_FORMS.items() if example])
def test_every_operators_example_is_a_plan(word):
    example, before = OPERATOR_FORMS[word][0], "" if word in ALONE else SHOPS
    if word == "union":
        before += ',{"project":["T1.id"]}'
    steps = [example, SHOPS] if word == "with" else [before, example]
    plan = Plan.from_json(f"[{','.join(filter(None, steps))}]", EXAMPLE)
    assert plan_to_sql(plan, "sqlite")


@pytest.mark.parametrize("example", [example for example, _ in EXPRESSION_FORMS])
def test_every_expressions_example_is_one(example):
    plan = Plan.from_json(f'[{SHOPS},{{"project":[{{"x":{example}}}]}}]', EXAMPLE)
    assert plan_to_sql(plan, "sqlite")
