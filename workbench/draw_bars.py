"""Bars of one number a model: execution accuracy and HES-SQL's VES (HES-SQL, figures 4 and 6), and one model's error types.

In: the study tables `structure`, `efficiency` (difficulty.py) and `error_counts` (error_tables.py). Out: a `HouseFigure`.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import polars as pl
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from workbench.captions import DASH, counts, listed, name_of, simulated_note, title
from workbench.difficulty import ALL
from workbench.figure_rows import by_size, of_benchmark, one_engine
from workbench.house import LEFT, RIGHT, SERIES, SMALL, WIDTHS, HouseFigure, house, new_page
from workbench.marks import text_width

NARROWEST = 1.2  # inches of the panel: with long names the figure grows beyond a column
ROW, GROUP = 0.135, 0.06  # inches a bar has, and between models that have several
LOOKS = {"sql": SERIES["sql", "native"], "plan": SERIES["plan", "compiled"]}
HALO = [withStroke(linewidth=1.8, foreground="white")]  # a line shows on any bar, also in grey
STRUCTURE_COLOURS = {True: "C0", False: "C1"}  # of error types that are structural, and of semantic ones
LABELS = {"sql": "SQL", "plan": "Query plan"}


class Measure(NamedTuple):
    column: str  # its interval is in column_low and column_high
    n: str  # the column of its denominator
    words: str  # what it is, for the title
    axis: str
    scale: float  # 100 where percent are shown
    decimals: int
    top: float | None  # end of the axis; None: where the numbers end
    interval: str
    note: str
    unit: str = "questions"  # what n counts


WILSON, BOOTSTRAP = (
    "95 % Wilson intervals",
    "95 % bootstrap intervals, over databases where there are 10, else questions",
)
EX = Measure("ex", "judged", "execution accuracy", "Execution accuracy (%)", 100, 1, 100, WILSON, "By BIRD's rule.")
VES = Measure(
    "hes_ves", "n", "VES", "VES", 1, 3, None, BOOTSTRAP,
    "HES-SQL's VES: the root of gold's mean time over the prediction's, not capped, 0 where wrong; 1 (dashed) is all right, as fast as gold.",
    "pairs",
)  # fmt: skip


def accuracy(structure: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Execution accuracy of each model with its interval (HES-SQL, figure 4). ResultsError: nothing to draw."""
    return _models(structure, benchmark, EX)


def ves(efficiency: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """HES-SQL's valid efficiency score of each model (HES-SQL, figure 6), over engines the mean of their means."""
    return _models(efficiency, benchmark, VES)


def model_numbers(frame: pl.DataFrame, benchmark: str | None, measure: Measure) -> tuple[pl.DataFrame, str]:
    """The rows of all grades together that are drawn, in order, and where they ran, in words."""
    needed = ("engine", "grade", "n", measure.column, f"{measure.column}_low", f"{measure.column}_high")
    rows = of_benchmark(frame, benchmark, needed, "figure of models").filter(grade=ALL)
    rows, engine = one_engine(rows)
    rows = rows.drop("jaccard_cdf", strict=False)
    return pl.DataFrame(by_size(rows.to_dicts()), schema=rows.schema), engine


def _models(frame: pl.DataFrame, benchmark: str | None, measure: Measure) -> HouseFigure:
    numbers, engine = model_numbers(frame, benchmark, measure)
    rows = numbers.to_dicts()
    groups = [(name_of(group[0]), group) for group in (list(g) for _, g in groupby(rows, lambda row: row["model"]))]
    drawn = [row for row in rows if row[measure.column] is not None]
    panel = engine + (f", n = {counts([row[measure.n] for row in drawn])} {measure.unit}" if drawn else "")
    notes = [measure.note]
    has_interval = any(row[f"{measure.column}_low"] is not None for row in drawn)
    notes.append(f"Lines: {measure.interval}." if has_interval else "No intervals.")
    untimed = sum(row.get("untimed") or 0 for row in drawn) if measure is VES else 0
    notes += [f"{untimed} right answers were not timed and are left out."] if untimed else []
    absent = {name_of(row) for row in rows if row not in drawn}
    notes += [f"No value: {listed(absent)}."] if absent else []
    notes += simulated_note(rows)
    targets = [target for target in LOOKS if any(row["target"] == target for row in rows)]
    with house():
        handles = [Patch(color=to_hex(LOOKS[target].colour), label=LABELS[target]) for target in targets]
        words = (title(rows, measure.words), panel, " ".join(notes))
        return draw_bars(numbers, groups, words, handles if len(targets) > 1 else (), measure)


def draw_bars(
    numbers: pl.DataFrame,
    groups: Sequence[tuple[str, list[dict]]],
    words: tuple[str, str, str],
    handles: Sequence,
    measure: Measure,
) -> HouseFigure:
    """Groups of bars from the top down, each with its name on the left and its number on the right. Within `house()`.

    words: title, the panel's own title, notes.
    """
    heading, panel, notes = words
    names = max(text_width(name, rcParams["ytick.labelsize"]) for name, _ in groups) * 1.04 + 0.12
    values = 0.3
    gap = GROUP if any(len(rows) > 1 for _, rows in groups) else 0.0
    height = sum(ROW * len(rows) + gap for _, rows in groups) + 0.08
    title_width = text_width(panel, rcParams["axes.titlesize"]) * 1.04 - values
    across = max(WIDTHS["column"] - names - values - RIGHT, title_width, NARROWEST)
    page = new_page(numbers, heading, notes, handles, space=names + across + values - LEFT, panels=height)
    axes = page.panel("bars", names, across)
    axes.set_title(panel)
    axes.set_ylim(height, 0)  # inches from the top
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", visible=True)
    axes.set_xlabel(measure.axis, labelpad=2)
    at, ticks = 0.04, []
    ends = [1.0]  # the least that the axis shows
    for _, rows in groups:
        for i, row in enumerate(rows):
            found = (row[measure.column], row.get(f"{measure.column}_high"))
            ends += [value * measure.scale for value in found if value is not None]
            _bar(axes, at + gap / 2 + ROW * (i + 0.5), row, measure)
        ticks.append(at + gap / 2 + ROW * len(rows) / 2)
        at += gap + ROW * len(rows)
    axes.set_xlim(0, measure.top or max(ends) * 1.03)
    axes.set_yticks(ticks, [name for name, _ in groups], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    if measure is VES:
        axes.axvline(1, color="#9A9A9A", linewidth=0.6, linestyle=(0, (3, 2)), zorder=1)
    return page.figure


def _colour(row: dict) -> str:
    if "is_structural" in row:
        return STRUCTURE_COLOURS[row["is_structural"]]
    return LOOKS[row["target"]].colour


def _bar(axes: Axes, y: float, row: dict, measure: Measure) -> None:
    value, low, high = (row.get(f"{measure.column}{end}") for end in ("", "_low", "_high"))
    shown = DASH if value is None else f"{value * measure.scale:.{measure.decimals}f}"
    outside = axes.get_yaxis_transform()
    axes.text(1.03, y, shown, fontsize=SMALL, va="center_baseline", ha="left", transform=outside)
    if value is None:
        return
    (bar,) = axes.barh(y, value * measure.scale, height=ROW * 0.78, color=to_hex(_colour(row)))
    bar.set_gid(f"{row['model']} | {row['target']}" + (f" | {row['name']}" if "name" in row else ""))
    if low is not None:
        ends = [low * measure.scale, high * measure.scale]
        axes.plot(ends, [y, y], color="#222222", linewidth=0.8, zorder=3, path_effects=HALO)
