"""Figures of errors read back from their artists: bars and intervals are the tables', odd tables give whole pictures."""

import polars as pl
import pytest
from figure_checks import all_words, assert_words_are_clear, bars, words

from workbench import captions
from workbench.draw_errors import errors_by_category, errors_by_model, pooled_numbers
from workbench.draw_failures import failures
from workbench.errors import ResultsError
from workbench.labels import CATEGORIES
from workbench.metrics import wilson_interval
from workbench.results import dtypes

MODEL = {"run": "r", "benchmark": "bundled", "regime": "prompted", "is_simulated": False, "metric": "df_match"}


def counted(*models: dict) -> pl.DataFrame:
    """Models with their errors by target, as counts in the order of CATEGORIES; of 100 predictions unless told."""
    rows = []
    for i, model in enumerate(models):
        about = MODEL | {"engine": "sqlite", "model": f"m{i}", "judged": 100, "unsorted": 0} | model
        for target in ("sql", "plan"):
            for place, n in enumerate(about.get(target) or []):
                row = {
                    "target": target,
                    "scheme": "category",
                    "name": CATEGORIES[place],
                    "n": n,
                    "errors": sum(about[target]),
                }
                rows.append({key: value for key, value in about.items() if key not in ("sql", "plan")} | row)
    return pl.DataFrame([dict.fromkeys(dtypes("error_counts")) | row for row in rows], schema=dtypes("error_counts"))


SQL, PLAN = [5, 9, 4, 8, 0, 1], [6, 8, 4, 3, 5, 1]
BOTH = {"sql": SQL, "plan": PLAN}
TUNED = BOTH | {"regime": "fine-tuned", "model": "tuned"}
FRAMES = {
    "one model": counted(BOTH),
    "seven": counted(*({"sql": [n + i for n in SQL], "plan": PLAN} for i in range(7))),
    "forty": counted(*(BOTH | {"params_b": float(i)} for i in range(40))),
    "long names": counted(*(BOTH | {"model": f"an organisation/a model with a long name, {i}"} for i in range(5))),
    "hostile names": counted(BOTH | {"model": "a\nb $_$" * 9}, BOTH | {"model": "$\\frac{x^{2$"}),
    "SQL alone": counted({"sql": SQL, "regime": "imported"}),
    "fine-tuned beside": counted(BOTH, BOTH, TUNED),
    "fine-tuned alone": counted(TUNED),
    "simulated and real": counted(BOTH, *(BOTH | {"is_simulated": True, "model": f"sim{i}"} for i in range(3))),
    "thousands": counted({"sql": [412, 519, 160, 172, 4, 30], "plan": [400, 500, 170, 109, 90, 31], "judged": 7670}),
    "nothing wrong": counted({"sql": [0] * 6, "plan": [0] * 6}),
    "other denominators": counted(BOTH, BOTH | {"judged": 60}),
    "unsorted": counted(BOTH | {"unsorted": 3}),
    "same name twice": counted(BOTH | {"model": "m"}, BOTH | {"model": "m", "regime": "fine-tuned"}),
}
DRAWN = {"errors_by_category": errors_by_category, "errors_by_model": errors_by_model}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("draw", DRAWN)
def test_bars_are_the_numbers(draw, name):
    figure = DRAWN[draw](FRAMES[name])
    assert_words_are_clear(figure)
    rows = figure.numbers.to_dicts()
    found = sorted((*bar[1:4], bar[6]) for bar in bars(figure))
    assert found == sorted((row["panel"], row["target"], row["name"], row["n"]) for row in rows)
    for row in rows:
        low, high = wilson_interval(row["n"], row["judged"])
        assert (row["low"], row["high"]) == (pytest.approx(low * row["judged"]), pytest.approx(high * row["judged"]))


def test_every_category_has_words():
    assert tuple(captions.CATEGORIES) == CATEGORIES


def test_the_strongest_are_those_with_most_right_of_those_judged_on_enough():
    better = [BOTH | {"model": f"m{i}", "sql": [i] * 6, "plan": [i] * 6} for i in range(7)]
    few = {"model": "few", "sql": [0] * 6, "plan": [0] * 6, "judged": 10}
    numbers, engine = pooled_numbers(counted(*better, few, {"model": "SQL alone", "sql": [0] * 6}))
    assert set(numbers["models"]) == {"m0; m1; m2; m3; m4"} and engine == "On SQLite"
    assert set(numbers["n"]) == {10} and set(numbers["judged"]) == {500}


SAID = [
    ("seven", "5 strongest prompted", "Strongest models: m0, m1, m2, m3, m4", "SQL 195, plans 135 of 500"),
    ("other denominators", "SQL 54, plans 54 of 160"),
    ("simulated and real", "Partly SIMULATED", "Strongest simulated models: sim0, sim1, sim2"),
    ("unsorted", "6 errors without a category left out."),
    ("fine-tuned beside", "tuned", "2 strongest prompted"),
]


@pytest.mark.parametrize(("name", "said"), [(s[0], s[1:]) for s in SAID], ids=[s[0] for s in SAID])
def test_words(name, said):
    text = all_words(errors_by_category(FRAMES[name]))
    assert all(part in text for part in said), text


BROKEN = [
    ("empty", counted(), "nothing to draw"),
    ("no category", counted(BOTH).with_columns(scheme=pl.lit("type")), "no error has a category"),
    ("old table", counted(BOTH).drop("judged"), "no column judged"),
    ("purpose-built alone", counted(BOTH | {"regime": "purpose-built"}), "no prompted or fine-tuned model"),
]


@pytest.mark.parametrize(("frame", "said"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_tables_raise(frame, said):
    with pytest.raises(ResultsError, match=said):
        errors_by_category(frame)


def failed(*rows: dict) -> pl.DataFrame:
    usual = MODEL | {"model": "m", "target": "sql", "mode": "native", "engines": 3}
    whole = [usual | row | {"failures": row["only_here"] + row["several"] + row["everywhere"]} for row in rows]
    return pl.DataFrame([dict.fromkeys(dtypes("failure_kinds")) | row for row in whole], schema=dtypes("failure_kinds"))


KINDS = {"only_here": 3, "several": 2, "everywhere": 45}
PLANS = KINDS | {"target": "plan", "mode": "compiled", "only_here": 0}
FAILED = {
    "one engine's": failed({"engine": "sqlite"} | KINDS),
    "both targets": failed(*({"engine": e} | kinds for e in ("duckdb", "mysql", "sqlite") for kinds in (KINDS, PLANS))),
    "all modes": failed(
        {"engine": "sqlite"} | KINDS, {"engine": "sqlite"} | PLANS, {"engine": "mysql", "mode": "as-written"} | KINDS
    ),
    "simulated and real": failed(
        {"engine": "sqlite"} | KINDS, {"engine": "sqlite", "is_simulated": True, "model": "s"} | KINDS
    ),
}


@pytest.mark.parametrize("name", FAILED)
def test_failures(name):
    figure = failures(FAILED[name])
    assert_words_are_clear(figure)
    widths = sorted((*bar[1:4], round(bar[6], 9)) for bar in bars(figure))
    expected = [
        (row["mode"], row["engine"], kind, round(100 * row[kind] / row["failures"], 9))
        for row in figure.numbers.to_dicts()
        for kind in KINDS
    ]
    assert widths == sorted(expected)
    assert "decoding" in words(figure)


def test_failures_of_one_engine_alone_are_refused():
    with pytest.raises(ResultsError, match="no prediction is wrong"):
        failures(failed({"engine": "sqlite", "engines": 1} | KINDS))
