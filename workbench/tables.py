"""Every study table as a table for a paper: which columns, their decimals, what is best.

In: a study table (study.py), or the papers' printed one of the same name. Out: `paper_table`, a `print_tables.Table`, and
`save_table`, its three files. Percent have one decimal as in the papers, intervals stand in brackets, the best number of each
benchmark is bold, simulated and published data are said in the title.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import polars as pl
import yaml

from workbench.captions import BENCHMARKS, DASH, ENGINES, METRICS, listed, simulated_note
from workbench.errors import ResultsError
from workbench.figure_rows import one_engine
from workbench.print_tables import Cell, Table, html, latex, markdown
from workbench.results import write_whole

FORMS = {"tex": latex, "md": markdown, "html": html}


class Column(NamedTuple):
    head: str
    field: str
    kind: str = "text"  # text | count | percent (of a fraction) | points (already percent) | number | p
    decimals: int = 0
    has_best: bool = False  # the highest number is bold
    has_interval: bool = False  # from field_low to field_high, or from low to high


class Layout(NamedTuple):
    title: str
    columns: list[Column]
    notes: str = ""
    as_published: str | None = None  # notes of the papers' own table


def _one_engine(frame: pl.DataFrame) -> pl.DataFrame:
    return one_engine(frame)[0] if "engine" in frame.columns else frame


def _fidelity(frame: pl.DataFrame) -> pl.DataFrame:
    """A row a method, a column an engine, as the plans paper prints it."""
    if "engine" not in frame.columns:
        return frame
    return frame.pivot("engine", index=["run", "method"], values="share").join(
        frame.group_by("run", "method").agg(pl.col("n").min()), on=["run", "method"], maintain_order="left"
    )


def _gap(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("engine").replace(ENGINES))


def _ranked(frame: pl.DataFrame) -> pl.DataFrame:
    """Models by execution accuracy, the best first, as HES-SQL's table 2 has them."""
    if "rank" in frame.columns:
        return frame
    rows = _one_engine(frame.filter(grade="all")).drop_nulls("ex").sort("ex", "model", descending=[True, False])
    ends = [(100 * pl.col(f"ex{end}")).alias(f"value{end}") for end in ("", "_low", "_high")]
    return rows.with_columns(
        *ends,
        pl.lit("bird_ex").alias("metric"),
        rank=pl.col("ex").rank("min", descending=True).over("benchmark"),
        n=pl.col("judged"),
    )


def _shares(scheme: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def prepare(frame: pl.DataFrame) -> pl.DataFrame:
        rows = _one_engine(frame.filter(scheme=scheme))
        keys = [
            "run",
            "benchmark",
            "model",
            "params_b",
            "is_simulated",
            "target",
            "engine",
            "metric",
            "errors",
            "unsorted",
        ]
        return rows.pivot("name", index=keys, values="share")

    return prepare


def _same(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


PREPARED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "roundtrip": _fidelity,
    "metric_gap": _gap,
    "ranking": _ranked,
    "structure": _one_engine,
    "efficiency": _one_engine,
    "error_categories": _shares("category"),
    "error_types": _shares("type"),
}


@lru_cache(maxsize=1)
def _layouts() -> dict[str, Layout]:
    """Those of table_layouts.yaml."""
    found = yaml.safe_load(Path(__file__).with_name("table_layouts.yaml").read_text("utf-8"))
    return {
        name: Layout(
            of["title"], [_column(*words) for words in of["columns"]], of.get("notes", ""), of.get("as_published")
        )
        for name, of in found.items()
    }


def _column(head: str, field: str, kind: str = "text", *flags: str) -> Column:
    kind, _, decimals = kind.partition(" ")
    return Column(head, field, kind, int(decimals or 0), "best" in flags, "interval" in flags)


SOURCES = {
    "ranking": "structure",
    "error_categories": "errors",
    "error_types": "errors",
}  # of a run: the study they show


def table_names(studies: list[str], is_published: bool) -> list[str]:
    """Every table that these studies give: those with a layout first, others with all of their columns."""
    laid_out = [name for name in _layouts() if (name if is_published else SOURCES.get(name, name)) in studies]
    shown = {SOURCES.get(name, name) for name in laid_out} | set(laid_out)
    return laid_out + [name for name in studies if name not in shown]


def paper_table(name: str, frame: pl.DataFrame, is_published: bool = False) -> Table:
    """A study table in words. frame: of the study SOURCES names, else of that name. ResultsError where it is empty."""
    if frame.is_empty():
        raise ResultsError("nothing to print: the table is empty", where=f"table {name}")
    layout = _layouts().get(name) or _plain_layout(name, frame)
    rows = PREPARED.get(name, _same)(frame)
    fields = [c for c in layout.columns if c.field in rows.columns and rows[c.field].null_count() < rows.height]
    benchmarks = rows["benchmark"].unique(maintain_order=True).to_list() if "benchmark" in rows.columns else [None]
    groups = []
    for benchmark in benchmarks:
        part = rows if benchmark is None else rows.filter(pl.col("benchmark").eq_missing(pl.lit(benchmark)))
        best = _best(part, fields)
        cells = [
            [
                Cell(_words(row, c), row[c.field] is not None and row[c.field] == best.get((c.field, row.get("grade"))))
                for c in fields
            ]
            for row in part.iter_rows(named=True)
        ]
        groups.append((BENCHMARKS.get(benchmark, benchmark) if len(benchmarks) > 1 else None, cells))
    is_number = [column.kind != "text" for column in fields]
    has_interval = any(c.has_interval and _ends(row, c) for row in rows.iter_rows(named=True) for c in fields)
    said = layout.as_published if is_published and layout.as_published else layout.notes
    said = said if has_interval else said.partition("In brackets")[0]
    notes = [said, _bold_note(fields, groups), *_simulated(rows)]
    title = _title(layout.title, rows, benchmarks) + (", as published" if is_published else "")
    return Table(
        name, title, [c.head for c in fields], is_number, groups, " ".join(filter(None, map(str.strip, notes)))
    )


def _best(part: pl.DataFrame, fields: list[Column]) -> dict[tuple[str, str | None], float]:
    """The highest number of each column that has one, of each grade where there are grades; none of a single row."""
    grades = part.partition_by("grade", as_dict=True) if "grade" in part.columns else {(None,): part}
    return {
        (column.field, grade): rows[column.field].max()
        for (grade,), rows in grades.items()
        for column in fields
        if column.has_best and rows[column.field].count() > 1
    }


def save_table(table: Table, folder: str | Path) -> list[Path]:
    """Write folder/table_NAME.tex, .md and .html, each whole or not at all; the paths."""
    made = {Path(folder) / f"table_{table.name}.{form}": write(table) for form, write in FORMS.items()}
    for path, text in made.items():
        write_whole(path, text.encode())
    return list(made)


def _plain_layout(name: str, frame: pl.DataFrame) -> Layout:
    """All columns but lists, as they are called, of a study that no paper prints."""
    flat = [(field, dtype) for field, dtype in frame.schema.items() if not dtype.is_nested() and field != "run"]
    kinds = [("count" if dtype.is_integer() else "number" if dtype.is_float() else "text") for _, dtype in flat]
    columns = tuple(
        Column(field.replace("_", " "), field, kind, 3) for (field, _), kind in zip(flat, kinds, strict=True)
    )
    return Layout(name.replace("_", " ").capitalize(), columns)


def _title(words: str, rows: pl.DataFrame, benchmarks: list[str | None]) -> str:
    simulated = rows["is_simulated"].drop_nulls().to_list() if "is_simulated" in rows.columns else []
    start = "" if not any(simulated) else "SIMULATED predictions: " if all(simulated) else "Partly SIMULATED: "
    on = f" on {BENCHMARKS.get(benchmarks[0], benchmarks[0])}" if len(benchmarks) == 1 and benchmarks[0] else ""
    return f"{start}{words}{on}"


def _simulated(rows: pl.DataFrame) -> list[str]:
    needed = {"is_simulated", "model"}
    return simulated_note(rows.select(needed).to_dicts()) if needed <= set(rows.columns) else []


def _bold_note(fields: list[Column], groups: list) -> str:
    marked = {fields[i].head for _, rows in groups for row in rows for i, cell in enumerate(row) if cell.is_best}
    return f"Bold: the best ({listed(marked)})." if marked else ""


def _ends(row: dict, column: Column) -> tuple[float, float] | None:
    """The interval of a number, whose columns are named after it or, where a table has one alone, after nothing."""
    for low, high in (
        (f"{column.field}_low", f"{column.field}_high"),
        (f"{column.field.split('_')[0]}_low", f"{column.field.split('_')[0]}_high"),
        ("low", "high"),
    ):
        if row.get(low) is not None and row.get(high) is not None:
            return row[low], row[high]
    return None


def _words(row: dict, column: Column) -> str:
    value = row[column.field]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return DASH
    if column.kind == "text":
        return METRICS.get(value, str(value)) if column.field == "metric" else str(value)
    if column.kind == "count":
        return f"{value:,.0f}"
    if column.kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if column.field == "params_b":
        return f"{value:g}"
    scale = 100 if column.kind == "percent" else 1
    shown = [value, *(_ends(row, column) or ())] if column.has_interval else [value]
    text, *ends = [f"{number * scale:,.{column.decimals}f}".replace("-", "\N{MINUS SIGN}") for number in shown]
    return text + (f" [{', '.join(ends)}]" if ends else "")
