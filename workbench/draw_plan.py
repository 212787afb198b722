"""One plan as its JSON, its operator tree and the SQL of four engines, with what belongs together linked (plans paper, figure 2).

In: a Plan. Out: a `HouseFigure`. A bar and a letter say which operator a line of JSON states, a box of the tree is, and a clause
of SQL comes from: by the operator's kind, since a compiler may make one clause of several operators. The SQL is shown as it is
run, broken into its clauses; what is too long for the page ends in an ellipsis.
"""

import json
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import polars as pl
import sqlglot
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Rectangle
from sqlglot.tokens import Token, TokenType

from workbench.captions import ENGINES
from workbench.errors import UnsupportedError
from workbench.house import GAP, LEFT, RIGHT, SMALL, WIDTHS, HouseFigure, house, new_page
from workbench.plan import Plan
from workbench.plan_svg import CHARACTER, GAP_X, GAP_Y, LINE, Box, trees
from workbench.plan_to_sql import plan_to_sql
from workbench.portability import PAPER_ENGINES

MONO = "DejaVu Sans Mono"
CELL = 0.602 * SMALL / 72  # inches a character of it takes
STEP = 0.105  # inches from line to line
INCH = CELL / CHARACTER  # of a pixel of the tree
MOST = 9  # lines of one operator or clause
MARGIN = 0.22  # inches for bars and letters, left of the text
KINDS = {  # letter, colour, words
    "scan": ("a", "C5", "scan"),
    "join": ("b", "C4", "join"),
    "filter": ("c", "C3", "filter"),
    "aggregate": ("d", "C0", "aggregate"),
    "window": ("e", "#8064A2", "window"),
    "project": ("f", "C2", "project"),
    "sort": ("g", "C1", "sort, limit"),
    "set": ("h", "#222222", "distinct, set operation"),
}
_STEPS = {"values": "scan", "distinct": "set", "union": "set", "intersect": "set", "except": "set"}
_SETS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}
_JOINS = {"LEFT", "RIGHT", "FULL", "INNER", "CROSS", "JOIN", "SEMI", "ANTI", "ANY", "ALL"}
_CLAUSES = {"SELECT": "project", "FROM": "scan", "JOIN": "join", "WHERE": "filter", "GROUP BY": "aggregate"}
_CLAUSES |= {"HAVING": "filter", "ORDER BY": "sort", "LIMIT": "sort", "OFFSET": "sort", "VALUES": "scan", "WITH": None}
_AGGREGATES = {"COUNT", "SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT", "STRING_AGG", "TOTAL", "GROUPCONCAT"}


class Part(NamedTuple):
    """An operator's JSON or a clause of SQL. depth: of the query that it belongs to."""

    kinds: tuple[str, ...]
    text: str
    depth: int = 0


def plan_figure(
    plan: Plan, title: str = "One plan, four dialects", dialects: Sequence[str] = PAPER_ENGINES
) -> HouseFigure:
    """The plan as JSON and tree above, its SQL in each dialect below; a dialect that refuses it says why.

    .numbers: a row per shown part: view (json, tree or dialect), kinds, text.
    """
    steps = json_parts(plan)
    compiled = {dialect: _compiled(plan, dialect) for dialect in dialects}
    with house():
        drawn = [_lettered(tree) for tree in trees(plan.root)]
        wide = (sum(tree.spread for tree in drawn) + GAP_X * (len(drawn) - 1)) * INCH
        tall = (max(tree.depth for tree in drawn) + LINE) * INCH
        page_width = max(WIDTHS["page"], wide + 2.2)
        room = page_width - 2 * RIGHT - 0.1
        left = min(0.6 * room, room - wide - GAP)
        lines = _wrapped(steps, left)
        across = (room - 2 * GAP) / 2
        sql = {dialect: _wrapped(parts, across) for dialect, parts in compiled.items()}
        top = max(len(lines) * STEP, tall)
        rows = [list(sql)[i : i + 2] for i in range(0, len(sql), 2)]
        heights = [max(len(sql[dialect]) for dialect in row) * STEP for row in rows]
        numbers = _numbers(steps, drawn, compiled)
        used = {kind for kinds in numbers["kinds"].to_list() for kind in kinds.split(", ") if kind}
        handles = [_handle(kind) for kind in KINDS if kind in used]
        height = top + sum(heights) + 0.3 * len(rows)
        notes = "Letters and bars: the kind of operator that a line states, a box is, or a clause comes from."
        page = new_page(numbers, title, notes, handles, space=page_width - LEFT - RIGHT, panels=height, below=0.05)
        y = height - top
        _lines(page.panel("json", RIGHT, left, y, top), lines, "Plan, as JSON", left)
        _tree(page.panel("tree", RIGHT + left + GAP, room - left - GAP, y, top), drawn, room - left - GAP, top)
        for row, tall in zip(rows, heights, strict=True):
            y -= tall + 0.3
            for column, dialect in enumerate(row):
                axes = page.panel(dialect, RIGHT + column * (across + 2 * GAP), across, y, tall)
                _lines(axes, sql[dialect], ENGINES.get(dialect, dialect), across)
        return page.figure


def json_parts(plan: Plan) -> list[Part]:
    """A part per operator, in the order of execution; of a plan with named pipelines those come first."""
    parts: list[Part] = []
    for step in json.loads(plan.to_json()):
        word = next(iter(step))
        kind = "join" if word.endswith("join") else _STEPS.get(word.split("_")[0], word)
        text = json.dumps(step, ensure_ascii=False, separators=(",", ":"))
        parts.append(Part((kind,) if kind in KINDS else (), text))
    return parts


def sql_parts(sql: str, dialect: str) -> list[Part]:
    """The clauses of a statement and of the queries inside it; joined by blanks they are the statement again."""
    tokens = sqlglot.tokenize(sql, read=dialect)
    levels: list[bool] = [True]  # of each open bracket: whether it holds a query
    starts: list[tuple[int, str | None, int]] = []  # offset, clause, depth
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            after = tokens[place + 1] if place + 1 < len(tokens) else token
            levels.append(after.token_type in (TokenType.SELECT, TokenType.WITH, TokenType.VALUES))
        elif token.token_type == TokenType.R_PAREN and len(levels) > 1:
            levels.pop()
        elif levels[-1] and (word := _clause(tokens, place)):
            starts.append((token.start, word, sum(levels) - 1))
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, None, 0))
    ends = [start for start, _, _ in starts[1:]] + [len(sql)]
    parts = []
    for (start, word, depth), end in zip(starts, ends, strict=True):
        text = sql[start:end].strip()
        parts.append(Part(_kinds(word, text, dialect), text, depth))
    return parts


def _clause(tokens: list[Token], place: int) -> str | None:
    """The clause that a token begins."""
    token = tokens[place]
    if token.token_type in _SETS:
        return "set"
    word = token.text.upper()
    if word in _JOINS and token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING):
        before = tokens[place - 1].text.upper() if place else ""
        words = [one.text.upper() for one in tokens[place : place + 4]]
        return "JOIN" if "JOIN" in words and before not in _JOINS and words[1:2] != ["("] else None
    if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING):
        return None
    if word in ("GROUP", "ORDER"):
        word = f"{word} BY"
    return word if word in _CLAUSES else None


def _kinds(word: str | None, text: str, dialect: str) -> tuple[str, ...]:
    if word is None or word == "set":
        return ("set",) if word else ()
    kinds = [_CLAUSES[word]] if _CLAUSES[word] else []
    if word == "SELECT":
        words = [token.text.upper() for token in sqlglot.tokenize(text, read=dialect)]
        calls = {one for one, after in pairwise(words) if after == "("}
        kinds += ["window"] if "OVER" in words else ["aggregate"] if calls & _AGGREGATES else []
        kinds += ["set"] if words[1:2] == ["DISTINCT"] else []
    if word == "JOIN":
        kinds.append("scan")
    return tuple(kinds)


def _compiled(plan: Plan, dialect: str) -> list[Part]:
    try:
        return sql_parts(plan_to_sql(plan, dialect), dialect)
    except UnsupportedError as error:
        return [Part((), f"refused: {error}")]


def _wrapped(parts: Sequence[Part], across: float) -> list[tuple[tuple[str, ...], str]]:
    """(kinds, text, whether it is its part's first) of every line."""
    lines = []
    for part in parts:
        indent = "  " * min(part.depth, 8)
        columns = max(20, int((across - MARGIN) / CELL / 1.02) - len(indent))
        if any(unicodedata.east_asian_width(letter) in "WF" for letter in part.text):
            columns //= 2
        text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in part.text)
        wrapped = textwrap.wrap(text, columns, subsequent_indent="  ", break_on_hyphens=False) or [""]
        if len(wrapped) > MOST:
            wrapped = [*wrapped[: MOST - 1], "  \N{HORIZONTAL ELLIPSIS}"]
        lines += [(part.kinds, indent + line, place == 0) for place, line in enumerate(wrapped)]
    return lines


def _lines(axes: Axes, lines: list[tuple], heading: str, across: float) -> None:
    """Lines of text with the bars and letters of their kinds, in an area measured in inches."""
    height = axes.get_position().height * axes.figure.get_figheight()
    _area(axes, across, height)
    axes.set_title(heading)
    for place, (kinds, text, is_first) in enumerate(lines):
        y = height - (place + 0.5) * STEP
        for number, kind in enumerate(kinds):
            bar = Rectangle((0.03 * number, y - STEP / 2), 0.022, STEP, color=to_hex(KINDS[kind][1]), linewidth=0)
            bar.set_gid(f"{kind} | {place}")
            axes.add_patch(bar)
        if is_first and kinds:
            letters = "".join(KINDS[kind][0] for kind in kinds)
            axes.text(MARGIN - 0.03, y, letters, fontsize=SMALL, ha="right", va="center_baseline", weight="bold")
        look = {"fontsize": SMALL, "family": MONO, "va": "center_baseline", "parse_math": False}
        axes.text(MARGIN, y, text, **look)


def _area(axes: Axes, across: float, height: float) -> None:
    axes.set(xlim=(0, across), ylim=(0, height), xticks=[], yticks=[])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _tree(axes: Axes, drawn: list[Box], across: float, height: float) -> None:
    _area(axes, across, height)
    axes.set_title("Its operators")
    left = 0.0
    for tree in drawn:
        for box, x, y, above in _places(tree, left, LINE if any(one.label for one in drawn) else 0.0):
            _box(axes, box, (x * INCH, height - y * INCH), above and (above[0] * INCH, height - above[1] * INCH))
        left += tree.spread + GAP_X


def _places(box: Box, left: float, top: float, above: tuple | None = None) -> Iterator[tuple]:
    """(box, left edge, top, where its line begins) of a tree, in pixels."""
    middle = left + box.spread / 2
    yield box, middle - box.width / 2, top, above
    x = middle - (sum(one.spread for one in box.below) + GAP_X * max(0, len(box.below) - 1)) / 2
    for one in box.below:
        yield from _places(one, x, top + box.height + GAP_Y, (middle, top + box.height))
        x += one.spread + GAP_X


def _box(axes: Axes, box: Box, corner: tuple[float, float], above: tuple[float, float] | None) -> None:
    (x, y), width, height = corner, box.width * INCH, box.height * INCH
    kind = kind_of(box.word)
    colour = to_hex(KINDS[kind][1]) if kind else "#57606A"
    if above:
        middle = x + width / 2
        bend = (above[1] + y) / 2
        style = {"linestyle": (0, (3, 2))} if box.is_query else {}
        axes.plot(
            [above[0], above[0], middle, middle], [above[1], bend, bend, y], color="#57606A", linewidth=0.7, **style
        )
    shape = FancyBboxPatch((x, y - height), width, height, boxstyle="round,pad=0,rounding_size=0.03", linewidth=0.9)
    shape.set(facecolor="#F6F8FA", edgecolor=colour, clip_on=False)
    shape.set_gid(f"{box.word} | {kind or ''}")
    axes.add_patch(shape)
    look = {"fontsize": SMALL, "family": MONO, "va": "center_baseline", "parse_math": False}
    for place, text in enumerate([box.word, *box.lines]):
        weight = "bold" if place == 0 else "normal"
        axes.text(x + 0.06, y - 0.1 - place * LINE * INCH, text, **look, weight=weight)
    if box.label:
        axes.text(x, y + 0.06, box.label, fontsize=SMALL, style="italic", va="center_baseline", parse_math=False)


def _lettered(tree: Box) -> Box:
    """The tree with each operator's letter before its word."""
    kind = kind_of(tree.word)
    below = [_lettered(one) for one in tree.below]
    return replace(tree, word=f"{KINDS[kind][0]} {tree.word}" if kind else tree.word, below=below)


def kind_of(word: str) -> str | None:
    """The kind of an operator by its word in the tree, with its letter or without."""
    word = word[2:] if word[1:2] == " " else word
    if word.endswith("join"):
        return "join"
    return word if word in KINDS else _STEPS.get(word)


def _handle(kind: str) -> Line2D:
    letter, colour, words = KINDS[kind]
    return Line2D([], [], color=to_hex(colour), linewidth=4, solid_capstyle="butt", label=f"{letter}  {words}")


def _numbers(steps: list[Part], drawn: list[Box], compiled: dict[str, list[Part]]) -> pl.DataFrame:
    rows = [("json", ", ".join(part.kinds), part.text) for part in steps]
    for tree in drawn:
        rows += [("tree", kind_of(box.word) or "", box.title) for box, *_ in _places(tree, 0, 0)]
    for dialect, parts in compiled.items():
        rows += [(dialect, ", ".join(part.kinds), part.text) for part in parts]
    return pl.DataFrame(rows, schema={"view": pl.String, "kinds": pl.String, "text": pl.String}, orient="row")
