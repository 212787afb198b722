"""Figures 1 and 6 of the plans paper: portability against model size.

In: the study table `portability` (portability.py, published.py). Out: a `HouseFigure`.
"""

import polars as pl
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from workbench.captions import CLOUD, commonest_regime, name_of, portability_notes, title
from workbench.errors import ResultsError
from workbench.house import (
    GAP,
    HEIGHTS,
    LEFT,
    RIGHT,
    SERIES,
    SMALL,
    WIDTHS,
    HouseFigure,
    filling,
    house,
    key_of,
    legend_handles,
    new_page,
    size_ticks,
)
from workbench.marks import dodge, label_points, shade_cloud, text_width
from workbench.portability import SCHEMA

SLOTS = {"column": 0.16, "page": 0.24}  # inches a closed model's name has


def portability_numbers(frame: pl.DataFrame, benchmark: str | None = None) -> pl.DataFrame:
    """The rows that figure 1 shows, of one benchmark, with `panel`: open | closed | null (cannot be drawn).

    frame: from `portability.portability` or `published.portability`. Closed models, and those of unknown weights and
    size, go to the closed panel; an open model without a size and a row without portability can't be drawn.
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
        pl.when(pl.col("portability").is_null())
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
        sized, named = _widths(opened, closed, width)
        space = sized + named + (GAP if opened and closed else 0.0)
        names = 1.04 * max((text_width(name_of(row), SMALL) for row in closed), default=0.0) + 0.1  # 4 %: hinting
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


def _widths(opened: list[dict], closed: list[dict], width: str) -> tuple[float, float]:
    """Inches of the panel of sizes and of the panel of names; 0 for one that is not there."""
    named = 0.0
    if closed:
        title = text_width(_named_title(closed), rcParams["axes.titlesize"]) + 0.02
        named = max(SLOTS[width] * len({row["model"] for row in closed}) + 0.1, title)
    space = max(WIDTHS[width] - LEFT - RIGHT, named + (1.4 + GAP if opened else 0.0))
    if closed and not opened:
        return 0.0, space
    return space - (named + GAP if closed else 0.0), named


def _draw_sized(axes: Axes, rows: list[dict], everything: list[dict]) -> None:
    sizes = sorted({row["params_b"] for row in rows})
    axes.set_xscale("log")
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)
    ticks = size_ticks(sizes)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("Total parameters (billions)", labelpad=2)
    axes.set_title("Open weights" if all(row["weights"] == "open" for row in rows) else "Size stated")
    _frame(axes, everything)
    common = commonest_regime([row for row in everything if row["panel"]])
    drawn = _draw_points(axes, [(row["params_b"], row) for row in rows], common)
    once = {}  # each model is named once per regime, at its SQL: those points lie apart more than the plans'
    for mark, row in sorted(drawn, key=lambda pair: pair[1]["target"] != "sql"):
        once.setdefault((row["model"], row["regime"]), (mark, name_of(row)))
    label_points(axes, list(once.values()), [mark for mark, _ in drawn], SMALL)


def _draw_named(axes: Axes, rows: list[dict], everything: list[dict]) -> None:
    names = {row["model"]: name_of(row) for row in rows}
    places = {model: place for place, model in enumerate(names)}
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_xticks(range(len(names)), list(names.values()), rotation=90, fontsize=SMALL, parse_math=False)
    axes.set_title(_named_title(rows))
    _frame(axes, everything)
    common = commonest_regime([row for row in everything if row["panel"]])
    _draw_points(axes, [(places[row["model"]], row) for row in rows], common)


def _named_title(rows: list[dict]) -> str:
    closed = [row["weights"] == "closed" for row in rows]
    return "Closed" if all(closed) else "Closed or no size" if any(closed) else "No size stated"


def _frame(axes: Axes, rows: list[dict]) -> None:
    """The vertical axis: up to 1, down to the lowest value or bar, the same in both panels."""
    lows = [
        row[name]
        for row in rows
        if row["panel"]
        for name in ("portability", "portability_low")
        if row[name] is not None
    ]
    axes.set_ylim(max(0.0, min([*lows, 0.9]) - 0.035), 1.013)
    axes.axhline(1, color="#9A9A9A", linewidth=0.6, linestyle=(0, (3, 2)), zorder=1)


def _draw_points(axes: Axes, points: list[tuple[float, dict]], common: str | None) -> list[tuple[Line2D, dict]]:
    for key, series in SERIES.items():
        cloud = [(x, row["portability"]) for x, row in points if key_of(row) == key and row["regime"] == common]
        if len({x for x, _ in cloud}) >= CLOUD:
            shade_cloud(axes, cloud, to_hex(series.colour), top=1.0)
    spans = [(x, row["portability"], row["portability_low"], row["portability_high"]) for x, row in points]
    drawn = []
    for (x, row), shift in zip(points, dodge(axes, spans), strict=True):
        series = SERIES[key_of(row)]
        look = {
            "color": to_hex(series.colour),
            "transform": axes.transData + ScaledTranslation(shift / 72, 0, axes.figure.dpi_scale_trans),
        }
        if row["portability_low"] is not None:
            axes.plot(
                [x, x], [row["portability_low"], row["portability_high"]], **look, linewidth=0.8, alpha=0.7, zorder=2
            )
        (mark,) = axes.plot(
            [x],
            [row["portability"]],
            **look,
            **filling(row["regime"]),
            marker=series.marker,
            markersize=series.size,
            linestyle="none",
            zorder=3,
            clip_on=False,
        )
        mark.set_gid(" | ".join((row["model"], *key_of(row))))
        drawn.append((mark, row))
    return drawn
