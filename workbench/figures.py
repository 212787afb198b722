"""Every figure by name: which study tables it shows and which function draws it.

In: names. Out: `FIGURES`; a drawing function takes its tables, in the order named, and a benchmark, and returns a
`house.HouseFigure`. Drawing stands in the draw_*.py files, one a topic; nothing reads a model or a database.
"""

from collections.abc import Callable
from typing import NamedTuple

from workbench.draw_portability import portability
from workbench.house import HouseFigure


class Drawing(NamedTuple):
    tables: tuple[str, ...]  # studies of study.STUDIES; one file is drawn per benchmark of the first
    draw: Callable[..., HouseFigure]


FIGURES = {
    "portability": Drawing(("portability",), portability),
}
