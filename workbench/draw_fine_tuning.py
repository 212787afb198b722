"""Before and after fine-tuning, SQL beside plans (plans paper, figure 4).

In: the study table `portability` (portability.py, published.py). Out: a `HouseFigure`: a row of panels for each model that was
fine-tuned, accuracy on SQLite on the left, on the worst engine on the right.
"""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from workbench.captions import ENGINES, METRICS, counts, name_of, origins, title
from workbench.draw_bars import LABELS, LOOKS
from workbench.errors import ResultsError
from workbench.figure_rows import of_benchmark
from workbench.house import GAP, HEIGHTS, LEFT, RIGHT, SMALL, WIDTHS, HouseFigure, filling, house, new_page
from workbench.metrics import wilson_interval
from workbench.portability import HOME, SCHEMA

MEASURES = {HOME: "SQLite", "lower_bound": "Worst engine"}
APART = 0.1  # inches between the numbers beside a panel
HEAD, BELOW = 0.36, 0.22  # inches above a row of panels, for two lines, and below it
KEYS = ["base", "benchmark", "is_simulated", "target", "measure"]


def fine_tuning_numbers(frame: pl.DataFrame, benchmark: str | None = None) -> pl.DataFrame:
    """Accuracy before and after by base, target and measure (MEASURES), with Wilson's interval of each.

    A fine-tuned model's base is the prompted one of its name, else the one whose name its own begins with, the longest. What
    was not asked of the base is null. ResultsError where no model is fine-tuned.
    """
    frame = of_benchmark(frame, benchmark, list(SCHEMA), "fine-tuning figure").filter(pl.col("mode") != "as-written")
    tuned, prompted = (frame.filter(regime=regime) for regime in ("fine-tuned", "prompted"))
    if tuned.is_empty():
        raise ResultsError("no model of this run is fine-tuned", where="fine-tuning figure", hint="regime: fine-tuned")
    names = sorted(prompted["model"].unique(), key=len, reverse=True)
    bases = {
        model: next((name for name in names if model.startswith(name)), model) for model in tuned["model"].unique()
    }
    after = _long(tuned.with_columns(base=pl.col("model").replace_strict(bases)), "after")
    before = _long(prompted.with_columns(base=pl.col("model")), "before").drop("metric", "engines", "params_b")
    numbers = after.join(before, on=KEYS, how="left", maintain_order="left")
    source = tuned["source"][0] if "source" in tuned.columns else None
    return numbers.with_columns(source=pl.lit(source, pl.String)).sort(
        pl.col("params_b"),
        "base",
        pl.col("measure") != HOME,
        pl.col("target") != "sql",
        nulls_last=True,
        maintain_order=True,
    )


def fine_tuning(frame: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """A line from before to after per target, with its numbers and their intervals. ResultsError: no model is fine-tuned."""
    numbers = fine_tuning_numbers(frame, benchmark)
    rows = numbers.to_dicts()
    with house():
        parts = numbers.partition_by("base", "is_simulated", maintain_order=True)
        targets = [target for target in LOOKS if target in set(numbers["target"])]
        handles = [_mark([], [], target, label=LABELS[target]) for target in targets]
        across = (WIDTHS["column"] - LEFT - RIGHT - GAP) / 2
        tall = HEIGHTS["column"] * (0.9 if len(parts) < 3 else 0.7)
        height = len(parts) * (tall + HEAD + BELOW) - HEAD - BELOW
        page = new_page(numbers, title(rows, "fine-tuning"), _notes(rows), handles, panels=height + 0.12, below=BELOW)
        ends = [row[f"{when}{end}"] for row in rows for when in ("before", "after") for end in ("_low", "_high")]
        ends = [end for end in ends if end is not None]
        limits = (max(-0.06, min(ends) - 0.06), min(1.03, max(ends) + 0.04))  # room for a number at 0
        for place, part in enumerate(parts):
            y = height - tall - place * (tall + HEAD + BELOW)
            for column, (measure, words) in enumerate(MEASURES.items()):
                cells = part.filter(measure=measure).drop_nulls("after")
                if cells.is_empty():
                    continue
                axes = page.panel(f"{part['base'][0]} | {measure}", LEFT + column * (across + GAP), across, y, tall)
                axes.set_ylim(limits)
                _panel(axes, cells.to_dicts(), tall)
                axes.set_title(
                    f"{name_of({'model': part['base'][0]})}\n{words}" if not column else f"\n{words}", parse_math=False
                )
                if column:
                    axes.tick_params(labelleft=False, left=False)
                    axes.spines["left"].set_visible(False)
                else:
                    axes.set_ylabel("Accuracy (%)")
        return page.figure


def _long(frame: pl.DataFrame, when: str) -> pl.DataFrame:
    """A row per model, target and measure: `when` and its interval, n."""
    keys = ["base", "benchmark", "is_simulated", "target"]
    table = frame.unpivot(
        list(MEASURES),
        index=[*keys, "model", "metric", "engines", "params_b", "n"],
        variable_name="measure",
        value_name=when,
    )
    pairs = table.select(when, "n").rows()
    ends = [wilson_interval(round(share * n), n) if share is not None and n else (None, None) for share, n in pairs]
    low, high = (
        pl.Series(f"{when}_{name}", [pair[i] for pair in ends], pl.Float64) for i, name in enumerate(("low", "high"))
    )
    return table.with_columns(low, high).rename({"n": f"n_{when}", "model": f"model_{when}"})


def _mark(x: list, y: list, target: str, **more) -> Line2D:
    look = LOOKS[target]
    style = filling("prompted") | {"marker": look.marker, "markersize": look.size, "linewidth": 1.2}
    return Line2D(x, y, color=to_hex(look.colour), **style, **more)


def _panel(axes: Axes, rows: list[dict], tall: float) -> None:
    axes.set_xlim(-0.55, 1.55)
    axes.set_xticks([0, 1], ["before", "after"])
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    for row in rows:
        colour = to_hex(LOOKS[row["target"]].colour)
        there = [(x, when) for x, when in enumerate(("before", "after")) if row[when] is not None]
        line = _mark([x for x, _ in there], [row[when] for _, when in there], row["target"], clip_on=False, zorder=3)
        line.set_gid(f"{row['target']}")
        axes.add_line(line)
        for x, when in there:
            if row[f"{when}_low"] is not None:
                axes.plot(
                    [x, x], [row[f"{when}_low"], row[f"{when}_high"]], color=colour, linewidth=0.9, alpha=0.8, zorder=2
                )
    scale = tall / (axes.get_ylim()[1] - axes.get_ylim()[0])
    for x, when, side, shift in ((0, "before", "right", -0.13), (1, "after", "left", 0.13)):
        there = sorted((row for row in rows if row[when] is not None), key=lambda row: row[when])
        for row, y in zip(there, spread([row[when] for row in there], APART / scale), strict=True):
            axes.text(x + shift, y, f"{100 * row[when]:.1f}", fontsize=SMALL, ha=side, va="center")


def spread(values: list[float], gap: float) -> list[float]:
    """Sorted values moved apart as little as needed, so that each is gap above the one before."""
    groups: list[list[float]] = []
    for value in values:
        groups.append([value])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            last = groups.pop()
            groups[-1] += last
    return [_bottom(group, gap) + gap * place for group in groups for place in range(len(group))]


def _bottom(group: list[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: list[float], gap: float) -> float:
    return _bottom(group, gap) + gap * (len(group) - 1)


def _notes(rows: list[dict]) -> str:
    metric = METRICS.get(rows[0]["metric"], rows[0]["metric"])
    judged = [row[name] for row in rows for name in ("n_before", "n_after") if row[name]]
    engines = ", ".join(ENGINES.get(name, name) for name in rows[0]["engines"].split(", "))
    metric = f"{metric}. Worst of {engines}"
    notes = [f"{metric}. n = {counts(judged)} questions." if judged else f"{metric}."]
    notes += (
        ["Bars: 95 % Wilson intervals" + (" of the printed shares." if rows[0]["source"] else ".")] if judged else []
    )
    renamed = {(row["base"], row["model_after"]) for row in rows if row["base"] != row["model_after"]}
    notes += [f"After {name_of({'model': base})}: {name_of({'model': model})}." for base, model in sorted(renamed)]
    alone = sorted(
        {name_of({"model": row["model_after"]}) for row in rows if row["before"] is None and row["after"] is not None}
    )
    notes += [f"Not asked before in the same form: {', '.join(alone)}."] if alone else []
    return " ".join(notes + origins(rows))
