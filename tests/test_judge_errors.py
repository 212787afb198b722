"""A model asked over real HTTP for the categories of a run's errors, and how it agrees with the rules and hand labels."""

import json

import polars as pl
import pytest
from asked_benchmark import make_benchmark
from click.testing import CliRunner
from model_server import ModelServer

import workbench as wb
from workbench import endpoint
from workbench.cli import main
from workbench.error_agreement import sources
from workbench.import_predictions import import_predictions
from workbench.judge_errors import wrong_pairs
from workbench.labels import error_key
from workbench.results import Run, dtypes

PREDICTIONS = {  # of t(n), whose gold is SELECT n FROM t
    "0": "SELECT n FROM t",
    "1": "SELECT m FROM t",
    "2": "SELECT n FROM t WHERE n > 1",
    "3": "SELECT FROM",
    "4": None,
}
RULES = {"1": "schema_linking", "2": "filtering_logic", "3": "dialect_syntax", "4": "dialect_syntax"}


def answer(messages: list[dict], body: dict) -> str:
    """What a judge would say: right on names, wrong on syntax, and undecided on filters."""
    last = messages[-1]["content"]
    if "SELECT m" in last:
        return "Category: Schema Linking"
    return "filtering_logic or other" if "n > 1" in last else "other"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.02)
    with ModelServer(answer=answer) as running:
        running.is_counting = False
        yield running


@pytest.fixture
def run(root, tmp_path) -> Run:
    """Two systems that predict the same."""
    benchmark = wb.read_benchmark(make_benchmark(tmp_path / "benchmark", len(PREDICTIONS)))
    for name in ("one", "two"):
        lines = [json.dumps({"question_id": i, "sql": sql}) for i, sql in PREDICTIONS.items()]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
        import_predictions("r", benchmark, [tmp_path / f"{name}.jsonl"])
    wb.score("r", ["sqlite"])
    return Run.open("r")


def ask(server, *more: str):
    words = (
        "study",
        "errors",
        "--run",
        "r",
        "--judge",
        "j",
        "--base-url",
        server.url,
        "--set",
        "limits.tries=1",
        *more,
    )
    return CliRunner().invoke(main, words)


def test_a_judge_is_asked_once_an_error_and_compared(run, server):
    done = ask(server)
    assert done.exit_code == 0, done.output
    assert "8 errors, 4 answers new" in done.output
    assert "schema_linking" in done.output and "kappa" in done.output
    assert len(server.calls) == 4
    for call in server.calls:
        assert (call["body"]["temperature"], call["body"]["messages"][0]["content"].count("\nAnswer: ")) == (0.0, 6)
    stored = run.table("error_judgements")
    assert stored.schema == pl.Schema(dtypes("error_judgements"))
    said = stored.filter(model="one").select("question_id", "category", "reason").sort("question_id").rows()
    assert said == [
        ("1", "schema_linking", None),
        ("2", None, "names no one category"),
        ("3", "other", None),
        ("4", "other", None),
    ]
    assert run.table("calls").select("target", "outcome").unique().rows() == [("judge", "answered")]
    table = wb.study("error_agreement", run)
    assert table.filter(first="rules").select("errors", "n", "same").unique().rows() == [(8, 6, pytest.approx(1 / 3))]
    assert table.filter(category="dialect_syntax", first="rules")["other"].to_list() == [4]
    assert Run.open("r").header["judges"]["j"]["base_url"] == server.url


def test_what_the_judge_sees(run, server):
    ask(server)
    seen = [call["question"] for call in server.calls]
    assert any(
        "Question: number 1?\n\nGold SQL:\nSELECT n FROM t\n\nPredicted SQL:\nSELECT m FROM t" in one for one in seen
    )
    assert any("Error message (if any): no such column: m" in one for one in seen)
    assert any("Predicted SQL:\n\n\nError message (if any): no query: empty" in one for one in seen)
    assert any("n > 1\n\nError message (if any): none" in one for one in seen)


def test_a_rerun_asks_only_what_has_no_answer(run, server):
    server.script["n > 1"] = ["500"]
    done = ask(server)
    assert done.exit_code == 1 and "1 got none" in done.output
    assert run.table("error_judgements").filter(question_id="2")["answer"].to_list() == [None, None]
    before = len(server.calls)
    assert "8 errors, 1 answers new" in ask(server).output
    assert len(server.calls) == before + 1
    assert "8 errors, 0 answers new" in ask(server).output
    assert len(server.calls) == before + 1


def test_hand_labels_are_a_source(run):
    pairs = wrong_pairs(run, "df_match")
    assert dict(pairs.select("question_id", "error_category").rows()) == RULES
    labels = pl.DataFrame(
        {"key": [error_key("d", "number 1?", "SELECT n FROM t", PREDICTIONS["1"])], "category": ["other"]}
    )
    table = sources(pairs, run.table("error_judgements"), labels)
    assert table.select("first", "second", "n", "same").unique().rows() == [("hand", "rules", 2, 0.0)]
    assert table.filter(category="other")["schema_linking"].to_list() == [2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("errors", "--run", "r", "--judge", "j"), "provider simulated cannot judge"),
        (("errors", "--run", "r", "--base-url", "http://localhost:1/v1"), "a judge is asked about a run's errors"),
        (("failures", "--run", "r", "--judge", "j"), "a judge is asked about a run's errors"),
        (("error_agreement", "--run", "r"), "no judge was asked"),
        (("errors", "--run", "r", "--judge", "j", "--base-url", "http://127.0.0.1:9/v1"), "127.0.0.1:9"),
    ],
    ids=["no endpoint", "no judge", "another study", "nobody asked", "nobody there"],
)
def test_refusals_are_one_line(run, words, said):
    done = CliRunner().invoke(main, ["study", *words])
    assert done.exit_code == 2 and said in done.output and len(done.output.strip().splitlines()) == 1
