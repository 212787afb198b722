"""Asking for both targets: what is stored, kept, and run on each engine."""

import polars as pl
import pytest

import workbench as wb
from workbench.generate import _cut
from workbench.results import Run
from workbench.score import written_for
from workbench.score_database import predicted_sql, why_no_sql

PLANNER = {"name": "simulated-8b", "provider": "simulated", "targets": ["sql", "plan"]}
ENGINES = ("sqlite", "postgres", "mysql", "clickhouse", "duckdb")


@pytest.fixture
def both(root) -> pl.DataFrame:
    wb.generate("both", wb.read_benchmark("bundled"), [PLANNER], dialects=["sqlite", "duckdb"], limit=12)
    return Run.open("both").table("generations")


def test_sql_is_asked_for_per_dialect_and_a_plan_once(both):
    counts = both.group_by("target", "dialect").len().sort("target", "dialect").rows()
    assert counts == [("plan", None, 12), ("sql", "duckdb", 12), ("sql", "sqlite", 12)]
    assert both.group_by("target", "dialect").agg(pl.col("prompt_hash").n_unique())["prompt_hash"].to_list() == [12] * 3


def test_a_plan_is_stored_with_its_sql_for_every_engine(both):
    plans = both.filter(target="plan", parse_status="ok")
    assert plans.height >= 10
    schemas = wb.read_benchmark("bundled")
    for row in plans.iter_rows(named=True):
        plan = wb.Plan.from_json(row["artefact"], schemas.schema(row["db_id"]))
        assert row["sql_postgres"] == wb.plan_to_sql(plan, "postgres")
        assert [row[f"sql_{engine}"] is None for engine in ENGINES] == [
            any(line.startswith(f"{engine}: ") for line in (row["sql_refusals"] or "").splitlines())
            for engine in ENGINES
        ]
    assert both.filter(target="sql").select(f"sql_{engine}" for engine in ENGINES).null_count().row(0) == (24,) * 5


def test_a_plan_is_judged_on_every_engine_and_counts_as_compiled(both):
    wb.score("both", ["sqlite", "duckdb"])
    run = Run.open("both")
    modes = wb.study("portability", "both").select("target", "mode", "n").sort("target").rows()
    assert ("plan", "compiled", 12) in modes and ("sql", "native", 12) in modes
    ran = run.table("executions").filter(target="plan", role="prediction", status="ok")
    sql = both.filter(target="plan").select("question_id", "sql_sqlite", "sql_duckdb")
    joined = ran.join(sql, on="question_id")
    assert joined["engine"].unique().sort().to_list() == ["duckdb", "sqlite"]
    assert joined.filter(pl.col("sql") != pl.col("sql_" + "duckdb"), engine="duckdb").is_empty()
    assert joined.filter(pl.col("sql") != pl.col("sql_sqlite"), engine="sqlite").is_empty()
    assert wb.accuracy("both").filter(target="plan")["mode"].unique().to_list() == ["compiled"]


def test_the_engines_of_a_run_are_its_dialects_and_of_plans_alone_all(both):
    assert written_for(both) == ["duckdb", "sqlite"]
    assert written_for(both.filter(target="plan")) == list(ENGINES)


CHOICES = {
    "sql": ({"target": "sql", "parse_status": "ok", "artefact": "SELECT 1"}, "SELECT 1", None),
    "cut off": ({"target": "sql", "parse_status": "truncated", "artefact": "SELECT 1"}, None, "truncated"),
    "plan": ({"target": "plan", "parse_status": "ok", "artefact": "[]", "sql_mysql": "SELECT 2"}, "SELECT 2", None),
    "refused by one engine": (
        {
            "target": "plan",
            "parse_status": "ok",
            "sql_mysql": None,
            "sql_refusals": "duckdb: no\nmysql: it has no x: y",
        },
        None,
        "unsupported: it has no x: y",
    ),
    "bad plan": ({"target": "plan", "parse_status": "type_error", "parse_message": "at 3"}, None, "type_error: at 3"),
}


@pytest.mark.parametrize(("row", "sql", "reason"), CHOICES.values(), ids=CHOICES)
def test_what_of_a_generation_is_run(row, sql, reason):
    row = {"parse_message": None, "sql_refusals": None} | row
    assert predicted_sql(row, "mysql") == sql
    assert reason is None or why_no_sql(row, "mysql") == reason


def test_a_rerun_keeps_all_and_a_new_target_asks_only_for_itself(root):
    benchmark = wb.read_benchmark("bundled")
    wb.generate("r", benchmark, [PLANNER | {"targets": ["sql"]}], limit=5)
    done = wb.generate("r", benchmark, [PLANNER], limit=5)
    assert (done.rows, done.kept, done.failed) == (5, 5, 0)
    done = wb.generate("r", benchmark, [PLANNER], limit=5)
    assert (done.rows, done.kept) == (0, 10)


def test_samples_are_rows_of_their_own_and_the_first_is_scored(root):
    wb.generate("s", wb.read_benchmark("bundled"), [PLANNER | {"samples": 3, "targets": ["sql"]}], limit=6)
    rows = Run.open("s").table("generations")
    assert rows.group_by("sample").len().sort("sample").rows() == [(0, 6), (1, 6), (2, 6)]
    assert rows.filter(sample=0)["artefact"].to_list() != rows.filter(sample=1)["artefact"].to_list()
    assert "12 further samples left out" in str(wb.score("s", ["sqlite"]))
    assert Run.open("s").table("scores").height == 6


def test_a_prompt_that_does_not_fit_is_a_named_failure_and_not_judged(root):
    done = wb.generate("f", wb.read_benchmark("bundled"), [PLANNER | {"context_tokens": 2048}], limit=2)
    assert done.failed == 2 and "2 questions got none" in str(done)
    rows = Run.open("f").table("generations").filter(target="plan")
    assert rows["error"].str.contains("the prompt needs about").all()
    assert rows["parse_status"].to_list() == ["empty"] * 2 and rows["response"].null_count() == 2
    wb.score("f", ["sqlite"])
    scores = Run.open("f").table("scores").filter(target="plan")
    assert scores["outcome"].to_list() == ["not_judged"] * 2
    assert scores["reason"].str.starts_with("the model gave no answer: the prompt needs").all()


def test_parts_of_a_large_database_are_cut_and_keep_their_names():
    questions = pl.DataFrame({"question_id": [str(i) for i in range(1203)], "db_id": ["a"] * 1200 + ["b"] * 3})
    parts = list(_cut(questions, "m", "plan", None, 0))
    assert [len(rows) for _, rows in parts] == [500, 500, 200, 3]
    assert len({part for part, _ in parts}) == 4
    fewer = list(_cut(questions.head(600), "m", "plan", None, 0))
    assert [part for part, _ in fewer] == [part for part, _ in parts[:2]]
