"""Models as marks: by size on a log axis where it is known, by name where it is not.

In: rows of the study table `portability` as dicts, with `panel` (open | closed | null), and which of their columns is the height;
its interval is in the columns VALUE_low and VALUE_high. Out: artists on axes that a figure has made.
"""

from collections.abc import Sequence

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from workbench.captions import CLOUD, name_of
from workbench.house import GAP, LEFT, RIGHT, SERIES, SMALL, WIDTHS, filling, key_of, size_ticks
from workbench.marks import dodge, label_points, shade_cloud, text_width

SLOTS = {"column": 0.16, "page": 0.24}  # inches a closed model's name has


def widths(opened: list[dict], closed: list[dict], width: str) -> tuple[float, float]:
    """Inches of the panel of sizes and of the panel of names; 0 for one that is not there."""
    named = 0.0
    if closed:
        title = text_width(named_title(closed), rcParams["axes.titlesize"]) + 0.02
        named = max(SLOTS[width] * len({row["model"] for row in closed}) + 0.1, title)
    space = max(WIDTHS[width] - LEFT - RIGHT, named + (1.4 + GAP if opened else 0.0))
    if closed and not opened:
        return 0.0, space
    return space - (named + GAP if closed else 0.0), named


def names_height(closed: list[dict]) -> float:
    """Inches that the upright names of closed models take."""
    return 1.04 * max((text_width(name_of(row), SMALL) for row in closed), default=0.0) + 0.1  # 4 %: hinting


def size_axis(axes: Axes, sizes: list[float]) -> None:
    """A log axis that holds all sizes, which are sorted, in billions."""
    axes.set_xscale("log")
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)
    ticks = size_ticks(sizes)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("Total parameters (billions)", labelpad=2)


def name_axis(axes: Axes, rows: list[dict]) -> dict[str, int]:
    """An axis of models by name; the place of each."""
    names = {row["model"]: name_of(row) for row in rows}
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_xticks(range(len(names)), list(names.values()), rotation=90, fontsize=SMALL, parse_math=False)
    return {model: place for place, model in enumerate(names)}


def sized_title(rows: list[dict]) -> str:
    return "Open weights" if all(row["weights"] == "open" for row in rows) else "Size stated"


def named_title(rows: list[dict]) -> str:
    closed = [row["weights"] == "closed" for row in rows]
    return "Closed" if all(closed) else "Closed or no size" if any(closed) else "No size stated"


def heights(rows: list[dict], value: str) -> list[float]:
    """All heights that marks and their bars reach."""
    ends = (value, f"{value}_low", f"{value}_high")
    return [row[end] for row in rows if row["panel"] for end in ends if row[end] is not None]


def draw_points(
    axes: Axes, points: list[tuple[float, dict]], value: str, common: str | None = None
) -> list[tuple[Line2D, dict]]:
    """A mark and its bar for each (x, row), moved aside where one hides another; the marks with their rows.

    common: the regime whose clouds are shaded. The axes' limits must be final.
    """
    for key, series in SERIES.items():
        cloud = [(x, row[value]) for x, row in points if common and key_of(row) == key and row["regime"] == common]
        if len({x for x, _ in cloud}) >= CLOUD:
            shade_cloud(axes, cloud, to_hex(series.colour), top=1.0)
    spans = [(x, row[value], row[f"{value}_low"], row[f"{value}_high"]) for x, row in points]
    drawn = []
    for (x, row), (_, y, low, high), shift in zip(points, spans, dodge(axes, spans), strict=True):
        series = SERIES[key_of(row)]
        look = {
            "color": to_hex(series.colour),
            "transform": axes.transData + ScaledTranslation(shift / 72, 0, axes.figure.dpi_scale_trans),
        }
        if low is not None:
            axes.plot([x, x], [low, high], **look, linewidth=0.8, alpha=0.7, zorder=2)
        size = {"marker": series.marker, "markersize": series.size, "linestyle": "none"}
        (mark,) = axes.plot([x], [y], **look, **filling(row["regime"]), **size, zorder=3, clip_on=False)
        mark.set_gid(" | ".join((row["model"], *key_of(row))))
        drawn.append((mark, row))
    return drawn


def name_points(axes: Axes, drawn: list[tuple[Line2D, dict]], lines: Sequence[Line2D] = ()) -> None:
    """Each model's name once per regime, at its SQL: those points lie apart more than the plans'. None where one won't fit.

    lines: what no name may cross.
    """
    once = {}
    for mark, row in sorted(drawn, key=lambda pair: pair[1]["target"] != "sql"):
        once.setdefault((row["model"], row["regime"]), (mark, name_of(row)))
    label_points(axes, list(once.values()), [mark for mark, _ in drawn], SMALL, lines)
