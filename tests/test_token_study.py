"""Tokens: counted near a real tokenizer, and the table of both targets."""

import polars as pl
import pytest

import workbench as wb
from workbench.errors import ResultsError
from workbench.results import Run, dtypes
from workbench.tokens import count_tokens

# text -> tokens of SmolLM2-135M's tokenizer, by its server's /tokenize
REAL = {
    "SELECT name, built FROM vessel ORDER BY built LIMIT 4": 13,
    '[{"scan":"vessel"},{"sort":["vessel.built"],"limit":4},{"project":["vessel.name","vessel.built"]}]': 36,
    "What are the four oldest vessels, and when was each of them built? ": 16,
    "SELECT p.full_name FROM passenger AS p WHERE NOT EXISTS (SELECT 1 FROM booking AS b WHERE b.passenger_id = p.passenger_id)": 38,
    '[{"scan":"passenger","as":"p"},{"filter":["not",["exists",[{"scan":"booking","as":"b"},{"filter":["=","b.passenger_id","p.passenger_id"]},{"project":[{"c1":1}]}]]]},{"project":["p.full_name"]}]': 77,
    "SELECT p.full_name, COUNT(*) AS bookings FROM passenger AS p JOIN booking AS b ON b.passenger_id = p.passenger_id GROUP BY p.passenger_id, p.full_name ORDER BY bookings DESC LIMIT 5": 62,
}


@pytest.mark.parametrize(("text", "real"), REAL.items(), ids=[text[:30] for text in REAL])
def test_counted_tokens_are_near_a_real_tokenizers(text, real):
    assert count_tokens(text) == pytest.approx(real, rel=0.15)


def test_nothing_has_no_tokens():
    assert count_tokens(None) == count_tokens("") == 0


def test_the_table_has_both_targets_of_a_model_and_of_the_gold(root):
    model = {"name": "simulated-8b", "provider": "simulated", "targets": ["sql", "plan"]}
    wb.generate("t", wb.read_benchmark("bundled"), [model], limit=10)
    table = wb.study("tokens", "t")
    assert table.schema == pl.Schema(dtypes("tokens"))
    assert table.select("model", "target", "n").rows() == [
        ("simulated-8b", "sql", 10),
        ("simulated-8b", "plan", 10),
        ("gold", "sql", 10),
        ("gold", "plan", 10),
    ]
    ratios = table.filter(target="plan").select("artefact_ratio", "output_ratio")
    assert ratios.select(pl.all() > 1.0).to_numpy().all() and (table.filter(target="sql")["output_ratio"] == 1).all()
    golds = Run.open("t").table("gold_plans")
    mean = table.filter(model="gold", target="plan")["artefact_tokens"][0]
    assert mean == pytest.approx(sum(map(count_tokens, golds["plan"])) / 10)
    assert Run.open("t").table("tokens").equals(table)


def test_the_papers_own_figures():
    table = wb.study("tokens", is_published=True)
    assert table.filter(target="plan")["artefact_ratio"].round(1).to_list() == [3.9]


def test_a_run_without_answers_says_so(root):
    Run.create("empty")
    with pytest.raises(ResultsError, match="no answers with tokens"):
        wb.study("tokens", "empty")
