"""Pictures of the study, ready for print: a figure function takes a study table and returns a Figure.

In: study tables (portability.py, published.py). Out: `HouseFigure`, whose `.numbers` is the table that was drawn, and
by `save_figure` a pdf, a png and those numbers as csv. Looks live in house.mplstyle; what stands where, here. Nothing
reads a model or a database, no screen is needed, and matplotlib's global settings are left as they were.
"""

import io
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from workbench.captions import CLOUD, commonest_regime, name_of, portability_notes, portability_title
from workbench.errors import ResultsError
from workbench.marks import dodge, label_points, shade_cloud, text_width, wrap
from workbench.portability import SCHEMA
from workbench.results import write_whole

STYLE = Path(__file__).with_name("house.mplstyle")
WIDTHS = {"column": 3.4, "page": 7.0}  # inches, as most journals have them
HEIGHTS = {"column": 1.85, "page": 2.6}  # inches of the panels alone; title, legend and notes come on top
SLOTS = {"column": 0.16, "page": 0.24}  # inches a closed model's name has
LEFT, RIGHT, GAP, EDGE = 0.48, 0.05, 0.09, 0.04  # inches beside and between the panels, and around the words
SMALL = 6  # pt, names and notes


class Series(NamedTuple):
    label: str
    colour: str  # of the style's cycle; neighbours differ in grey too
    marker: str
    size: float  # points, so that the shapes weigh the same


SERIES = {  # (target, mode), in the order of the legend
    ("plan", "compiled"): Series("Query plan", "C0", "D", 3.9),
    ("sql", "native"): Series("SQL, asked per dialect", "C1", "o", 4.5),
    ("sql", "as-written"): Series("SQLite's SQL as written", "C3", "s", 4.1),
}
REGIMES = {"prompted": "full", "fine-tuned": "bottom", "purpose-built": "none", "imported": "left"}  # marker fillings


class HouseFigure(Figure):
    """A Figure that keeps the numbers it shows and, in a notebook, shows itself without pyplot."""

    numbers: pl.DataFrame

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with house():
            self.savefig(buffer, format="png", dpi=matplotlib.rcParams["figure.dpi"])
        return buffer.getvalue()


def house() -> AbstractContextManager:
    """The house style on top of matplotlib's defaults, for the length of a with block."""
    return matplotlib.rc_context(fname=STYLE)


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
        plan = _layout(opened, closed, rows, width)
        figure = HouseFigure(figsize=(plan.width, plan.height))
        FigureCanvasAgg(figure)
        figure.numbers = numbers

        def panel(label: str, x: float, across: float) -> Axes:
            box = (x / plan.width, plan.bottom / plan.height, across / plan.width, HEIGHTS[width] / plan.height)
            return figure.add_axes(box, label=label)

        if opened:
            _draw_sized(panel("open", LEFT, plan.sized), opened, rows)
        if closed:
            axes = panel("closed", LEFT + (plan.sized + GAP if opened else 0), plan.named)
            _draw_named(axes, closed, rows)
            if opened:
                axes.tick_params(labelleft=False, left=False)
                axes.spines["left"].set_visible(False)
        if not opened and not closed:
            axes = panel("empty", LEFT, plan.width - LEFT - RIGHT)
            axes.set(xticks=[], ylim=(0, 1.013))
            axes.text(0.5, 0.5, "no model has a portability that can be drawn", ha="center", transform=axes.transAxes)
        figure.axes[0].set_ylabel("Portability (worst / best engine)")
        words = {"ha": "left", "va": "top", "parse_math": False, "linespacing": 1.15}
        edge, title_pt = EDGE / plan.width, matplotlib.rcParams["figure.titlesize"]
        figure.text(edge, 1 - EDGE / plan.height, plan.title, **words, fontsize=title_pt, weight="bold")
        figure.text(edge, plan.notes_top / plan.height, plan.notes, **words, fontsize=SMALL)
        if plan.handles:
            box = {"loc": "upper left", "bbox_to_anchor": (edge, plan.legend_top / plan.height), "borderpad": 0}
            figure.legend(handles=plan.handles, ncols=plan.columns, handlelength=1, **box)
        return figure


FIGURES = {"portability": portability}  # name -> function(study table) -> HouseFigure


def save_figure(figure: Figure, numbers: pl.DataFrame, folder: str | Path, name: str) -> list[Path]:
    """Write folder/name.pdf, .png and .csv (the numbers shown), each whole or not at all; the three paths.

    The same figure gives the same bytes: no dates, no ids. ResultsError where name is not a plain file name.
    """
    folder = Path(folder)
    if name != Path(name).name or name in ("", ".."):
        raise ResultsError("not a plain file name", where=repr(name), hint="a figure's name has no folder in it")
    dateless = {"pdf": {"CreationDate": None, "ModDate": None}, "png": {"Software": None}}
    paths = []
    for kind in ("pdf", "png", "csv"):
        buffer = io.BytesIO()
        if kind == "csv":
            numbers.write_csv(buffer)
        else:
            with house():
                figure.savefig(buffer, format=kind, metadata=dateless[kind])
        paths.append(folder / f"{name}.{kind}")
        write_whole(paths[-1], buffer.getvalue())
    return paths


class _Layout(NamedTuple):
    """Where everything stands, inches from the lower left corner; sized and named are the panels' widths."""

    width: float
    height: float
    sized: float
    named: float
    bottom: float  # of the panels
    legend_top: float
    notes_top: float
    title: str
    notes: str
    handles: list[Line2D]
    columns: int


def _layout(opened: list[dict], closed: list[dict], rows: list[dict], width: str) -> _Layout:
    """Room for what must be read: the closed models' names, the legend, the notes; the panels' height is fixed."""
    names = list(dict.fromkeys(name_of(row) for row in closed))
    named = sized = 0.0
    if closed:
        title_width = text_width(_named_title(closed), matplotlib.rcParams["axes.titlesize"]) + 0.02
        named = max(SLOTS[width] * len({row["model"] for row in closed}) + 0.1, title_width)
    space = max(WIDTHS[width] - LEFT - RIGHT, named + (1.4 + GAP if opened else 0.0))
    if opened:
        sized = space - (named + GAP if closed else 0.0)
    else:
        named = space
    handles = _legend_handles(opened + closed)
    columns, legend_height = _legend_shape(handles, LEFT + (sized or space))
    names_height = 1.04 * max((text_width(name, SMALL) for name in names), default=0.0) + 0.1  # 4 %: hinting
    legend_below = 0.32 if opened else names_height + 0.05  # the panels: ticks and axis label, or the names
    title = wrap(portability_title(rows), LEFT + space - 3 * EDGE, matplotlib.rcParams["figure.titlesize"])
    notes = wrap(portability_notes(rows), LEFT + space - 3 * EDGE, SMALL)
    notes_top = 0.1 * len(notes) + 0.07
    bottom = notes_top + 0.03 + max(legend_below + legend_height + 0.04, names_height)
    height = bottom + HEIGHTS[width] + 0.14 * len(title) + 0.24
    lines = ("\n".join(title), "\n".join(notes))
    return _Layout(
        LEFT + space + RIGHT, height, sized, named, bottom, bottom - legend_below, notes_top, *lines, handles, columns
    )


def _draw_sized(axes: Axes, rows: list[dict], everything: list[dict]) -> None:
    sizes = sorted({row["params_b"] for row in rows})
    axes.set_xscale("log")
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)
    ticks = _size_ticks(sizes)
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
        cloud = [(x, row["portability"]) for x, row in points if _key(row) == key and row["regime"] == common]
        if len({x for x, _ in cloud}) >= CLOUD:
            shade_cloud(axes, cloud, to_hex(series.colour), top=1.0)
    spans = [(x, row["portability"], row["portability_low"], row["portability_high"]) for x, row in points]
    drawn = []
    for (x, row), shift in zip(points, dodge(axes, spans), strict=True):
        series = SERIES[_key(row)]
        look = {
            "color": to_hex(series.colour),
            "transform": axes.transData + ScaledTranslation(shift / 72, 0, axes.figure.dpi_scale_trans),
        }
        if row["portability_low"] is not None:
            axes.plot(
                [x, x], [row["portability_low"], row["portability_high"]], **look, linewidth=0.8, alpha=0.7, zorder=2
            )
        filling = _filling(row["regime"])
        (mark,) = axes.plot(
            [x],
            [row["portability"]],
            **look,
            **filling,
            marker=series.marker,
            markersize=series.size,
            linestyle="none",
            zorder=3,
            clip_on=False,
        )
        mark.set_gid(" | ".join((row["model"], *_key(row))))
        drawn.append((mark, row))
    return drawn


def _filling(regime: str) -> dict:
    edge = {"markeredgecolor": "#222222", "markeredgewidth": 0.5, "markerfacecoloralt": "white"}
    style = REGIMES.get(regime, "full")
    return edge | ({"markerfacecolor": "white", "markeredgewidth": 0.9} if style == "none" else {"fillstyle": style})


def _legend_handles(rows: list[dict]) -> list[Line2D]:
    keys, regimes = {_key(row) for row in rows}, {row["regime"] for row in rows}
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            color=to_hex(series.colour),
            marker=series.marker,
            markersize=series.size,
            label=series.label,
            **_filling("prompted"),
        )
        for key, series in SERIES.items()
        if key in keys
    ]
    if len(regimes) > 1:
        for regime in REGIMES:
            if regime in regimes:
                handles.append(
                    Line2D([], [], linestyle="none", color="#7F7F7F", marker="o", label=regime, **_filling(regime))
                )
    return handles


def _legend_shape(handles: list[Line2D], space: float) -> tuple[int, float]:
    """(columns, inches of height) of a legend that is no wider than space, in inches."""
    if not handles:
        return 1, 0.0
    size = matplotlib.rcParams["legend.fontsize"]
    widths = [text_width(str(handle.get_label()), size) + 2.4 * size / 72 for handle in handles]
    for columns in range(len(handles), 1, -1):  # matplotlib fills column after column, the longer ones first
        if sum(part.max() for part in np.array_split(widths, columns)) <= space:
            break
    else:
        columns = 1
    return columns, 0.125 * -(-len(handles) // columns)


def _size_ticks(sizes: list[float]) -> list[float]:
    """A few round sizes in billions within the axis; the sizes themselves where the range holds no round ones."""
    for steps in ((1, 3), (1, 2, 5)):
        round_ones = [step * 10.0**power for power in range(-3, 5) for step in steps]
        ticks = [tick for tick in round_ones if sizes[0] / 1.4 <= tick <= sizes[-1] * 1.4]
        if len(ticks) >= 3:
            return ticks
    ticks = sizes[:1]
    for size in sizes[1:]:
        if size / ticks[-1] > 1.15:  # closer ones would run into each other
            ticks.append(size)
    return ticks


def _key(row: dict) -> tuple[str, str]:
    return row["target"], row["mode"]
