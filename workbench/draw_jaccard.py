"""How alike predictions and gold are in structure: the cumulative distribution of Jaccard indices (HES-SQL, figure 5).

In: the study table `structure` (difficulty.py). Out: a `HouseFigure`: a step line a model, each share that of pairs with an
index of at most x, so that the lower and righter line is the better.
"""

import math

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from workbench.captions import counts, listed, simulated_note, title
from workbench.difficulty import ALL, CDF_POINTS
from workbench.errors import ResultsError
from workbench.figure_rows import by_size, labels_of, of_benchmark, one_engine
from workbench.house import LEFT, RIGHT, SMALL, WIDTHS, HouseFigure, house, new_page

TOLD_APART = 8  # lines that a reader can tell apart; of more only the best, the middle and the worst are in colour
COLOURS = ("C0", "C1", "C2", "C3")
DASHES = ("-", (0, (4, 1.4)))
FLAT = 0.6  # where no line is higher before its end, the axis ends above them
HIGH = 0.6  # the index above which HES-SQL says that about 80 % of its queries lie


def jaccard_numbers(structure: pl.DataFrame, benchmark: str | None = None) -> tuple[pl.DataFrame, list[dict], str]:
    """A row per model x target x point of its line, the models in order, and where they ran, in words."""
    frame = of_benchmark(
        structure, benchmark, ("engine", "grade", "n", "jaccard", "jaccard_cdf"), "figure of Jaccard indices"
    )
    frame, engine = one_engine(frame.filter(grade=ALL))
    rows = by_size(frame.to_dicts())
    points = pl.lit([float(x) for x in CDF_POINTS.round(2)]).alias("index")
    order = {(row["model"], row["target"]): i for i, row in enumerate(rows)}
    numbers = frame.with_columns(
        points, place=pl.Series([order[key] for key in frame.select("model", "target").rows()], dtype=pl.Int64)
    )
    numbers = numbers.filter(pl.col("jaccard_cdf").list.len() > 0).sort("place").drop("place")
    return numbers.explode("index", "jaccard_cdf").rename({"jaccard_cdf": "share"}), rows, engine


def jaccard(structure: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Cumulative shares of pairs by Jaccard index, a line each model. ResultsError: nothing to draw."""
    numbers, rows, engine = jaccard_numbers(structure, benchmark)
    drawn = [row for row in rows if row["jaccard_cdf"]]
    if not drawn:
        raise ResultsError("nothing to draw: no model has a Jaccard index", where="figure of Jaccard indices")
    n = [row["n"] for row in drawn]
    band = math.sqrt(math.log(2 / 0.05) / (2 * min(n)))
    highest = max(row["jaccard_cdf"][-2] for row in drawn)  # before the pairs of the very same tokens
    top = 1.02 if highest > FLAT else max(1.15 * highest, 2 * band, 0.1)
    looks = _looks(drawn)
    names = dict(zip(map(id, rows), labels_of(rows), strict=True))
    with house():
        handles = [
            Line2D([], [], color=to_hex(colour), linestyle=dash, label=f"{names[id(row)]} ({row['jaccard']:.2f})")
            for row, (colour, dash) in zip(drawn, looks, strict=True)
            if colour
        ]
        grey = sum(colour is None for colour, _ in looks)
        if grey:
            handles.append(Line2D([], [], color="#BBBBBB", linewidth=0.6, label=f"{grey} others"))
        notes = [f"{engine}, n = {counts(n)} pairs a model; in brackets the mean index."]
        notes += ["Index of the sets of tokens of the two skeletons; the lower a line, the more alike to gold."]
        notes += ["Bar: half of the 95 % band around a line (Dvoretzky, Kiefer and Wolfowitz), at the smallest n."]
        notes += [f"Dashed: {HIGH}."] + (["All lines end at 1, above the picture."] if top < 1 else [])
        absent = {names[id(row)] for row in rows if not row["jaccard_cdf"]}
        notes += [f"Not drawn: {listed(absent)} (no index)."] if absent else []
        notes += simulated_note(rows)
        page = new_page(numbers, title(rows, "likeness of structure to gold"), " ".join(notes), handles)
        axes = page.panel("cdf", LEFT, WIDTHS["column"] - LEFT - RIGHT - 0.06)
        for row, (colour, dash) in sorted(zip(drawn, looks, strict=True), key=lambda pair: pair[1][0] is not None):
            look = {"color": to_hex(colour), "linestyle": dash} if colour else {"color": "#BBBBBB", "linewidth": 0.6}
            (line,) = axes.plot(CDF_POINTS, row["jaccard_cdf"], drawstyle="steps-post", **look)
            line.set_gid(f"{row['model']} | {row['target']}")
        _frame(axes, band, top)
        return page.figure


def _looks(rows: list[dict]) -> list[tuple[str | None, object]]:
    """Colour and dash of each line; (None, "-") is a grey one."""
    if len(rows) <= TOLD_APART:
        return [(COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS)]) for i in range(len(rows))]
    ranked = sorted(range(len(rows)), key=lambda i: rows[i]["jaccard"])
    named = dict(zip((ranked[-1], ranked[len(ranked) // 2], ranked[0]), COLOURS, strict=False))
    return [(named.get(i), "-") for i in range(len(rows))]


def _frame(axes: Axes, band: float, top: float) -> None:
    axes.set(xlim=(0, 1), ylim=(0, top), xlabel="Jaccard index", ylabel="Share of pairs at or below")
    axes.xaxis.labelpad = 2
    axes.axvline(HIGH, color="#9A9A9A", linewidth=0.6, linestyle=(0, (3, 2)), zorder=1)
    foot = max(0.95 * top - band, 0.0)
    axes.errorbar([0.08], [foot], yerr=[[0], [band]], color="#222222", linewidth=0.8, capsize=2, capthick=0.8)
    axes.text(0.105, foot + band / 2, f"{band:.2f}", fontsize=SMALL, va="center")
