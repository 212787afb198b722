"""Whether models or compilers make failures (plans paper, section 6.6): where else a prediction that is wrong here is wrong.

In: the study table `failure_kinds` (error_tables.py). Out: a `HouseFigure`.
"""

import polars as pl
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Patch

from workbench import captions
from workbench.captions import METRICS, counts, title
from workbench.draw_bars import HALO
from workbench.errors import ResultsError
from workbench.figure_rows import of_benchmark
from workbench.house import RIGHT, SMALL, WIDTHS, HouseFigure, house, new_page
from workbench.marks import text_width
from workbench.metrics import wilson_interval
from workbench.portability import ENGINES

BAR, HEAD = 0.16, 0.34  # inches: a bar with its gap, above a panel for its title
FAILURES = {  # column of failure_kinds -> words, colour; what a compiler can be blamed for stands first
    "only_here": ("wrong on this engine alone", "C3"),
    "several": ("on several", "#B9C6D3"),
    "everywhere": ("on every engine", "C0"),
}
MODES = {"compiled": "Plans", "native": "SQL", "as-written": "SQLite's SQL as written"}


def failure_numbers(frame: pl.DataFrame, benchmark: str | None = None) -> pl.DataFrame:
    """Failures of all models together by engine, mode and is_simulated, with Wilson's interval of the share only here."""
    needed = ("mode", "engine", "engines", "failures", *FAILURES)
    frame = of_benchmark(frame, benchmark, needed, "figure of failures").filter(pl.col("engines") > 1)
    if not frame["failures"].sum():
        raise ResultsError("nothing to draw: no prediction is wrong", where="figure of failures")
    keys = ["benchmark", "metric", "is_simulated", "mode", "engine"]
    table = frame.group_by(keys, maintain_order=True).agg(
        pl.col("failures", *FAILURES).sum(), models=pl.col("model").n_unique(), engines=pl.col("engines").max()
    )
    table = table.filter(pl.col("failures") > 0)
    pairs = table.select("only_here", "failures").rows()
    ends = [wilson_interval(n, of) for n, of in pairs]
    return table.with_columns(
        only_here_share=pl.col("only_here") / pl.col("failures"),
        only_here_low=pl.Series([low for low, _ in ends]),
        only_here_high=pl.Series([high for _, high in ends]),
    ).sort(
        "is_simulated",
        pl.col("mode").replace_strict({mode: place for place, mode in enumerate(MODES)}),
        pl.col("engine").cast(pl.Enum(ENGINES)),
    )


def failures(frame: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Where else a wrong prediction is wrong: on every engine it is the model's (decoding), on one alone maybe a compiler's.

    Plans paper, section 6.6. Percent of the failures on an engine, all models together. ResultsError: nothing to draw.
    """
    numbers = failure_numbers(frame, benchmark)
    rows = numbers.to_dicts()
    parts = numbers.partition_by("is_simulated", "mode", maintain_order=True)
    with house():
        labels = [captions.ENGINES[row["engine"]] for row in rows]
        names = max(text_width(word, rcParams["ytick.labelsize"]) for word in labels) * 1.04 + 0.1
        said = [f"{100 * row['only_here_share']:.1f}" for row in rows]
        values = max(text_width(word, SMALL) for word in [*said, "alone"]) * 1.04 + 0.08
        heights = [BAR * part.height + 0.04 for part in parts]
        height = sum(heights) + HEAD * (len(parts) - 1)
        handles = [Patch(color=to_hex(colour), label=words) for words, colour in FAILURES.values()]
        notes = _failure_notes(rows)
        page = new_page(numbers, title(rows, "where failures show"), notes, handles, panels=height + 0.02)
        y = height
        for part, tall in zip(parts, heights, strict=True):
            y -= tall
            axes = page.panel(
                f"{part['mode'][0]} {part['is_simulated'][0]}",
                names,
                WIDTHS["column"] - names - values - RIGHT,
                y,
                tall,
            )
            _failure_panel(
                axes, part.to_dicts(), is_last=part is parts[-1], is_mixed=numbers["is_simulated"].n_unique() > 1
            )
            y -= HEAD
        return page.figure


def _failure_panel(axes: Axes, rows: list[dict], is_last: bool, is_mixed: bool) -> None:
    kind = {True: ", simulated", False: ", real"}[rows[0]["is_simulated"]] if is_mixed else ""
    n = counts([row["failures"] for row in rows])
    axes.set_title(f"{MODES[rows[0]['mode']]}{kind}: {n} failures an engine")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 100)
    axes.set_yticks(range(len(rows)), [captions.ENGINES[row["engine"]] for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.text(1.02, 1.02, "alone", transform=axes.transAxes, fontsize=SMALL, va="bottom")
    if is_last:
        axes.set_xlabel("Share of the failures (%)", labelpad=2)
    else:
        axes.tick_params(labelbottom=False)
    for y, row in enumerate(rows):
        start = 0.0
        for column, (_, colour) in FAILURES.items():
            share = 100 * row[column] / row["failures"]
            (bar,) = axes.barh(y, share, left=start, height=0.7, color=to_hex(colour), edgecolor="white", linewidth=0.4)
            bar.set_gid(f"{row['mode']} | {row['engine']} | {column}")
            start += share
        ends = [100 * row["only_here_low"], 100 * row["only_here_high"]]
        axes.plot(ends, [y, y], color="#222222", linewidth=0.8, path_effects=HALO, zorder=3)
        shown = f"{100 * row['only_here_share']:.1f}"
        axes.text(1.02, y, shown, transform=axes.get_yaxis_transform(), fontsize=SMALL, va="center_baseline")


def _failure_notes(rows: list[dict]) -> str:
    engines = counts([row["engines"] for row in rows])
    metric = METRICS.get(rows[0]["metric"], rows[0]["metric"])
    return " ".join(
        [
            f"{metric}. Of {counts([row['models'] for row in rows])} models together; questions judged on all {engines} engines.",
            "Alone: percent that are right on every other engine, with its 95 % Wilson interval as a line. A plan that is wrong",
            "on one engine alone points to the compiler, one that is wrong on every engine was wrong as written (decoding).",
        ]
    )
