"""Numbers of many models by grade of difficulty (HES-SQL, figures 7 to 9) or by type of error (figure 10), as heat maps.

In: the study tables `structure`, `efficiency` (difficulty.py) and `error_counts` (error_tables.py). Out: a `HouseFigure` whose
cells hold their numbers and, below them, the 95 % interval, so that it can be read without colours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.patches import Patch

from workbench.captions import DASH, METRICS, counts, name_of, simulated_note, title
from workbench.difficulty import ALL, GRADES
from workbench.draw_bars import BOOTSTRAP, EX, STRUCTURE_COLOURS, VES, WILSON, Measure, draw_bars
from workbench.errors import ResultsError
from workbench.figure_rows import labels_of, of_benchmark, one_engine, place_of
from workbench.house import LEFT, RIGHT, SMALL, WIDTHS, HouseFigure, house, new_page
from workbench.labels import ERROR_TYPES
from workbench.marks import text_width
from workbench.metrics import wilson_interval

CELL, LOW_CELL, MANY = 0.26, 0.24, 24  # inches a row is high, and is where there are more than MANY
SPAN = 0.2  # least part of the scale that the shades run over, so that noise is not made a pattern
JACCARD = Measure("jaccard", "n", "Jaccard index of skeletons", "Jaccard index", 1, 2, 1, BOOTSTRAP, "")
ERRORS = Measure("share", "errors", "types of error", "Share of errors (%)", 100, 0, None, WILSON, "")
GROUPS = {True: "Structural", False: "Semantic"}  # by is_structural


class Column(NamedTuple):
    key: str
    head: str  # one or two lines
    group: str = ""


def accuracy_by_difficulty(structure: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Execution accuracy by the question's difficulty (HES-SQL, figure 7). ResultsError: nothing to draw."""
    return _by_grade(structure, benchmark, EX)


def jaccard_by_difficulty(structure: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Mean Jaccard index of the skeletons by difficulty (HES-SQL, figure 8)."""
    return _by_grade(structure, benchmark, JACCARD)


def ves_by_difficulty(efficiency: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """HES-SQL's VES by difficulty (HES-SQL, figure 9)."""
    return _by_grade(efficiency, benchmark, VES)


def error_types(error_counts: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Shares of the eight types among a model's errors: bars for one model (HES-SQL, figure 1), else a heat map (figure 10)."""
    needed = ("engine", "metric", "scheme", "name", "n", "share", "errors", "unsorted")
    frame = of_benchmark(error_counts, benchmark, needed, "figure of error types")
    frame, engine = one_engine(frame.filter(scheme="type"))
    numbers = _with_interval(frame)
    rows = _rows(numbers)
    if not numbers["errors"].sum():
        raise ResultsError("nothing to draw: no prediction is wrong", where="figure of error types")
    lost = sum(row["unsorted"] for row in numbers.unique(["model", "target"]).iter_rows(named=True))
    metric = METRICS.get(numbers["metric"][0], numbers["metric"][0])
    notes = [f"{engine}; percent of what is wrong by {metric}, n = {counts([cells[0]['errors'] for cells in rows])}."]
    notes += ["Darker is more."] if len(rows) > 1 else []
    notes += [f"{lost} errors without a type left out."] if lost else []
    notes += [f"Below each share its {WILSON.removesuffix('s')}." if len(rows) > 1 else f"Lines: {WILSON}."]
    notes += ["Table and attribute errors are those of schema linking.", *simulated_note([r[0] for r in rows])]
    heading = title([cells[0] for cells in rows], ERRORS.words)
    flags = dict(numbers.select("name", "is_structural").unique().rows())
    names = sorted((name for name in ERROR_TYPES if name in flags), key=lambda name: not flags[name])
    with house():
        if len(rows) == 1:
            by_name = {row["name"]: row for row in rows[0]}
            groups = [(name.capitalize(), [by_name[name]]) for name in names]
            words = (heading, name_of(rows[0][0]), " ".join(notes))
            handles = [Patch(color=to_hex(STRUCTURE_COLOURS[is_first]), label=GROUPS[is_first]) for is_first in GROUPS]
            return draw_bars(numbers, groups, words, handles, ERRORS)
        columns = [Column(name, name.capitalize(), GROUPS[flags[name]]) for name in names]
        cells = [{row["name"]: row for row in group} for group in rows]
        return _heat_map(numbers, cells, columns, (heading, " ".join(notes)), ERRORS)


def _with_interval(frame: pl.DataFrame) -> pl.DataFrame:
    named = frame["errors"] - frame["unsorted"]
    ends = [wilson_interval(n, of) if of else (None, None) for n, of in zip(frame["n"], named, strict=True)]
    columns = {
        f"share_{end}": pl.Series([pair[i] for pair in ends], dtype=pl.Float64) for i, end in ((0, "low"), (1, "high"))
    }
    return frame.with_columns(**columns)


def _rows(frame: pl.DataFrame) -> list[list[dict]]:
    """The cells of each model and target, in the order of models."""
    groups = [part.to_dicts() for part in frame.partition_by("model", "target", maintain_order=True)]
    return sorted(groups, key=lambda cells: (*place_of(cells[0]), cells[0]["target"] != "sql"))


def _by_grade(frame: pl.DataFrame, benchmark: str | None, measure: Measure) -> HouseFigure:
    needed = ("engine", "grade", "n", measure.column, f"{measure.column}_low", f"{measure.column}_high")
    frame, engine = one_engine(of_benchmark(frame, benchmark, needed, "figure by difficulty"))
    numbers = frame.drop("jaccard_cdf", strict=False)
    rows = _rows(numbers)
    there = set(numbers["grade"])
    grades = [grade for grade in GRADES if grade in there] + sorted(there - set(GRADES))
    columns = []
    for grade in grades:
        n = [cell[measure.n] for cells in rows for cell in cells if cell["grade"] == grade]
        columns.append(Column(grade, f"{grade.capitalize()}\nn = {counts(n)}"))
    heading = title([cells[0] for cells in rows], f"{measure.words} by difficulty")
    has_interval = numbers[f"{measure.column}_low"].null_count() < numbers.height
    notes = [f"{engine}. {measure.note.replace(' (dashed)', '')}".strip()]
    notes += ["Percent." if measure.scale == 100 else "", "Darker is higher."]
    notes += [f"Below each number its {measure.interval.replace('intervals', 'interval', 1)}." if has_interval else ""]
    graded = sum(cell["n"] for cell in rows[0] if cell["grade"] != ALL)
    ungraded = next((cell["n"] for cell in rows[0] if cell["grade"] == ALL), graded) - graded
    notes += [f"All: with {ungraded} questions that have no grade."] if ungraded else []
    notes += simulated_note([cells[0] for cells in rows])
    with house():
        cells = [{cell["grade"]: cell for cell in group} for group in rows]
        return _heat_map(numbers, cells, columns, (heading, " ".join(filter(None, notes))), measure)


def _heat_map(
    numbers: pl.DataFrame,
    rows: Sequence[dict[str, dict]],
    columns: Sequence[Column],
    words: tuple[str, str],
    measure: Measure,
) -> HouseFigure:
    """A cell for each row and column, dark where the number is high. Within `house()`."""
    labels = labels_of([next(iter(cells.values())) for cells in rows])
    names = max(text_width(label, rcParams["ytick.labelsize"]) for label in labels) * 1.04 + 0.1
    shown = {
        (i, column.key): _words(cells.get(column.key), measure) for i, cells in enumerate(rows) for column in columns
    }
    texts = [text for pair in shown.values() for text in pair] + [part for c in columns for part in c.head.split("\n")]
    across = max(
        (WIDTHS["column"] - names - RIGHT) / len(columns),
        max(text_width(text, SMALL + 0.5) for text in texts) * 1.04 + 0.07,
    )
    heads = (
        0.12 * max(column.head.count("\n") + 1 for column in columns)
        + (0.13 if any(c.group for c in columns) else 0)
        - 0.1
    )
    height = (CELL if len(rows) <= MANY else LOW_CELL) * len(rows)
    space = names + across * len(columns) - LEFT
    page = new_page(numbers, *words, space=space, panels=height + heads, below=0.02)
    axes = page.panel("cells", names, across * len(columns), height=height)
    values = [[_value(cells.get(column.key), measure) for column in columns] for cells in rows]
    found = [value for line in values for value in line if value is not None]
    low, high = _shades(found, measure)
    ramp = LinearSegmentedColormap.from_list("house", ["#F3F6FA", to_hex("C0")])
    for i, line in enumerate(values):
        for j, value in enumerate(line):
            shade = None if value is None else (value - low) / (high - low)
            colour = "white" if shade is None else ramp(shade)
            _cell(axes, i, j, colour, shown[i, columns[j].key], is_dark=shade is not None and shade > 0.6)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    axes.set_yticks([i + 0.5 for i in range(len(rows))], labels, parse_math=False)
    axes.set_xticks([j + 0.5 for j in range(len(columns))], [column.head for column in columns], fontsize=SMALL + 0.5)
    axes.tick_params(length=0, labeltop=True, labelbottom=False, top=False, bottom=False, pad=2)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    _groups(axes, columns, heads + 0.1, height)
    return page.figure


def _shades(found: Sequence[float], measure: Measure) -> tuple[float, float]:
    """The numbers that are lightest and darkest: the lowest and highest, where they are not close."""
    low, high = min(found, default=0.0), max(found, default=1.0)
    least = SPAN * (measure.top or measure.scale) / measure.scale
    return (low, high) if high - low >= least else (max(0.0, high - least), max(high, least))


def _value(cell: dict | None, measure: Measure) -> float | None:
    return cell and cell[measure.column]


def _words(cell: dict | None, measure: Measure) -> tuple[str, str]:
    """A cell's number and its interval, shortened so that it fits; a dash where there is none."""
    if cell is None or cell[measure.column] is None:
        return DASH, ""
    decimals = 2 if measure.scale == 1 else 0
    ends = (cell[f"{measure.column}_low"], cell[f"{measure.column}_high"])
    shown = [f"{end * measure.scale:.{decimals}f}" for end in ends if end is not None]
    short = [end.removeprefix("0") if decimals else end for end in shown]
    return f"{cell[measure.column] * measure.scale:.{measure.decimals}f}", DASH.join(short)


def _cell(axes: Axes, i: int, j: int, colour: object, words: tuple[str, str], is_dark: bool) -> None:
    axes.fill([j, j + 1, j + 1, j], [i, i, i + 1, i + 1], color=colour, edgecolor="white", linewidth=0.8)
    ink = {"color": "white" if is_dark else "#222222", "ha": "center", "va": "center_baseline"}
    axes.text(j + 0.5, i + (0.32 if words[1] else 0.52), words[0], fontsize=SMALL + 1, **ink)
    if words[1]:
        axes.text(j + 0.5, i + 0.74, words[1], fontsize=SMALL, **ink)


def _groups(axes: Axes, columns: Sequence[Column], heads: float, height: float) -> None:
    """Names over columns that belong together."""
    for group in dict.fromkeys(column.group for column in columns if column.group):
        where = [j for j, column in enumerate(columns) if column.group == group]
        y = 1 + (heads - 0.1) / height
        ends = [where[0] + 0.06, where[-1] + 0.94]
        axes.plot(ends, [y, y], transform=axes.get_xaxis_transform(), color="#7F7F7F", linewidth=0.6, clip_on=False)
        axes.text(
            sum(ends) / 2,
            y + 0.02 / height,
            group,
            fontsize=SMALL + 0.5,
            ha="center",
            va="bottom",
            transform=axes.get_xaxis_transform(),
        )
