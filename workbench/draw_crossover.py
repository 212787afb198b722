"""Figures 3 and 7 of the plans paper: lower-bound accuracy against model size, and from which size on plans win.

In: the study tables `portability` and `crossover` (portability.py, crossover.py, published.py). Out: a `HouseFigure` with a
row of panels for real models and one for simulated ones.
"""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from workbench.captions import listed, measured, not_drawn, origins, simulated_note, title
from workbench.crossover import on_a_line
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
from workbench.draw_portability import portability_numbers
from workbench.errors import ResultsError
from workbench.house import GAP, HEIGHTS, LEFT, SERIES, SMALL, WIDTHS, HouseFigure, house, legend_handles, new_page
from workbench.marks import text_width

LINES = {"sql": ("sql", "native"), "plan": ("plan", "compiled")}  # whose colour each target's line has
FOUND = (
    "sql_models",
    "plan_models",
    "sql_slope",
    "sql_intercept",
    "plan_slope",
    "plan_intercept",
    "crossing_b",
    "low_b",
)
KEYS = ["run", "benchmark", "is_simulated"]
BETWEEN = 0.24  # inches above a row of panels, for its title
GREY = "#7F7F7F"


def crossover_numbers(frame: pl.DataFrame, crossings: pl.DataFrame, benchmark: str | None = None) -> pl.DataFrame:
    """The rows of `portability` that are drawn, with `panel`, `is_on_line` and the crossing of their group beside them.

    SQLite's SQL as written is left out where SQL was asked for natively. ResultsError as in `portability_numbers`, and where
    crossings, from `crossover.crossover`, lacks a group of rows.
    """
    numbers = portability_numbers(frame, benchmark, "lower_bound")
    native = numbers.filter(mode="native").select("run", "benchmark").unique()
    extra = numbers.filter(mode="as-written").join(native, on=["run", "benchmark"]).select("run", "model", "mode")
    numbers = numbers.join(extra.unique(), on=["run", "model", "mode"], how="anti", maintain_order="left")
    fitted = on_a_line(numbers).select("run", "model", "target", "mode", "regime", is_on_line=True)
    numbers = numbers.join(
        fitted.unique(), on=["run", "model", "target", "mode", "regime"], how="left", maintain_order="left"
    )
    beside = crossings.select(*KEYS, *FOUND, "high_b", "resamples", "no_crossing", crossing_reason="reason")
    missing = numbers.select(KEYS).unique().join(beside, on=KEYS, how="anti")
    if missing.height:
        raise ResultsError(
            f"no crossing of {missing['benchmark'][0]}", where="crossover figure", hint="study both again"
        )
    numbers = numbers.with_columns(pl.col("is_on_line").fill_null(False))
    return numbers.join(beside, on=KEYS, how="left", maintain_order="left")


def crossover(
    frame: pl.DataFrame, crossings: pl.DataFrame, benchmark: str | None = None, width: str = "column"
) -> HouseFigure:
    """Accuracy on the worst engine against size, a line per target through prompted open-weight models, and their crossing.

    Plans paper, figure 3 (BIRD) and figure 7 (Spider). Dashed: the crossing, shaded its interval over resampled models;
    where there is none the panel says so and the notes say why. Other regimes and closed models are drawn beside, and are
    on no line. Marks as in `draw_portability.portability`. ResultsError as in `crossover_numbers`.
    """
    if width not in WIDTHS:
        raise ResultsError(f"no width {width!r}", where="crossover figure", hint=f"available: {', '.join(WIDTHS)}")
    numbers = crossover_numbers(frame, crossings, benchmark)
    rows = numbers.to_dicts()
    drawn = [row for row in rows if row["panel"]]
    groups = [[row for row in drawn if row["is_simulated"] is flag] for flag in (False, True)]
    groups = [group for group in groups if group]
    with house():
        opened, closed = ([row for row in drawn if row["panel"] == panel] for panel in ("open", "closed"))
        sized, named = widths(opened, closed, width)
        space = sized + named + (GAP if opened and closed else 0.0)
        tall = HEIGHTS[width] * (1 if len(groups) < 2 else 0.8)
        belows = [max(0.32 if any(r["panel"] == "open" for r in group) else 0, _names(group)) for group in groups]
        between = sum(belows[:-1]) + BETWEEN * (len(groups) - 1)
        page = new_page(
            numbers,
            title(rows, "lower-bound accuracy"),
            _notes(rows, groups),
            [*legend_handles(drawn), *_line_handles(groups)],
            space=space,
            panels=tall * max(1, len(groups)) + between,
            below=0.32 if opened else (belows or [0.0])[-1],
            names=_names(groups[-1]) if groups else 0.0,
            legend_space=sized or space,
        )
        top = tall * len(groups) + between
        for place, group in enumerate(groups):
            bottom = top - tall
            _row_of_panels(page, group, (sized, named, bottom, tall), len(groups) > 1)
            top = bottom - belows[place] - BETWEEN
        if not groups:
            axes = page.panel("empty", LEFT, space)
            axes.set(xticks=[], yticks=[])
            axes.text(0.5, 0.5, "no model has a lower bound that can be drawn", ha="center", transform=axes.transAxes)
        return page.figure


def _names(group: list[dict]) -> float:
    closed = [row for row in group if row["panel"] == "closed"]
    return names_height(closed) + 0.05 if closed else 0.0


def _row_of_panels(page, group: list[dict], place: tuple[float, float, float, float], is_one_of_two: bool) -> None:
    sized, named, bottom, tall = place
    opened, closed = ([row for row in group if row["panel"] == panel] for panel in ("open", "closed"))
    start = ("Simulated: " if group[0]["is_simulated"] else "Real: ") if is_one_of_two else ""
    kind = " simulated" if group[0]["is_simulated"] and is_one_of_two else ""
    values = heights(group, "lower_bound")
    room = max(max(values) - min(values), 0.1)
    limits = (max(0.0, min(values) - 0.08 * room), max(values) + 0.24 * room)  # words about the crossing stand on top
    ticks = [
        tick
        for tick in MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(*limits)
        if limits[0] <= tick <= max(values) + 0.06 * room and abs(100 * tick - round(100 * tick)) < 1e-9
    ]
    for panel, rows in (("open", opened), ("closed", closed)):
        if not rows:
            continue
        x = LEFT + (sized + GAP if panel == "closed" and sized else 0.0)
        axes = page.panel(panel + kind, x, sized if panel == "open" else named, bottom, tall)
        axes.set_yticks(ticks)
        axes.set_ylim(limits)
        axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
        if panel == "open":
            axes.set_title(_capital(start + sized_title(rows)))
            _sizes(axes, rows)
        else:
            places = name_axis(axes, rows)
            axes.set_title(named_title(rows) if opened else _capital(start + named_title(rows)))
            draw_points(axes, [(places[row["model"]], row) for row in rows], "lower_bound")
        if panel == "closed" and opened:
            axes.tick_params(labelleft=False, left=False)
            axes.spines["left"].set_visible(False)
        else:
            axes.set_ylabel("Accuracy on worst engine (%)")


def _capital(words: str) -> str:
    head, colon, rest = words.partition(": ")
    return f"{head}{colon}{rest[0].lower()}{rest[1:]}" if colon else words


def _sizes(axes: Axes, rows: list[dict]) -> None:
    crossing = rows[0]["crossing_b"]
    size_axis(axes, sorted({row["params_b"] for row in rows} | ({crossing} if crossing else set())))
    drawn = draw_points(axes, [(row["params_b"], row) for row in rows], "lower_bound")
    lines = [_line(axes, rows, target, to_hex(SERIES[key].colour)) for target, key in LINES.items()]
    _crossing(axes, rows[0])
    name_points(axes, drawn, [line for line in lines if line])


def _line(axes: Axes, rows: list[dict], target: str, colour: str) -> Line2D | None:
    """Solid over the sizes that it goes through, dotted on to a crossing beyond them."""
    slope, intercept, crossing = (rows[0][name] for name in (f"{target}_slope", f"{target}_intercept", "crossing_b"))
    sizes = [row["params_b"] for row in rows if row["target"] == target and row["is_on_line"]]
    if slope is None or not sizes:
        return None
    at = pl.Series([min(sizes), max(sizes)])
    (line,) = axes.plot(
        at, intercept + slope * at.log10(), color=colour, linewidth=1.1, zorder=1.8, label=f"_line {target}"
    )
    end = max(sizes) if crossing and crossing > max(sizes) else min(sizes)
    if crossing and not min(sizes) <= crossing <= max(sizes):
        on = pl.Series([end, crossing])
        axes.plot(on, intercept + slope * on.log10(), color=colour, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.8)
    return line


def _crossing(axes: Axes, row: dict) -> None:
    """The crossing, its interval as far as the axis goes, and both in words."""
    words, crossing = crossing_words(row), row["crossing_b"]
    left, right = axes.get_xlim()
    if row["low_b"] is not None:
        axes.axvspan(
            max(row["low_b"], left), min(row["high_b"], right), color=GREY, alpha=0.14, linewidth=0, zorder=0.4
        )
    if crossing is not None:
        axes.axvline(
            crossing, ymax=0.88, color="#444444", linewidth=0.8, linestyle=(0, (3, 2)), zorder=1.2, label="_crossing"
        )
    scale = axes.transData + axes.transAxes.inverted()
    half = 0.52 * text_width(words, SMALL) / (axes.get_position().width * axes.figure.get_figwidth())
    at = scale.transform((crossing, 0))[0] if crossing is not None else 0.5
    at = min(max(at, half), max(1 - half, half))
    axes.text(at, 0.97, words, fontsize=SMALL, ha="center", va="top", transform=axes.transAxes, zorder=4)


def crossing_words(row: dict) -> str:
    """What is written at the crossing, or in its place."""
    if row["sql_slope"] is None:
        return "too few models for lines"
    if row["crossing_b"] is None:
        return "no crossing"
    if row["low_b"] is None:
        return f"cross at {billions(row['crossing_b'])}B, no interval"
    return f"cross at {billions(row['crossing_b'])}B ({billions(row['low_b'])} to {billions(row['high_b'])}B)"


def billions(size: float) -> str:
    return f"{size:,.0f}" if size >= 100 else f"{size:.3g}"


def _line_handles(groups: list[list[dict]]) -> list[Line2D]:
    found = [group[0] for group in groups]
    handles = []
    if any(row["sql_slope"] is not None for row in found):
        handles.append(Line2D([], [], color="#444444", linewidth=1.1, label="least squares"))
    if any(row["crossing_b"] is not None for row in found):
        handles.append(Line2D([], [], color="#444444", linewidth=0.8, linestyle=(0, (3, 2)), label="crossing"))
    return handles


def _notes(rows: list[dict], groups: list[list[dict]]) -> str:
    drawn = [row for row in rows if row["panel"]]
    notes = measured(drawn or rows)
    for group in groups:
        row, said = group[0], []
        if row["sql_slope"] is not None:
            sql, plan = row["sql_models"], row["plan_models"]
            models = f"{sql}" if sql == plan else f"{sql} (SQL) and {plan} (plans)"
            said.append(f"lines through {models} prompted open-weight models, on log size")
        if row["low_b"] is not None:
            missing = f", {100 * row['no_crossing']:.1f} % of them without a crossing" if row["no_crossing"] else ""
            said.append(f"shade: the crossing's 95 % interval, {row['resamples']:,} resamples of models{missing}")
        said += [row["crossing_reason"].removeprefix("no crossing: ")] if row["crossing_reason"] else []
        start = ("Simulated: " if row["is_simulated"] else "Real: ") if len(groups) > 1 else ""
        text = start + "; ".join(said) + "."
        notes.append(text[0].upper() + text[1:])
    beside = [row for row in drawn if not row["is_on_line"]]
    if beside and any(row["sql_slope"] is not None for row in drawn):
        kinds = {"closed" if row["panel"] == "closed" else row["regime"] for row in beside}
        notes.append(f"On no line: {listed(kinds)} models.")
    simulated = simulated_note(drawn) if len(groups) < 2 else []
    return " ".join(notes + origins(drawn) + simulated + not_drawn(rows))
