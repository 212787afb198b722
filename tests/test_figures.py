"""Figures read back from their drawn artists: every number that should be on paper is, nothing else, and words don't collide."""

import itertools
import os
import subprocess
import sys

import matplotlib
import polars as pl
import pytest

from workbench import captions, marks
from workbench import published as published_module
from workbench.errors import ResultsError
from workbench.figures import FIGURES, SERIES, HouseFigure, portability, portability_numbers, save_figure
from workbench.portability import SCHEMA


@pytest.fixture(scope="module")
def published() -> pl.DataFrame:
    return published_module.portability()


def study(*models: dict) -> pl.DataFrame:
    """A portability table; what a model doesn't say is as below."""
    usual = {
        "run": "r",
        "benchmark": "bundled",
        "params_b": None,
        "weights": "open",
        "regime": "prompted",
        "is_simulated": False,
        "target": "sql",
        "mode": "native",
        "metric": "bird_ex",
        "engines": "sqlite, postgres",
        "n": 30,
        "not_judged": 0,
        "portability": 0.8,
    }
    rows = [dict.fromkeys(SCHEMA) | usual | {"model": f"m{i}"} | model for i, model in enumerate(models)]
    return pl.DataFrame(rows, schema=SCHEMA)


def drawn(figure) -> dict[tuple[str, str], tuple[float, float]]:
    """(panel, "model | target | mode") -> (x, y) of every mark."""
    return {
        (axes.get_label(), line.get_gid()): tuple(line.get_xydata()[0])
        for axes in figure.axes
        for line in axes.lines
        if line.get_gid()
    }


def words(figure) -> str:
    return " ".join(text.get_text() for text in figure.texts)


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("benchmark", ["bird-dev", "spider-dev"])
def test_published_marks_are_the_published_numbers(published, benchmark, width):
    figure = portability(published, benchmark, width)
    assert figure.numbers.height == 34
    closed = sorted({row["model"] for row in figure.numbers.to_dicts() if row["panel"] == "closed"})
    expected = [
        (row["panel"], closed.index(row["model"]) if row["panel"] == "closed" else row["params_b"], row["portability"])
        for row in figure.numbers.to_dicts()
    ]
    lines = [(axes.get_label(), line) for axes in figure.axes for line in axes.lines if line.get_gid()]
    assert sorted((panel, *map(float, line.get_xydata()[0])) for panel, line in lines) == pytest.approx(sorted(expected))
    assert closed == ["Claude Sonnet 4.6", "GPT 5.5", "Gemini 3.1 Pro"]
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == closed
    assert figure.axes[0].get_xscale() == "log"


def test_published_figure_says_what_must_be_said(published):
    text = words(portability(published, "bird-dev"))
    for said in (
        "BIRD dev, as published",
        "DF-Match over SQLite, PostgreSQL, MySQL, ClickHouse",
        "n = 1,534",
        "assumed\nwhere the name does not say".replace("\n", " "),
        "plans paper, table 2",
        "hulls of prompted models",
    ):
        assert said in " ".join(text.split()), said
    assert "SIMULATED" not in text
    labels = [entry.get_text() for entry in portability(published, "bird-dev").legends[0].get_texts()]
    assert labels == ["Query plan", "SQL, asked per dialect", "prompted", "fine-tuned", "purpose-built"]


def test_plan_and_sql_differ_in_marker_and_in_grey():
    with matplotlib.rc_context(fname="workbench/house.mplstyle" if False else None):
        pass
    from matplotlib.colors import to_rgb

    from workbench.figures import house

    with house():
        grey = {key: sum(to_rgb(series.colour)) / 3 for key, series in SERIES.items()}
    assert len({series.marker for series in SERIES.values()}) == len(SERIES)
    assert all(abs(a - b) > 0.08 for a, b in itertools.combinations(grey.values(), 2))


def boxes(figure) -> list[tuple[str, object]]:
    """Boxes of all words on a figure."""
    renderer = figure.canvas.get_renderer()
    texts = list(figure.texts) + [text for legend in figure.legends for text in legend.get_texts()]
    for axes in figure.axes:
        shown = axes.texts + [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        ticks = axes.get_xticklabels() + axes.get_yticklabels()
        inside = [t for t in ticks if axes.get_window_extent().expanded(1.4, 1.4).contains(*t.get_window_extent().p0)]
        texts += [text for text in (*shown, *(t for t in ticks if t.get_visible())) if text.get_text()]
        del inside
    return [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text().strip()]
