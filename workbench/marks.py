"""Small drawing helps that no plotting library has: labels that keep clear of each other, clouds, dodged points.

In: axes whose limits are final, since everything here is laid out in points on paper. Out: artists on these axes.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

RINGS = (6, 9, 13, 18, 24, 31)  # points between a mark and the near edge of its label, tried from near to far
ANGLES = (0, 180, 90, 270, 45, 315, 135, 225, 22, 338, 158, 202, 67, 113, 247, 293)  # degrees, tried in this order
LEADER_FROM = 6  # points: beyond, a line ties the label to its mark
HIDES = 2.6  # points: marks closer than this in both directions can't be told apart
STEP = 4.2  # points: a mark's width, by which one of them moves aside


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Width of one line in inches, in the current style's font at `size` points."""
    font = FontProperties(size=size, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def wrap(text: str, width: float, size: float, weight: str = "normal") -> list[str]:
    """Text broken into lines of at most `width` inches (a longer word stands alone; a % stays with its number)."""
    lines: list[str] = []
    for word in re.findall(r"\S+(?: %\S*)?", text):
        if lines and text_width(f"{lines[-1]} {word}", size, weight) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def dodge(axes: Axes, spans: list[tuple[float, float, float | None, float | None]]) -> list[float]:
    """Sideways shifts in points for (x, y, low, high) in data units, so that no mark or bar hides another one."""
    placed: list[tuple[float, float, float]] = []
    shifts = []
    for x, y, low, high in spans:
        (at, bottom), (_, top) = _points(axes, [(x, y if low is None else low), (x, y if high is None else high)])
        for shift in (0, STEP, -STEP, 2 * STEP, -2 * STEP, 3 * STEP, -3 * STEP):
            if not any(abs(a - at - shift) < HIDES and b < top + HIDES and bottom < t + HIDES for a, b, t in placed):
                break
        placed.append((at + shift, bottom, top))
        shifts.append(shift)
    return shifts


def shade_cloud(axes: Axes, points: list[tuple[float, float]], colour: str, top: float, radius: float = 5.5) -> None:
    """Shade the convex hull of points in data units, grown by `radius` points on paper, cut at y = top."""
    from scipy.spatial import ConvexHull

    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    circle = radius * np.column_stack((np.cos(angles), np.sin(angles)))
    grown = (_points(axes, points)[:, None, :] + circle[None]).reshape(-1, 2)
    outline = grown[ConvexHull(grown).vertices] * axes.figure.dpi / 72
    x, y = axes.transData.inverted().transform(outline).T
    axes.fill(x, np.minimum(y, top), color=colour, alpha=0.16, linewidth=0, zorder=0.5)


def label_points(
    axes: Axes,
    named: list[tuple[Line2D, str]],
    marks: list[Line2D],
    size: float,
    lines: Sequence[Line2D] = (),
    is_trial: bool = False,
) -> bool:
    """Name the marks without covering a mark, a bar, a line or another name; draws nothing and says False if one won't fit.

    named: (mark, name); marks: all marks of the panel; lines: straight ones that no name may cross. Near places are tried
    first; a far name gets a thin line. is_trial: only say whether all fit.
    """
    boxes = [_box(axes, line) for line in axes.lines if len(line.get_xdata()) == 2 and line not in marks]
    boxes = [box for box in boxes if box.width < 10] + [_box(axes, mark) for mark in marks]  # bars, then marks
    boxes += [box for line in lines for box in _stretch(*_points(axes, line.get_xydata()), 80)]
    inner = axes.get_window_extent()
    scale = 72 / axes.figure.dpi
    panel = Bbox.from_extents(*(np.array(inner.extents) * scale))
    chosen = []
    crowd = [
        sum(abs(a.x0 - b.x0) < 30 and abs(a.y0 - b.y0) < 20 for b in boxes) for a in (_box(axes, m) for m, _ in named)
    ]
    for index in sorted(range(len(named)), key=lambda i: -crowd[i]):  # the hemmed-in choose first
        mark, name = named[index]
        place = _find_place(_box(axes, mark), text_width(name, size) * 73, size * 1.15, panel, boxes)
        if place is None:
            return False
        box, path = place
        boxes += [box, *path]
        chosen.append((mark, name, box, path))
    for mark, name, box, path in () if is_trial else chosen:
        centre = _centre(_box(axes, mark))
        if path:
            end = _nearest(box, centre)
            axes.annotate(
                "",
                _to_data(axes, centre),
                _to_data(axes, end),
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "#888888", "shrinkA": 0, "shrinkB": 2.5},
                zorder=1.5,
            )
        x, y = _to_data(axes, ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))
        axes.text(x, y, name, fontsize=size, ha="center", va="center", color="#333333", parse_math=False, zorder=4)
    return True


def _find_place(
    mark: Bbox, width: float, height: float, panel: Bbox, taken: list[Bbox]
) -> tuple[Bbox, list[Bbox]] | None:
    """The nearest free box for a label, and the stretch of its leader line as small boxes (none when it is near)."""
    x, y = _centre(mark)
    for ring in RINGS:
        for angle in ANGLES:
            cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            cx, cy = x + cos * (ring + width / 2), y + sin * (ring + height / 2)
            box = Bbox.from_bounds(cx - width / 2, cy - height / 2, width, height)
            if box.x0 < panel.x0 or box.x1 > panel.x1 or box.y0 < panel.y0 or box.y1 > panel.y1:
                continue
            if any(_overlap(box, other, 0.6) for other in taken):
                continue
            if ring <= LEADER_FROM:
                return box, []
            path = _stretch((x, y), _nearest(box, (x, y)), 12)[3:]
            if not any(_overlap(step, other, 0) for step in path for other in taken):
                return box, path
    return None


def _stretch(start: tuple[float, float], end: tuple[float, float], count: int) -> list[Bbox]:
    """A straight line as small boxes."""
    return [Bbox.from_bounds(x - 0.3, y - 0.3, 0.6, 0.6) for x, y in np.linspace(start, end, count)]


def _overlap(a: Bbox, b: Bbox, room: float) -> bool:
    return a.x0 < b.x1 + room and b.x0 < a.x1 + room and a.y0 < b.y1 + room and b.y0 < a.y1 + room


def _nearest(box: Bbox, point: tuple[float, float]) -> tuple[float, float]:
    return min(max(point[0], box.x0), box.x1), min(max(point[1], box.y0), box.y1)


def _centre(box: Bbox) -> tuple[float, float]:
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def _box(axes: Axes, line: Line2D) -> Bbox:
    """What a mark or a bar covers, in points on paper, with its sideways shift."""
    ends = line.get_transform().transform(line.get_xydata()) * 72 / axes.figure.dpi
    half = line.get_markersize() / 2 if line.get_marker() not in ("None", None, "") else 0.5
    return Bbox.from_extents(*(ends.min(axis=0) - half), *(ends.max(axis=0) + half))


def _points(axes: Axes, data: list[tuple[float, float]]) -> np.ndarray:
    return axes.transData.transform(data) * 72 / axes.figure.dpi


def _to_data(axes: Axes, point: tuple[float, float]) -> np.ndarray:
    return axes.transData.inverted().transform(np.array(point) * axes.figure.dpi / 72)
