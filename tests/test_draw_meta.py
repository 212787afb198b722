"""Figures of the meta-analysis read back from their artists: marks, intervals and cells are the tables'."""

import pytest
from figure_checks import all_words, assert_words_are_clear, bars, marked, words
from meta_tables import tables

from workbench.draw_meta import meta_coefficients, meta_forest, meta_heterogeneity
from workbench.errors import ResultsError

FEW = "fewer than 10 divergent questions that SQL, or that the plan, answers"
FEATURES = ("qc_n_casts", "qc_locality_gap", "ps_max_depth", "ax_length_diff", "qc_category_ordered_not_fixed")
TABLES = {
    "thirteen models": tables(*({"params_b": float(i)} for i in range(13))),
    "one model": tables({}, features=FEATURES),
    "simulated beside real": tables(*({"is_simulated": i > 2} for i in range(7)), features=FEATURES),
    "forty, long names": tables(
        *({"model": f"organisation/a model of long name {i}"} for i in range(40)), features=FEATURES
    ),
    "hostile names": tables({"model": "$\\frac{x^{2$"}, {"model": "a\nb $_$" * 9}, features=FEATURES),
    "one without coefficients": tables({}, {}, {"reason": FEW}, features=FEATURES),
    "no coefficients": tables({"reason": FEW}, features=FEATURES),
}
DRAWN = {draw.__name__: draw for draw in (meta_forest, meta_coefficients, meta_heterogeneity)}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("draw", DRAWN)
def test_words_are_clear(draw, name):
    assert_words_are_clear(DRAWN[draw](*TABLES[name]))


@pytest.mark.parametrize("name", TABLES)
def test_the_forest_shows_every_estimate_and_its_interval(name):
    figure = meta_forest(*TABLES[name])
    rows = [row for row in figure.numbers.to_dicts() if row["estimate"] is not None]
    expected = sorted((row["level"], row["model"] or "", row["feature"], row["estimate"]) for row in rows)
    assert sorted((*mark[1:4], mark[4]) for mark in marked(figure)) == expected
    drawn = {
        (line.get_label(), *map(float, line.get_xdata()))
        for axes in figure.axes
        for line in axes.lines
        if line.get_label().startswith(("_fixed", "_random"))
    }
    pooled = [row for row in rows if row["level"] != "model"]
    assert drawn == {(f"_{row['level']} {row['feature']}", row["low"], row["high"]) for row in pooled}


@pytest.mark.parametrize("name", TABLES)
def test_the_table_has_a_cell_for_every_coefficient(name):
    figure = meta_coefficients(*TABLES[name])
    rows = [row for row in figure.numbers.to_dicts() if row["estimate"] is not None]
    cells = sorted(bar[1:3] for bar in bars(figure))
    assert cells == sorted((row["model"] or "pooled", row["feature"]) for row in rows)


@pytest.mark.parametrize("name", TABLES)
def test_heterogeneity_has_i2_across(name):
    pooled, _ = TABLES[name]
    figure = meta_heterogeneity(*TABLES[name])
    expected = sorted(pooled.drop_nulls("estimate").select("feature", "i2", "estimate").rows())
    assert sorted(mark[1:] for mark in marked(figure)) == expected


SAID = [
    ("thirteen models", "13 models, n = 40 to 52 such questions each."),
    ("simulated beside real", "Partly SIMULATED", "Real models", "Simulated models"),
    ("one without coefficients", f"Without coefficients: m2 ({FEW})."),
    ("no coefficients", f"Without coefficients: m0 ({FEW})."),
]


@pytest.mark.parametrize(("name", "said"), [(s[0], s[1:]) for s in SAID], ids=[s[0] for s in SAID])
def test_words(name, said):
    for draw in DRAWN.values():
        text = all_words(draw(*TABLES[name]))
        assert all(part in text for part in said), text


def test_without_coefficients_the_picture_says_so():
    assert "no feature has a pooled coefficient" in all_words(meta_heterogeneity(*TABLES["no coefficients"]))


@pytest.mark.parametrize("draw", DRAWN)
def test_an_empty_table_is_refused(draw):
    pooled, coefficients = TABLES["one model"]
    with pytest.raises(ResultsError, match="nothing to draw"):
        DRAWN[draw](pooled.clear(), coefficients)


def test_the_title_names_the_benchmark():
    assert "on the bundled benchmark" in words(meta_forest(*TABLES["one model"]))
