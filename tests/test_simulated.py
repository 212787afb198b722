"""Simulated models: deterministic, edited more where they are smaller, honest about what they are."""

import pytest
import sqlglot

from workbench.errors import GenerationError
from workbench.llm import Request
from workbench.simulated import EDITS, MODELS, answer

GOLD = """SELECT T1.name, MAX(T1.age) FROM people AS T1 JOIN towns AS T2 ON T1.town = T2.id
WHERE T2.name = 'Berlin' AND T1.age > 20 GROUP BY T1.name ORDER BY MAX(T1.age) DESC LIMIT 3"""


def _request(
    model: str = "simulated-8b", question_id: str = "1", dialect: str = "sqlite", seed: int = 0, gold: str = GOLD
) -> Request:
    return Request(
        model, question_id, "db", "sql", dialect, [{"role": "user", "content": "?"}], {"seed": seed}, {"gold_sql": gold}
    )


def test_the_same_request_gives_the_same_answer():
    assert [answer(_request(question_id=str(i))).text for i in range(20)] == [
        answer(_request(question_id=str(i))).text for i in range(20)
    ]


def test_seed_and_question_change_the_answers():
    texts = [[answer(_request(question_id=str(i), seed=seed)).text for i in range(30)] for seed in (0, 1)]
    assert texts[0] != texts[1]
    assert len(set(texts[0])) > 2


def test_smaller_models_edit_more():
    whole = sqlglot.parse_one(GOLD, read="sqlite").sql("sqlite")
    kept = {name: sum(answer(_request(name, str(i))).text == whole for i in range(300)) for name in MODELS}
    sizes = [kept[name] for name in MODELS]
    assert sizes == sorted(sizes)
    assert 80 < kept["simulated-1b"] < 160 and kept["simulated-closed"] > 250


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_changes_the_query_and_leaves_sql(name):
    from random import Random

    gold = GOLD.replace("SELECT T1", "SELECT DISTINCT T1")
    tree = sqlglot.parse_one(gold, read="sqlite")
    edited = EDITS[name](tree.copy(), Random(1))
    assert edited is not None
    text = edited.sql("sqlite")
    assert text != tree.sql("sqlite")
    sqlglot.parse_one(text, read="sqlite")


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_that_does_not_apply_says_so(name):
    from random import Random

    assert EDITS[name](sqlglot.parse_one("SELECT 1", read="sqlite"), Random(1)) is None


def test_a_gold_that_does_not_parse_is_answered_as_it_stands():
    assert answer(_request(gold="SELECT FROM WHERE (")).text == "SELECT FROM WHERE ("


def test_an_unknown_model_is_named_with_those_there_are():
    with pytest.raises(GenerationError, match="available: simulated-1b"):
        answer(_request("gpt-4"))
