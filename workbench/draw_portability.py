"""Figures 1 and 6 of the plans paper: portability against model size.

In: the study table `portability` (portability.py, published.py). Out: a `HouseFigure`.
"""

import polars as pl
from matplotlib.axes import Axes

from workbench.captions import commonest_regime, portability_notes, title
from workbench.draw_models import (
    draw_points,
    heights,
    name_axis,
    name_points,
    named_title,
    names_height,
    size_axis,
    sized_title,
    widths,
)
from workbench.errors import ResultsError
from workbench.house import GAP, HEIGHTS, LEFT, SERIES, WIDTHS, HouseFigure, house, legend_handles, new_page
from workbench.portability import SCHEMA


def portability_numbers(frame: pl.DataFrame, benchmark: str | None = None, value: str = "portability") -> pl.DataFrame:
    """The rows that figure 1 shows, of one benchmark, with `panel`: open | closed | null (cannot be drawn).

    frame: from `portability.portability` or `published.portability`. value: the column that is drawn. Closed models, and
    those of unknown weights and size, go to the closed panel; an open model without a size and a row without the value
    can't be drawn.
    ResultsError: an empty frame, a missing column, an unknown benchmark, or several and none chosen.
    """
    missing = [name for name in SCHEMA if name not in frame.columns]
    if missing:
        raise ResultsError(f"no column {missing[0]}", where="portability figure", hint="it draws portability's table")
    there = sorted(frame["benchmark"].drop_nulls().unique())
    if not there:
        raise ResultsError("nothing to draw: the table is empty", where="portability figure")
    if benchmark not in there and (benchmark is not None or len(there) > 1):
        what = f"no rows of {benchmark}" if benchmark else "several benchmarks and none chosen"
        raise ResultsError(what, where="portability figure", hint=f"available: {', '.join(there)}")
    odd = [key for key in frame.select("target", "mode").unique().rows() if key not in SERIES]
    if odd:
        raise ResultsError(f"no mark for {odd[0]}", where="portability figure", hint=f"there are: {list(SERIES)}")
    has_size = pl.col("params_b").is_finite() & (pl.col("params_b") > 0)
    panel = (
        pl.when(pl.col(value).is_null())
        .then(None)
        .when(weights="closed")
        .then(pl.lit("closed"))
        .when(has_size)
        .then(pl.lit("open"))
        .when(pl.col("weights").is_null())
        .then(pl.lit("closed"))
    )
    order = ["params_b", "model", "regime", "target", "mode", "run"]
    rows = frame.filter(pl.col("benchmark") == (benchmark or there[0]))
    return rows.with_columns(panel=panel).sort(order, nulls_last=True, maintain_order=True)


def portability(frame: pl.DataFrame, benchmark: str | None = None, width: str = "column") -> HouseFigure:
    """Portability against model size: open weights by size on the left, closed models by name on the right.

    Plans paper, figure 1 (BIRD) and figure 6 (Spider). Colour and marker show what was asked for, its filling the
    regime, bars the interval where there is one, shades the hull of three or more models of the commonest regime.
    width: "column" or "page"; the figure grows beyond it where the closed models' names need more. Open models are
    named where all names fit. ResultsError as in `portability_numbers`.
    """
    if width not in WIDTHS:
        raise ResultsError(f"no width {width!r}", where="portability figure", hint=f"available: {', '.join(WIDTHS)}")
    numbers = portability_numbers(frame, benchmark)
    rows = numbers.to_dicts()
    opened = [row for row in rows if row["panel"] == "open"]
    closed = [row for row in rows if row["panel"] == "closed"]
    with house():
        sized, named = widths(opened, closed, width)
        space = sized + named + (GAP if opened and closed else 0.0)
        names = names_height(closed)
        page = new_page(
            numbers,
            title(rows, "portability"),
            portability_notes(rows),
            legend_handles(opened + closed),
            space=space,
            panels=HEIGHTS[width],
            below=0.32 if opened else names + 0.05,
            names=names,
            legend_space=sized or space,
        )
        if opened:
            _draw_sized(page.panel("open", LEFT, sized), opened, rows)
        if closed:
            axes = page.panel("closed", LEFT + (sized + GAP if opened else 0), named)
            _draw_named(axes, closed, rows)
            if opened:
                axes.tick_params(labelleft=False, left=False)
                axes.spines["left"].set_visible(False)
        if not opened and not closed:
            axes = page.panel("empty", LEFT, space)
            axes.set(xticks=[], ylim=(0, 1.013))
            axes.text(0.5, 0.5, "no model has a portability that can be drawn", ha="center", transform=axes.transAxes)
        page.figure.axes[0].set_ylabel("Portability (worst / best engine)")
        return page.figure


def _draw_sized(axes: Axes, rows: list[dict], everything: list[dict]) -> None:
    size_axis(axes, sorted({row["params_b"] for row in rows}))
    axes.set_title(sized_title(rows))
    common = _frame(axes, everything)
    name_points(axes, draw_points(axes, [(row["params_b"], row) for row in rows], "portability", common))


def _draw_named(axes: Axes, rows: list[dict], everything: list[dict]) -> None:
    places = name_axis(axes, rows)
    axes.set_title(named_title(rows))
    common = _frame(axes, everything)
    draw_points(axes, [(places[row["model"]], row) for row in rows], "portability", common)


def _frame(axes: Axes, rows: list[dict]) -> str | None:
    """The vertical axis: up to 1, down to the lowest value or bar, the same in both panels; the regime that is shaded."""
    axes.set_ylim(max(0.0, min([*heights(rows, "portability"), 0.9]) - 0.035), 1.013)
    axes.axhline(1, color="#9A9A9A", linewidth=0.6, linestyle=(0, (3, 2)), zorder=1)
    return commonest_regime([row for row in rows if row["panel"]])
