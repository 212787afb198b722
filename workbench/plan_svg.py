"""A plan as a drawn tree, for notebooks and papers: the last operator on top, what it reads below.

In: a Plan. Out: one SVG document without outside references. Names are hostile: every text is escaped, and characters
that XML cannot hold become U+FFFD. Queries inside expressions hang on dashed lines, named sub-pipelines stand beside.
"""

import re
import textwrap
import unicodedata
from dataclasses import dataclass, field
from html import escape

from workbench.plan import Join, Plan, Relation, With
from workbench.plan_text import operator_text, queries

CHARACTER, LINE, PADDING = 7.3, 16, 9  # pixels of the font, which is 12 pixels high and as wide everywhere
GAP_X, GAP_Y, MARGIN = 24, 34, 12
WRAP, MAX_LINES = 46, 7  # characters of a line; a box says more in its tooltip
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE = (  # under one class: a notebook may put the drawing into its own page
    ".plan text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1b1f24}"
    ".plan .w{font-weight:bold}.plan .l{fill:#57606a;font-style:italic}.plan .b{fill:#f6f8fa;stroke:#57606a}"
    ".plan .s .b{fill:#e7f0fb}.plan path{fill:none;stroke:#57606a}.plan .q{stroke-dasharray:4 3}"
)


@dataclass
class Box:
    """One operator. word: what it is; lines: the rest; label: what stands above it; is_query: hangs on a dashed line."""

    word: str
    lines: list[str]
    title: str
    label: str | None = None
    is_query: bool = False
    is_source: bool = False
    below: list["Box"] = field(default_factory=list)

    @property
    def width(self) -> float:
        longest = max(map(_columns, [self.word, *self.lines, self.label or ""]))
        return longest * CHARACTER + 2 * PADDING

    @property
    def height(self) -> float:
        return (1 + len(self.lines)) * LINE + 2 * PADDING - 4

    @property
    def spread(self) -> float:
        """The width of the box and all below it."""
        below = sum(box.spread for box in self.below) + GAP_X * max(0, len(self.below) - 1)
        return max(self.width, below)

    @property
    def depth(self) -> float:
        return self.height + max((GAP_Y + box.depth for box in self.below), default=0)


def draw_svg(plan: Plan) -> str:
    """The document; see Plan.to_svg."""
    drawn = trees(plan.root)
    width = sum(tree.spread for tree in drawn) + GAP_X * (len(drawn) - 1) + 2 * MARGIN
    top = MARGIN + (LINE if any(tree.label for tree in drawn) else 0)
    height = max(tree.depth for tree in drawn) + top + MARGIN
    lines, boxes, left = [], [], MARGIN
    for tree in drawn:
        _place(tree, left, top, lines, boxes)
        left += tree.spread + GAP_X
    return (
        f'<svg class="plan" xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><title>query plan</title><style>{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(lines)}{"".join(boxes)}</svg>\n'
    )


def trees(relation: Relation, label: str | None = None) -> list[Box]:
    """The tree of an operator, after those of the sub-pipelines that it names."""
    if isinstance(relation, With):
        named = []
        for one in relation.definitions:
            named += trees(one.query, f"with {one.name}{' (recursive)' if one.is_recursive else ''}")
        return named + trees(relation.input, label)
    said = operator_text(relation)
    word = f"{relation.kind} join" if isinstance(relation, Join) else said.split(" ")[0]
    rest = said.removeprefix(word).strip()
    lines = textwrap.wrap(rest, WRAP, break_long_words=True, break_on_hyphens=False)
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], "..."]
    box = Box(word, lines, said, label, is_source=not relation.inputs)
    for query in queries(relation.expressions):
        for tree in trees(query, "query"):
            tree.is_query = True
            box.below.append(tree)
    for below in relation.inputs:
        box.below += trees(below)
    return [box]


def _place(box: Box, left: float, top: float, lines: list[str], boxes: list[str]) -> None:
    """Draw a tree into its place: left edge of its spread, top of its box."""
    middle = left + box.spread / 2
    below = sum(one.spread for one in box.below) + GAP_X * max(0, len(box.below) - 1)
    x = middle - below / 2
    for one in box.below:
        start, end = top + box.height, top + box.height + GAP_Y
        bend, to = (start + end) / 2, x + one.spread / 2
        dashed = ' class="q"' if one.is_query else ""
        path = f"M{middle:.1f} {start:.1f}V{bend:.1f}H{to:.1f}V{end:.1f}"
        lines.append(f'<path{dashed} d="{path}"/>')
        _place(one, x, end, lines, boxes)
        x += one.spread + GAP_X
    edge = middle - box.width / 2
    kind = ' class="s"' if box.is_source else ""
    shapes = [f'<g{kind}><title>{_safe(box.title)}</title><rect class="b" x="{edge:.1f}" y="{top:.1f}" ']
    shapes.append(f'width="{box.width:.1f}" height="{box.height:.1f}" rx="4"/>')
    if box.label:
        shapes.append(f'<text class="l" x="{edge + 2:.1f}" y="{top - 4:.1f}">{_safe(box.label)}</text>')
    for number, text in enumerate([box.word, *box.lines]):
        y = top + PADDING + LINE * number + 9
        word = ' class="w"' if number == 0 else ""
        shapes.append(f'<text{word} x="{edge + PADDING:.1f}" y="{y:.1f}" xml:space="preserve">{_safe(text)}</text>')
    boxes.append("".join(shapes) + "</g>")


def _columns(text: str) -> int:
    """Places of a text in a font of one width, in which East Asian letters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _safe(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
