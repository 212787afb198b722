"""Errors by category, SQL beside plans (plans paper, figure 5): the strongest models pooled, or each model.

In: the study table `error_counts` (error_tables.py). Out: a `HouseFigure`.
"""

from typing import NamedTuple

import polars as pl
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Patch

from workbench.captions import CATEGORIES, METRICS, listed, name_of, simulated_note, title
from workbench.draw_bars import HALO, LABELS, LOOKS
from workbench.errors import ResultsError
from workbench.figure_rows import of_benchmark, one_engine, place_of
from workbench.house import GAP, LEFT, RIGHT, SMALL, WIDTHS, HouseFigure, house, new_page
from workbench.marks import text_width
from workbench.metrics import wilson_interval

STRONGEST = 5  # models that are pooled (plans paper, figure 5a)
BAR, ROW, HEAD = 0.088, 0.22, 0.34  # inches: a bar, a category with its two, a panel's title and n
ACROSS = 4  # panels side by side on a page, where their words fit
PANEL_KEYS = ["panel", "regime", "is_simulated", "models"]


class Panel(NamedTuple):
    name: str
    rows: list[dict]  # a row per target and category


def pooled_numbers(frame: pl.DataFrame, benchmark: str | None = None) -> tuple[pl.DataFrame, str]:
    """Counts of the strongest prompted models together and of each fine-tuned one, and where they ran, in words.

    The strongest: up to STRONGEST models asked for both targets, or any prompted or imported ones where none was, that are
    right most often over both; only those judged on half as many questions as the most count. Simulated ones apart.
    Columns: panel, models (how many, and which), regime, is_simulated, target, name, n, low, high (Wilson's interval), errors,
    judged, unsorted.
    """
    frame, engine = _categories(frame, benchmark)
    parts = []
    for is_simulated in (False, True):
        group = frame.filter(pl.col("regime").is_in(["prompted", "imported"]), is_simulated=is_simulated)
        strongest = _strongest(group)
        if strongest:
            kind = "simulated" if is_simulated else "prompted"
            name = f"{len(strongest)} strongest {kind}" if len(strongest) > 1 else strongest[0]
            parts.append(_pool(group.filter(pl.col("model").is_in(strongest)), name))
    tuned = frame.filter(pl.col("regime") == "fine-tuned").sort("params_b", "model", nulls_last=True)
    parts += [_pool(part, part["model"][0]) for part in tuned.partition_by("model", maintain_order=True)]
    if not parts:
        raise ResultsError(
            "no prompted or fine-tuned model", where="figure of error categories", hint="errors_by_model"
        )
    return _with_interval(pl.concat(parts)), engine


def model_numbers(frame: pl.DataFrame, benchmark: str | None = None) -> tuple[pl.DataFrame, str]:
    """The same of each model."""
    frame, engine = _categories(frame, benchmark)
    parts = frame.partition_by("model", "regime", maintain_order=True)
    parts.sort(key=lambda part: place_of(part.row(0, named=True)))
    regimes = frame.select("model", "regime").unique()["model"]
    is_twice = {name for name in regimes if (regimes == name).sum() > 1}
    named = [(part, part["model"][0]) for part in parts]
    names = [f"{name}, {part['regime'][0]}" if name in is_twice else name for part, name in named]
    return _with_interval(pl.concat([_pool(part, name) for (part, _), name in zip(named, names, strict=True)])), engine


def errors_by_category(frame: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Plans paper, figure 5: error counts by category, the strongest models pooled (a), fine-tuned ones (b).

    Plans beside SQL; lines are Wilson's intervals. ResultsError: nothing to draw.
    """
    numbers, engine = pooled_numbers(frame, benchmark)
    return _panels(numbers, f"{engine}.", is_one_scale=False)


def errors_by_model(frame: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """The same of every model, a panel each, on one scale."""
    numbers, engine = model_numbers(frame, benchmark)
    return _panels(numbers, f"{engine}.", is_one_scale=True)


def _categories(frame: pl.DataFrame, benchmark: str | None) -> tuple[pl.DataFrame, str]:
    needed = ("model", "regime", "target", "engine", "scheme", "name", "n", "errors", "judged", "unsorted")
    frame = of_benchmark(frame, benchmark, needed, "figure of error categories").filter(scheme="category")
    if frame.is_empty():
        raise ResultsError("nothing to draw: no error has a category", where="figure of error categories")
    return one_engine(frame)


def _strongest(group: pl.DataFrame) -> list[str]:
    """Names, the best first."""
    totals = group.unique(["model", "target"]).group_by("model").agg(
        pl.col("target").n_unique().alias("targets"),
        right=1 - pl.col("errors").sum() / pl.col("judged").sum(),
        least=pl.col("judged").min(),
    )  # fmt: skip
    both = totals.filter(pl.col("targets") == 2)
    totals = both if both.height else totals
    enough = totals.filter(2 * pl.col("least") >= pl.col("least").max())
    return enough.sort("right", "model", descending=[True, False]).head(STRONGEST)["model"].to_list()


def _pool(part: pl.DataFrame, name: str) -> pl.DataFrame:
    totals = [pl.col(column).sum() for column in ("n", "errors", "judged", "unsorted")]
    pooled = part.group_by("benchmark", "metric", "engine", "target", "name", maintain_order=True).agg(
        pl.col("regime", "is_simulated").first(), *totals, models=pl.col("model").unique(maintain_order=True).sort()
    )
    return pooled.with_columns(panel=pl.lit(name), models=pl.col("models").list.join("; "))


def _with_interval(frame: pl.DataFrame) -> pl.DataFrame:
    """low and high: Wilson's interval of n / judged, as counts of judged."""
    pairs = frame.select("n", "judged").rows()
    ends = [tuple(judged * end for end in wilson_interval(n, judged)) for n, judged in pairs]
    low, high = (pl.Series(name, [pair[i] for pair in ends]) for i, name in enumerate(("low", "high")))
    columns = [
        "benchmark",
        "metric",
        "engine",
        *PANEL_KEYS,
        "target",
        "name",
        "n",
        "low",
        "high",
        "errors",
        "judged",
        "unsorted",
    ]
    return frame.with_columns(low, high).select(columns)


def _panels(numbers: pl.DataFrame, engine: str, is_one_scale: bool) -> HouseFigure:
    """A grid of panels, one a name: categories from the top down, a bar per target."""
    panels = [
        Panel(part["panel"][0], part.to_dicts()) for part in numbers.partition_by(PANEL_KEYS, maintain_order=True)
    ]
    rows = numbers.to_dicts()
    targets = [target for target in LOOKS if any(row["target"] == target for row in rows)]
    with house():
        names = max(text_width(word, rcParams["ytick.labelsize"]) for word in CATEGORIES.values()) * 1.04 + 0.1
        room = WIDTHS["column" if len(panels) == 1 else "page"] - names - RIGHT
        columns = min(ACROSS, len(panels))
        words = max(
            max(text_width(_heading(panel), rcParams["axes.titlesize"]), text_width(_wrong(panel), SMALL))
            for panel in panels
        )
        while columns > 1 and (room - GAP * (columns - 1)) / columns < 1.04 * words:
            columns -= 1
        lines = -(-len(panels) // columns)
        across = (room - GAP * (columns - 1)) / columns
        tall = ROW * len(CATEGORIES)
        handles = [Patch(color=to_hex(LOOKS[target].colour), label=LABELS[target]) for target in targets]
        heading = title(rows, "errors by category")
        height = (tall + HEAD) * lines - HEAD + 0.1
        page = new_page(numbers, heading, _notes(numbers, engine), handles, space=room + names - LEFT, panels=height)
        top = max(row["high"] for row in rows)
        for place, panel in enumerate(panels):
            line, column = divmod(place, columns)
            y = height - 0.1 - tall - line * (tall + HEAD)
            axes = page.panel(f"{place}", names + column * (across + GAP), across, y, tall)
            end = top if is_one_scale else max(row["high"] for row in panel.rows)
            _panel(axes, panel, end, across, is_named=column == 0, is_last=place + columns >= len(panels))
        return page.figure


def _panel(axes: Axes, panel: Panel, end: float, across: float, is_named: bool, is_last: bool) -> None:
    targets = [target for target in ("plan", "sql") if any(row["target"] == target for row in panel.rows)]
    places = {name: place for place, name in enumerate(CATEGORIES)}
    axes.set_ylim(len(places) - 0.5, -0.5)
    axes.set_xlim(0, end * across / max(across - 0.3, 0.3))  # 0.3 inches for the numbers
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", visible=True)
    axes.set_yticks(range(len(places)), CATEGORIES.values() if is_named else [])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(_counting(across))
    axes.tick_params(labelbottom=is_last)
    if is_last:
        axes.set_xlabel("Errors", labelpad=2)
    axes.text(0, 1.0, _wrong(panel), transform=axes.transAxes, fontsize=SMALL, va="bottom", parse_math=False)
    axes.set_title(_heading(panel), pad=9, parse_math=False)
    for row in panel.rows:
        shift = (targets[::-1].index(row["target"]) - (len(targets) - 1) / 2) * BAR / ROW
        y = places[row["name"]] + shift
        (bar,) = axes.barh(y, row["n"], height=0.92 * BAR / ROW, color=to_hex(LOOKS[row["target"]].colour))
        bar.set_gid(f"{panel.name} | {row['target']} | {row['name']}")
        axes.plot([row["low"], row["high"]], [y, y], color="#222222", linewidth=0.7, path_effects=HALO, zorder=3)
        gap = 0.03 * axes.get_xlim()[1]
        axes.text(row["high"] + gap, y, f"{row['n']:,}", fontsize=SMALL, va="center_baseline", parse_math=False)


def _heading(panel: Panel) -> str:
    return name_of({"model": panel.name})


def _wrong(panel: Panel) -> str:
    """How many predictions are wrong, of how many."""
    totals = {row["target"]: (row["errors"], row["judged"]) for row in panel.rows}
    words = {"sql": "SQL", "plan": "plans"}
    there = [target for target in words if target in totals]
    if len({judged for _, judged in totals.values()}) == 1:
        return ", ".join(f"{words[target]} {totals[target][0]:,}" for target in there) + f" of {totals[there[0]][1]:,}"
    return ", ".join("{} {:,} of {:,}".format(words[target], *totals[target]) for target in there)


def _counting(across: float):
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(max(2, int(across / 0.3)), integer=True, steps=[1, 2, 5, 10])


def _notes(numbers: pl.DataFrame, engine: str) -> str:
    rows = numbers.to_dicts()
    notes = [
        f"{METRICS.get(rows[0]['metric'], rows[0]['metric'])}. {engine} Below each name: how many of how many are wrong. Lines: 95 % Wilson intervals."
    ]
    for row in numbers.unique(PANEL_KEYS, maintain_order=True).iter_rows(named=True):
        models = row["models"].split("; ")
        if len(models) > 1:
            kind = "simulated models" if row["is_simulated"] else "models"
            notes.append(f"Strongest {kind}: {listed(set(models))}; questions count once a model.")
    lost = sum(row["unsorted"] for row in numbers.unique(["panel", "target"]).iter_rows(named=True))
    notes += [f"{lost} errors without a category left out."] if lost else []
    alone = [
        row | {"model": row["panel"], "is_simulated": row["is_simulated"] and "; " not in row["models"]} for row in rows
    ]
    return " ".join(notes + simulated_note(alone))
