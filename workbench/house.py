"""The house every figure lives in: its style, sizes, marks, where title, legend and notes stand, and how it is saved.

Out: `HouseFigure`, whose `.numbers` is the table that was drawn, laid out by `new_page`; `save_figure` writes a pdf, a png and
those numbers as csv. Looks live in house.mplstyle. No screen is needed and matplotlib's global settings are left as they were.
"""

import io
from collections.abc import Sequence
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

from workbench.errors import ResultsError
from workbench.marks import text_width, wrap
from workbench.results import write_whole

STYLE = Path(__file__).with_name("house.mplstyle")
WIDTHS = {"column": 3.4, "page": 7.0}  # inches, as most journals have them
HEIGHTS = {"column": 1.85, "page": 2.6}  # inches of the panels alone; title, legend and notes come on top
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


class Page(NamedTuple):
    """A figure whose words stand; panels go where `panel` puts them. Inches, from the lower left corner."""

    figure: HouseFigure
    width: float
    height: float
    bottom: float  # of the panels
    panels: float  # their height

    def panel(self, label: str, x: float, across: float, y: float = 0.0, height: float | None = None) -> Axes:
        """Axes `across` inches wide at x, y inches above the panels' bottom, as high as the panels unless told."""
        box = (x, self.bottom + y, across, self.panels if height is None else height)
        scale = (self.width, self.height, self.width, self.height)
        return self.figure.add_axes([a / b for a, b in zip(box, scale, strict=True)], label=label)


def new_page(
    numbers: pl.DataFrame,
    title: str,
    notes: str,
    handles: Sequence[Line2D] = (),
    *,
    space: float = WIDTHS["column"] - LEFT - RIGHT,
    panels: float = HEIGHTS["column"],
    below: float = 0.32,
    names: float = 0.0,
    legend_space: float | None = None,
) -> Page:
    """A figure with its title above, room for panels of space x panels inches, and legend and notes below.

    Call it within `house()`. below: inches under the panels for ticks and axis label, before the legend; names: inches that
    long tick labels take where they may stand beside the legend; legend_space: the legend's width where it is less than all.
    """
    columns, legend_height = _legend_shape(handles, LEFT + (space if legend_space is None else legend_space))
    title_pt = matplotlib.rcParams["figure.titlesize"]
    title_lines = wrap(title, LEFT + space - 3 * EDGE, title_pt, "bold")
    note_lines = wrap(notes, 0.985 * (LEFT + space) - 3 * EDGE, SMALL)  # 1.5 %: hinting
    notes_top = 0.1 * len(note_lines) + 0.07
    bottom = notes_top + 0.03 + max(below + legend_height + 0.04, names)
    width, height = LEFT + space + RIGHT, bottom + panels + 0.14 * len(title_lines) + 0.24
    figure = HouseFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    figure.numbers = numbers
    words = {"ha": "left", "va": "top", "parse_math": False, "linespacing": 1.15}
    edge = EDGE / width
    figure.text(edge, 1 - EDGE / height, "\n".join(title_lines), **words, fontsize=title_pt, weight="bold")
    figure.text(edge, notes_top / height, "\n".join(note_lines), **words, fontsize=SMALL)
    if handles:
        box = {"loc": "upper left", "bbox_to_anchor": (edge, (bottom - below) / height), "borderpad": 0}
        legend = figure.legend(handles=list(handles), ncols=columns, handlelength=1, **box)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return Page(figure, width, height, bottom, panels)


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


def filling(regime: str) -> dict:
    edge = {"markeredgecolor": "#222222", "markeredgewidth": 0.5, "markerfacecoloralt": "white"}
    style = REGIMES.get(regime, "full")
    return edge | ({"markerfacecolor": "white", "markeredgewidth": 0.9} if style == "none" else {"fillstyle": style})


def legend_handles(rows: list[dict]) -> list[Line2D]:
    keys, regimes = {key_of(row) for row in rows}, {row["regime"] for row in rows}
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            color=to_hex(series.colour),
            marker=series.marker,
            markersize=series.size,
            label=series.label,
            **filling("prompted"),
        )
        for key, series in SERIES.items()
        if key in keys
    ]
    if len(regimes) > 1:
        for regime in REGIMES:
            if regime in regimes:
                handles.append(
                    Line2D([], [], linestyle="none", color="#7F7F7F", marker="o", label=regime, **filling(regime))
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


def size_ticks(sizes: list[float]) -> list[float]:
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


def key_of(row: dict) -> tuple[str, str]:
    return row["target"], row["mode"]
