"""The small real model: 3 bundled questions in SQL of four dialects and as plans, bound and free, up to the scores."""

import polars as pl
import pytest

import workbench as wb
from workbench import local_model
from workbench.backends.debian_packages import Wanted
from workbench.config import ModelConfig
from workbench.engines import engine_status
from workbench.errors import GenerationError
from workbench.extract import STATUSES
from workbench.local_model import HOW_TO_GET, LocalModel, served
from workbench.results import Run

QUESTIONS, DIALECTS = 3, ["sqlite", "postgres", "mysql", "clickhouse"]


def _model(name: str, targets: list[str], context: int, **more: object) -> dict:
    limits = {"concurrency": 1, "seconds": 600.0, "tries": 1}
    about = {"name": name, "provider": "openai", "base_url": "embedded", "targets": targets, "limits": limits}
    return about | {"sampling": {"max_tokens": 24}, "context_tokens": context, "params_b": 0.135} | more


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    if LocalModel().find() is None:
        pytest.skip(f"the small real model is not here: {HOW_TO_GET}")
    root = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_ROOT", str(root))
        models = [
            _model(
                "sql", ["sql"], 1200
            ),  # the schema without its descriptions: a processor reads a hundred tokens a second
            _model("bound", ["plan"], 2400),
            _model("free", ["plan"], 2400, is_constrained=False),
        ]
        done = wb.generate("r", wb.read_benchmark("bundled"), models, DIALECTS, limit=QUESTIONS)
        assert done.is_whole, done
        wb.score("r", ["sqlite"])
        yield Run.open("r")


def test_every_answer_is_there_with_its_tokens(asked):
    rows = asked.table("generations")
    counts = rows.group_by("model").len().sort("model").rows()
    assert counts == [("bound", QUESTIONS), ("free", QUESTIONS), ("sql", QUESTIONS * len(DIALECTS))]
    assert rows["error"].null_count() == rows.height and set(rows["parse_status"]) <= set(STATUSES)
    assert set(rows["tokens_source"]) == {"reported"} and rows["output_tokens"].is_between(1, 24).all()
    assert rows["is_simulated"].sum() == 0


def test_its_plans_are_bound_by_the_grammar_where_that_is_asked(asked):
    rows = asked.table("generations")
    bound = rows.filter(model="bound")
    assert set(bound["constraint"]) == {"grammar"} and bound["response"].str.starts_with("[{").all()
    assert set(bound["parse_status"]) <= {
        "ok",
        "truncated",
        "unknown_table",
        "unknown_column",
        "type_error",
        "unsupported",
        "schema_violation",
    }
    assert rows.filter(model="free")["constraint"].null_count() == QUESTIONS


def test_prompts_that_begin_alike_are_read_once(asked):
    """Those of all dialects and questions on a database do."""
    sql = asked.table("calls").filter(model="sql").sort("call")
    assert (sql["cached_tokens"] > 0.8 * sql["input_tokens"]).sum() >= sql.height - 2


def test_its_scores_land_in_the_tables(asked):
    scores = asked.table("scores")
    assert scores.filter(engine="sqlite").height == 3 * QUESTIONS
    assert set(scores["outcome"]) <= {"judged", "prediction_failed"}


def test_its_server_ends_with_its_last_user(asked):
    assert LocalModel().is_running() in (True, False)
    (row,) = engine_status(["model"]).filter(pl.col("engine") == "model").to_dicts()
    assert row["version"].startswith("llama.cpp ") and row["problem"] is None


def test_where_it_is_absent_it_is_named_with_the_command_that_brings_it(root, monkeypatch):
    monkeypatch.setattr(local_model.paths, "programs_dir", lambda: root)
    (row,) = engine_status(["model"]).to_dicts()
    assert row["found"] is None and row["problem"] == f"absent; to get it: {HOW_TO_GET}"
    with (
        pytest.raises(GenerationError, match=f"absent \\({HOW_TO_GET}\\)"),
        served(ModelConfig(**_model("m", ["sql"], 2048))),
    ):
        pass
    done = wb.generate("r", wb.read_benchmark("bundled"), [_model("m", ["sql"], 2048, is_optional=True)], limit=1)
    assert done.absent == {"m": f"m: absent ({HOW_TO_GET})"}


def test_without_apt_there_is_one_clear_line(root, monkeypatch, capsys):
    monkeypatch.setattr(local_model.paths, "programs_dir", lambda: root)
    monkeypatch.setattr(local_model, "_fetch_weights", lambda: None)
    monkeypatch.setenv("PATH", str(root))
    assert local_model.main() == 1
    assert isinstance(local_model.WANTED, Wanted)
    said = "no local model: fetching llama.cpp: no apt-get here to fetch it with (conda install -c conda-forge llama.cpp)\n"
    assert capsys.readouterr().err == said
