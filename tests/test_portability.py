"""Accuracy per engine and portability on small hand-worked score tables."""

import polars as pl
import pytest

from workbench.errors import ResultsError
from workbench.metrics import wilson_interval
from workbench.portability import ENGINES, RESAMPLES, SCHEMA, accuracy_by_engine, portability

TYPES = {
    "params_b": pl.Float64,
    "weights": pl.String,
    "dialect": pl.String,
    "bird_ex": pl.Boolean,
    "df_match": pl.Boolean,
}


def scores(*answers, **model) -> pl.DataFrame:
    """Rows of a scores table. answers: (engine, verdicts) or (dialect, engine, verdicts), one letter a question:
    1 right, 0 wrong, f failed prediction, g failed gold, t gold timeout, - not judged."""
    outcomes = {"f": "prediction_failed", "g": "gold_failed", "-": "not_judged"}
    about = {
        "run": "r",
        "benchmark": "bundled",
        "model": "m",
        "params_b": 7.0,
        "weights": "open",
        "regime": "prompted",
        "is_simulated": False,
        "target": "sql",
    } | model
    rows = []
    for *dialect, engine, letters in answers:
        for question, letter in enumerate(letters):
            rows.append(
                about
                | {
                    "dialect": (dialect[0] if dialect else engine) if about["target"] == "sql" else None,
                    "engine": engine,
                    "question_id": str(question),
                    "db_id": f"db{question % about.get('databases', 2)}",
                    "bird_ex": {"1": True, "0": False, "f": False, "g": False}.get(letter),
                    "df_match": {"1": True, "0": False, "f": False}.get(letter),
                    "outcome": outcomes.get(letter, "judged"),
                }
            )
    return pl.DataFrame(rows, schema_overrides=TYPES, infer_schema_length=None)


def only(frame: pl.DataFrame) -> dict:
    assert frame.height == 1, frame
    return frame.row(0, named=True)


COUNTS = [  # verdicts by BIRD's rule -> n, correct, not_judged
    ("right and wrong", "1100", (4, 2, 0)),
    ("a failed prediction is wrong", "11ff", (4, 2, 0)),
    ("so is a failed gold, by the official rule", "11g", (3, 2, 0)),
    ("what was not judged leaves the denominator", "1-", (1, 1, 1)),
    ("nothing judged", "---", (0, 0, 3)),
]


def test_a_failed_gold_leaves_df_match_which_is_the_headline():
    row = only(accuracy_by_engine(scores(("sqlite", "1fg0"))))
    assert (row["metric"], row["n"], row["correct"], row["not_judged"]) == ("df_match", 3, 1, 1)


@pytest.mark.parametrize(("letters", "counts"), [c[1:] for c in COUNTS], ids=[c[0] for c in COUNTS])
def test_what_counts(letters, counts):
    row = only(accuracy_by_engine(scores(("sqlite", letters)), "bird_ex"))
    n, correct, _ = counts
    assert (row["n"], row["correct"], row["not_judged"]) == counts
    assert row["accuracy"] == (correct / n if n else None)
    assert (row["low"], row["high"]) == (wilson_interval(correct, n) if n else (None, None))
    assert row["metric"] == "bird_ex"


def test_portability_by_hand():
    row = only(portability(scores(("sqlite", "1111111100"), ("postgres", "1111110000"), ("mysql", "1111111000"))))
    assert row["engines"] == "sqlite, postgres, mysql"
    assert (row["sqlite"], row["postgres"], row["mysql"], row["clickhouse"]) == (0.8, 0.6, 0.7, None)
    assert (row["lower_bound"], row["best"], row["mean"]) == (0.6, 0.8, pytest.approx(0.7))
    assert row["portability"] == pytest.approx(0.75)
    assert row["delta_worst"] == pytest.approx(-0.2)
    assert (row["n"], row["not_judged"], row["reason"]) == (10, 0, None)
    assert 0 < row["portability_low"] <= 0.75 <= row["portability_high"] <= 1
    assert row["interval"] == f"95 % bootstrap over questions, {RESAMPLES} resamples"


def test_duckdb_stands_beside():
    row = only(portability(scores(("sqlite", "1111"), ("postgres", "1110"), ("duckdb", "0000"))))
    assert (row["engines"], row["duckdb"], row["portability"]) == ("sqlite, postgres", 0.0, 0.75)


def test_engine_set_may_be_chosen():
    frame = scores(("sqlite", "1111"), ("postgres", "1110"), ("duckdb", "1100"))
    row = only(portability(frame, engines=("postgres", "duckdb")))
    assert (row["engines"], row["portability"], row["delta_worst"]) == ("postgres, duckdb", pytest.approx(2 / 3), None)
    with pytest.raises(ResultsError, match="unknown engine oracle"):
        portability(frame, engines=("sqlite", "oracle"))


UNDEFINED = [
    ("one engine", [("sqlite", "11")], "portability needs two engines, there is sqlite"),
    ("only duckdb", [("duckdb", "11")], "portability needs two engines, there is none"),
    ("an engine not judged", [("sqlite", "11"), ("postgres", "--")], "not judged on postgres"),
    ("nothing right", [("sqlite", "00"), ("postgres", "0f")], "nothing right on any engine: the ratio is undefined"),
]


@pytest.mark.parametrize(("answers", "reason"), [u[1:] for u in UNDEFINED], ids=[u[0] for u in UNDEFINED])
def test_undefined_portability_is_null_with_a_reason(answers, reason):
    row = only(portability(scores(*answers)))
    assert row["reason"] == reason
    assert (row["portability"], row["portability_low"], row["portability_high"], row["interval"]) == (None,) * 4


def test_a_model_missing_on_an_engine_that_others_have():
    frame = pl.concat([scores(("sqlite", "11"), ("postgres", "10")), scores(("sqlite", "11"), model="n")])
    table = {row["model"]: row for row in portability(frame).to_dicts()}
    assert table["m"]["portability"] == 0.5
    assert (table["n"]["portability"], table["n"]["reason"]) == (None, "not judged on postgres")
    assert table["n"]["sqlite"] == 1.0


def test_each_benchmark_has_its_own_engine_set():
    frame = pl.concat([scores(("sqlite", "11"), ("postgres", "10")), scores(("sqlite", "11"), benchmark="spider-dev")])
    assert portability(frame)["engines"].to_list() == ["sqlite, postgres", "sqlite"]


MODES = [  # what was run -> mode -> engines
    ("asked per dialect", [("sqlite", "1"), ("postgres", "1")], "sql", {"native": ["sqlite", "postgres"]}),
    ("a plan", [("sqlite", "1"), ("postgres", "1")], "plan", {"compiled": ["sqlite", "postgres"]}),
    (
        "SQLite's SQL elsewhere",
        [("sqlite", "sqlite", "1"), ("sqlite", "postgres", "0")],
        "sql",
        {"as-written": ["sqlite", "postgres"]},
    ),
    (
        "both ways",
        [("sqlite", "sqlite", "1"), ("sqlite", "postgres", "0"), ("postgres", "postgres", "1")],
        "sql",
        {"as-written": ["sqlite", "postgres"], "native": ["sqlite", "postgres"]},
    ),
    ("SQLite only", [("sqlite", "sqlite", "1")], "sql", {"native": ["sqlite"]}),
]


@pytest.mark.parametrize(("answers", "target", "modes"), [m[1:] for m in MODES], ids=[m[0] for m in MODES])
def test_modes(answers, target, modes):
    table = accuracy_by_engine(scores(*answers, target=target))
    found = {mode: rows["engine"].to_list() for (mode,), rows in table.group_by("mode", maintain_order=True)}
    assert found == modes
    assert set(portability(scores(*answers, target=target))["mode"]) == set(modes)


def test_both_modes_are_counted_apart():
    frame = scores(("sqlite", "sqlite", "11"), ("sqlite", "postgres", "00"), ("postgres", "postgres", "10"))
    table = {row["mode"]: row for row in portability(frame).to_dicts()}
    assert (table["as-written"]["portability"], table["native"]["portability"]) == (0.0, 0.5)


def test_regimes_of_one_model_stay_apart():
    answers = ("sqlite", "10"), ("postgres", "10")
    frame = pl.concat([scores(*answers), scores(*answers, regime="fine-tuned")])
    assert portability(frame)["regime"].to_list() == ["fine-tuned", "prompted"]


def test_null_size_and_weights_are_kept():
    frame = scores(("sqlite", "10"), ("postgres", "10"), params_b=None, weights=None)
    row = only(portability(frame))
    assert (row["params_b"], row["weights"], row["portability"]) == (None, None, 1.0)
    assert row["portability_low"] == 1.0


BROKEN = [
    ("empty", scores(("sqlite", "1")).clear(), {}, "no scores"),
    ("no such metric", scores(("sqlite", "1")), {"metric": "soft_f1"}, "no column soft_f1"),
    ("no verdict", scores(("sqlite", "1")), {"metric": "params_b"}, "no verdict per row"),
    ("missing column", scores(("sqlite", "1")).drop("db_id"), {}, "no column db_id"),
    ("foreign dialect", scores(("postgres", "mysql", "1")), {}, "SQL written for postgres was run on mysql"),
]


@pytest.mark.parametrize(("frame", "options", "words"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
@pytest.mark.parametrize("function", [accuracy_by_engine, portability])
def test_broken_scores_raise(function, frame, options, words):
    with pytest.raises(ResultsError, match=words):
        function(frame, **options)


def test_the_interval_is_the_same_again_and_over_databases_where_there_are_enough():
    letters = "1101" * 30, "1001" * 30
    few, many = (
        only(portability(scores(("sqlite", letters[0]), ("postgres", letters[1]), databases=k))) for k in (9, 12)
    )
    assert "over questions" in few["interval"]
    assert "over databases" in many["interval"]
    again = only(portability(scores(("sqlite", letters[0]), ("postgres", letters[1]), databases=12)))
    assert again == many
    # postgres is right on 60 of the 90 questions that sqlite is right on: a share, with se sqrt(2/3 * 1/3 / 90) = 0.050
    assert few["portability_high"] - few["portability_low"] == pytest.approx(2 * 1.96 * 0.050, rel=0.15)


def test_schema_is_stable():
    assert portability(scores(("sqlite", "1"))).schema == SCHEMA
    assert set(ENGINES) < set(SCHEMA)
