"""Write the tables of a paper beside the figures of a run, or of the papers' printed numbers, and show them in a notebook.

In: names. Out: table_NAME.tex, .md and .html under figures/. Reads only what is stored.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from workbench.errors import ConfigError, ResultsError
from workbench.results import Run
from workbench.study import available, check_chosen, figures_dir, study
from workbench.tables import SOURCES, paper_table, save_table, table_names


def tables(
    name: str | Sequence[str], run: Run | str | Path | None = None, *, is_published: bool = False
) -> Iterator[tuple[str, list[Path] | str]]:
    """Write a table, some or "all", for a paper (LaTeX, Markdown, HTML) under figures/: its name, its files or why not.

    ConfigError for a name that is no table's; a single one that has no numbers raises ResultsError.
    """
    check_chosen(run, is_published)
    there = table_names(available(is_published), is_published)
    is_single = isinstance(name, str) and name != "all"
    chosen = [name] if is_single else there if name == "all" else name
    for each in chosen:
        if each not in there:
            raise ConfigError(f"there is no table {each!r}", hint=f"available: {', '.join(there)}")
    folder = figures_dir(run)
    made: dict[str, pl.DataFrame] = {}
    for each in chosen:
        source = each if is_published else SOURCES.get(each, each)
        try:
            if source not in made:
                made[source] = study(source, run, is_published=is_published)
            table = paper_table(each, made[source], is_published)
        except ResultsError as error:
            if is_single:
                raise
            yield each, str(error)
        else:
            yield each, save_table(table, folder)


def show_tables(found: Iterator[tuple[str, list[Path] | str]]) -> None:
    """Show what `tables` gives in a notebook: the tables, and in words why others are not there."""
    from IPython.display import HTML, display

    for name, made in found:
        if isinstance(made, str):
            print(f"{name}: {made}")
        else:
            display(HTML(next(path for path in made if path.suffix == ".html").read_text("utf-8")))
