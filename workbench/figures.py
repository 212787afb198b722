"""Every figure by name: which study tables it shows and which function draws it.

In: names. Out: `FIGURES`; a drawing function takes its tables, in the order named, and a benchmark, and returns a
`house.HouseFigure`. Drawing stands in the draw_*.py files, one a topic; nothing reads a model or a database.
"""

from collections.abc import Callable
from typing import NamedTuple

from workbench.draw_bars import accuracy, ves
from workbench.draw_crossover import crossover
from workbench.draw_difficulty import accuracy_by_difficulty, error_types, jaccard_by_difficulty, ves_by_difficulty
from workbench.draw_errors import errors_by_category, errors_by_model
from workbench.draw_failures import failures
from workbench.draw_fine_tuning import fine_tuning
from workbench.draw_jaccard import jaccard
from workbench.draw_meta import meta_coefficients, meta_forest, meta_heterogeneity
from workbench.draw_portability import portability
from workbench.house import HouseFigure


class Drawing(NamedTuple):
    tables: tuple[str, ...]  # studies of study_tables.STUDIES; one file is drawn per benchmark of the first
    draw: Callable[..., HouseFigure]
    paper: str  # where the papers draw it


FIGURES = {
    "portability": Drawing(("portability",), portability, "plans paper, figures 1 and 6"),
    "crossover": Drawing(("portability", "crossover"), crossover, "plans paper, figures 3 and 7"),
    "fine_tuning": Drawing(("portability",), fine_tuning, "plans paper, figure 4"),
    "errors_by_category": Drawing(("errors",), errors_by_category, "plans paper, figure 5 but for two bars"),
    "errors_by_model": Drawing(("errors",), errors_by_model, "plans paper, figure 5 but for two bars"),
    "failures": Drawing(("failures",), failures, "plans paper, section 6.6"),
    "meta_forest": Drawing(("meta", "coefficients"), meta_forest, "plans paper, appendix I but for one coefficient"),
    "meta_coefficients": Drawing(
        ("meta", "coefficients"), meta_coefficients, "plans paper, appendix I but for one coefficient"
    ),
    "meta_heterogeneity": Drawing(
        ("meta", "coefficients"), meta_heterogeneity, "plans paper, appendix I but for one coefficient"
    ),
    "accuracy": Drawing(("structure",), accuracy, "HES-SQL, figure 4"),
    "jaccard": Drawing(("structure",), jaccard, "HES-SQL, figure 5"),
    "ves": Drawing(("efficiency",), ves, "HES-SQL, figure 6"),
    "accuracy_by_difficulty": Drawing(("structure",), accuracy_by_difficulty, "HES-SQL, figure 7"),
    "jaccard_by_difficulty": Drawing(("structure",), jaccard_by_difficulty, "HES-SQL, figure 8"),
    "ves_by_difficulty": Drawing(("efficiency",), ves_by_difficulty, "HES-SQL, figure 9"),
    "error_types": Drawing(("errors",), error_types, "HES-SQL, figures 1 and 10"),
}
