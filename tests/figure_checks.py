"""What tests of every figure ask of it: read back from the drawn artists, never from pixels.

In: a HouseFigure. Out: marks, bars and words as they lie on paper, and assertions: no word is cut, runs into another one or is
too small to read. A drawing function names its marks and bars by `set_gid("model | target | ...")`.
"""

import itertools

from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from workbench.house import SMALL


def marked(figure) -> list[tuple]:
    """(panel, *the parts of its name, x, y) of every named mark, sorted."""
    lines = [(axes.get_label(), line) for axes in figure.axes for line in axes.lines if line.get_gid()]
    return sorted((panel, *line.get_gid().split(" | "), *map(float, line.get_xydata()[0])) for panel, line in lines)


def bars(figure) -> list[tuple]:
    """(panel, *the parts of its name, x, y, width, height) of every named rectangle, in data units, sorted."""
    found = [
        (axes.get_label(), patch)
        for axes in figure.axes
        for patch in axes.patches
        if patch.get_gid() and isinstance(patch, Rectangle)
    ]
    return sorted((panel, *bar.get_gid().split(" | "), *map(float, bar.get_bbox().bounds)) for panel, bar in found)


def spans(figure, axis: str = "y") -> list[tuple]:
    """(low, high) of every line of two points that has no name and runs along one axis: intervals, as a rule."""
    ends = [
        (line.get_xdata(), line.get_ydata())
        for axes in figure.axes
        for line in axes.lines
        if len(line.get_xdata()) == 2 and not line.get_gid()
    ]
    pairs = [(x, y) if axis == "y" else (y, x) for x, y in ends]
    return [tuple(map(float, along)) for across, along in pairs if across[0] == across[1]]


def words(figure) -> str:
    """Title and notes on one line."""
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def all_words(figure) -> str:
    """Everything that is written, on one line."""
    return " ".join(" ".join(text.get_text() for text in _texts(figure)).split())


def legend_labels(figure) -> list[str]:
    return [text.get_text() for legend in _legends(figure) for text in legend.get_texts()]


def text_boxes(figure) -> dict[str, Bbox]:
    """The boxes of all words that are drawn, by a readable name, in pixels."""
    figure.canvas.draw()
    return {f"{i} {text.get_text()!r}": text.get_window_extent() for i, text in enumerate(_texts(figure))}


def assert_words_are_clear(figure) -> None:
    """Every word lies on the paper, apart from all others, and is large enough."""
    boxes, paper = text_boxes(figure), figure.bbox
    for name, box in boxes.items():
        assert paper.x0 <= box.x0 and box.x1 <= paper.x1 and paper.y0 <= box.y0 and box.y1 <= paper.y1, f"{name} is cut"
    for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
        assert not a.overlaps(b), f"{one} runs into {other}"
    small = [text.get_text() for text in _texts(figure) if text.get_fontsize() < SMALL]
    assert not small, f"under {SMALL} pt: {small}"


def _legends(figure) -> list:
    return [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]


def _texts(figure) -> list[Text]:
    """Each text with something to read: titles, notes, legends, labels, names of ticks within the limits."""
    texts = list(figure.texts)
    for legend in _legends(figure):
        texts += [legend.get_title(), *legend.get_texts()]
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        texts += axes.texts
        if not axes.axison:
            continue
        texts += [axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label]
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            low, high = sorted(limits)
            ticks = [
                tick for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()) if low <= tick.get_loc() <= high
            ]
            texts += [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]
