"""DF-Match against BIRD's rule: counts by hand, whose side annotators take, both metrics on round trips, one command."""

import polars as pl
import pytest
from click.testing import CliRunner

from workbench.agreement import agreement, annotators, metric_gap, published_gap, published_sides, sides
from workbench.cli import main
from workbench.errors import ResultsError
from workbench.results import Run, dtypes
from workbench.study import study

MODEL = {"run": "r", "benchmark": "b", "model": "m", "target": "sql", "dialect": "sqlite", "engine": "sqlite"}


def scores(counts: dict[tuple, int], **about) -> pl.DataFrame:
    """counts: (df_match, bird_ex) -> pairs."""
    rows = [
        MODEL | {"df_match": df, "bird_ex": bird, "outcome": "judged", "is_simulated": False} | about
        for (df, bird), n in counts.items()
        for _ in range(n)
    ]
    rows = [row | {"question_id": str(number)} for number, row in enumerate(rows)]
    return pl.DataFrame(rows, schema=dtypes("scores"))


BOTH = {(True, True): 20, (True, False): 5, (False, True): 10, (False, False): 15, (None, False): 2}


def test_counts_share_and_kappa():
    (model, engine, run) = agreement(scores(BOTH)).rows(named=True)
    assert [row["scope"] for row in (model, engine, run)] == ["model", "engine", "run"]
    names = ("n", "both_right", "only_df_match", "only_bird_ex", "both_wrong", "not_judged", "failed")
    assert [model[name] for name in names] == [50, 20, 5, 10, 15, 2, 0]
    # Cohen's kappa of this table by hand: (0.7 - 0.5) / (1 - 0.5)
    assert (model["same"], model["kappa"]) == (0.7, pytest.approx(0.4))
    assert model["kappa_low"] < 0.4 < model["kappa_high"] and model["same_low"] < 0.7 < model["same_high"]
    assert (engine["model"], engine["engine"], run["engine"]) == (None, "sqlite", None)


def test_models_and_engines_are_counted_apart_and_together():
    failed = scores({(False, False): 3}, model="other", engine="mysql", outcome="prediction_failed")
    table = agreement(pl.concat([scores(BOTH), failed]))
    assert table.select("scope", "model", "engine", "n").rows() == [
        ("model", "m", "sqlite", 50),
        ("model", "other", "mysql", 3),
        ("engine", None, "mysql", 3),
        ("engine", None, "sqlite", 50),
        ("run", None, None, 53),
    ]
    other = table.filter(model="other").row(0, named=True)
    assert (other["failed"], other["same"], other["kappa"]) == (3, 1.0, None)


@pytest.mark.parametrize("frame", [scores({}), scores({(None, False): 2})], ids=["empty", "no gold runs"])
def test_no_pair_with_both_verdicts(frame):
    with pytest.raises(ResultsError, match="no pair has both verdicts"):
        agreement(frame)


@pytest.fixture
def run(root) -> Run:
    """Five questions with one prediction each; DF-Match alone accepts 0, 1, 2, BIRD's rule alone 3, both accept 4."""
    made = Run.create("r")
    verdicts = {(True, False): 3, (False, True): 1, (True, True): 1}
    ids = [str(number) for number in range(5)]
    made.write_part("scores", "part", scores(verdicts))
    questions = [{"question_id": i, "db_id": "d", "question": f"q{i}", "gold_sql": "SELECT 1"} for i in ids]
    made.write_part("questions", "part", questions)
    about = {name: MODEL[name] for name in ("model", "target", "dialect", "engine")}
    predicted = [about | {"role": "prediction", "question_id": i, "sql": f"SELECT {i}", "result_key": i} for i in ids]
    golds = [{"role": "gold", "engine": "sqlite", "question_id": i, "result_key": "g"} for i in ids]
    made.write_part("executions", "part", predicted + golds)
    return made


def said(run: Run, annotator: str, verdicts: dict[str, str], flags: dict[str, str] | None = None) -> None:
    from workbench.disagreements import disagreements

    pairs = dict(disagreements(run).select("question_id", "pair").iter_rows())
    rows = [
        {"annotator": annotator, "pair": pairs.get(i, i), "verdict": verdict}
        | {flag: (flags or {}).get(i) == flag for flag in ("gold_is_wrong", "other_issue")}
        for i, verdict in verdicts.items()
    ]
    run.write_part("annotations", annotator, rows)


# id -> verdicts, flags, (n, df_match, bird_ex) with flagged ones left out, the same with them kept
SIDES = {
    "with DF-Match": ({"0": "correct", "1": "correct", "3": "incorrect"}, {}, (3, 3, 0), (3, 3, 0)),
    "with BIRD's rule": ({"0": "incorrect", "3": "correct"}, {}, (2, 0, 2), (2, 0, 2)),
    "unsure": ({"0": "unsure", "1": "correct"}, {}, (1, 1, 0), (1, 1, 0)),
    "flagged": (
        {"0": "correct", "1": "incorrect", "2": "correct"},
        {"1": "gold_is_wrong", "2": "other_issue"},
        (1, 1, 0),
        (3, 2, 1),
    ),
    "a pair that is gone": ({"0": "correct", "4": "correct"}, {}, (1, 1, 0), (1, 1, 0)),
    "nothing left": ({"0": "unsure"}, {}, (0, 0, 0), (0, 0, 0)),
}


@pytest.mark.parametrize("verdicts, flags, left_out, kept", SIDES.values(), ids=SIDES)
def test_whose_side(run, verdicts, flags, left_out, kept):
    said(run, "ann", verdicts, flags)
    table = sides(run)
    assert table.select("flagged", "n", "df_match", "bird_ex").rows() == [("left out", *left_out), ("kept", *kept)]
    row = table.row(0, named=True)
    assert row["annotated"] == len(verdicts) and row["gone"] == ("4" in verdicts)
    assert row["unsure"] == list(verdicts.values()).count("unsure")
    assert row["gold_is_wrong"] == list(flags.values()).count("gold_is_wrong")
    assert (row["p_exact"] is None) == (row["n"] == 0)


def test_two_annotators_together_and_against_each_other(run):
    said(run, "ann", {"0": "correct", "1": "correct", "2": "correct", "3": "incorrect"})
    said(run, "bob", {"0": "correct", "1": "incorrect", "2": "unsure"})
    together = sides(run).filter(annotator="all", flagged="kept").row(0, named=True)
    assert [together[name] for name in ("annotated", "contradicted", "unsure", "n", "df_match")] == [4, 2, 0, 2, 2]
    (pair,) = annotators(run).rows(named=True)
    assert (pair["annotator"], pair["other"], pair["n"]) == ("ann", "bob", 3)
    # one answer alone on one side: agreement is what chance gives
    assert (pair["same"], pair["kappa"]) == (pytest.approx(1 / 3), pytest.approx(0))


def test_one_annotator_has_nobody_to_agree_with(run):
    said(run, "ann", {"0": "correct"})
    with pytest.raises(ResultsError, match="no pair was judged by two annotators"):
        annotators(run)


def test_the_papers_counts_give_the_papers_test():
    """Plans paper, table 3 and appendix F: 99 of 103, chi squared 85.79, p 2e-20, effect size 0.92."""
    row = published_sides().row(0, named=True)
    assert (row["n"], round(100 * row["share"], 1)) == (103, 96.1)
    assert (round(row["statistic"], 2), round(row["effect_size"], 2)) == (85.79, 0.92)
    assert row["p_corrected"] == pytest.approx(2e-20, rel=0.01)


def test_the_papers_gap():
    assert published_gap()["gap"].to_list() == [14.0, 14.2, 15.9, 14.1]  # table 4, as printed


def test_gap_of_round_trips():
    about = {"run": "r", "method": "plan", "engine": "mysql", "outcome": "equal"}
    rows = [
        about | {"df_match": True, "bird_ex": True},
        about | {"df_match": True, "bird_ex": False, "ambiguous": "ties"},
        about | {"df_match": True, "bird_ex": False},
        about | {"df_match": None, "bird_ex": False, "outcome": "gold_failed"},
        about | {"outcome": "not_judged"},
    ]
    table = metric_gap(pl.DataFrame(rows, schema=dtypes("roundtrip")))
    names = ("golds", "n", "df_match", "bird_ex", "gap", "only_df_match", "only_bird_ex")
    assert table.select(names).rows() == [
        ("all", 4, 75.0, 25.0, 50.0, 2, 0),
        ("one answer", 3, 66.67, 33.33, 33.34, 1, 0),
    ]


def test_round_trips_of_an_older_version():
    with pytest.raises(ResultsError, match="without the verdicts of both metrics"):
        metric_gap(pl.DataFrame(schema=dtypes("roundtrip")).drop("bird_ex"))


def test_one_command_prints_what_there_is(run):
    said(run, "ann", {"0": "correct"})
    found = CliRunner().invoke(main, ["study", "agreement", "--run", "r"])
    assert found.exit_code == 0, found.output
    assert "both_right" in found.stdout and "effect_size" in found.stdout
    assert found.stderr.splitlines() == [
        f"annotators: {run.path}: no pair was judged by two annotators",
        f"metric_gap: {run.path}: has no round trips (workbench plan roundtrip PATH --run RUN first)",
    ]
    assert Run.open("r").table("sides").equals(study("sides", "r"))


def test_one_command_of_the_paper():
    found = CliRunner().invoke(main, ["study", "agreement", "--published"])
    assert found.exit_code == 0 and "85.78" in found.stdout and "15.9" in found.stdout


def test_a_run_with_nothing_is_one_line(root):
    Run.create("empty")
    found = CliRunner().invoke(main, ["study", "agreement", "--run", "empty"])
    assert (found.exit_code, found.stdout) == (2, "")
    assert len(found.stderr.splitlines()) == 1 and "has no scores yet" in found.stderr
