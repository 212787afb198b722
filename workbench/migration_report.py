"""What a copy changed, as a table: every converted value counted, every dropped key and mapped name said.

In: planned tables after they were copied. Out: frames with REPORT_COLUMNS, and a Preparation that collects them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from workbench.column_types import PlannedColumn, PlannedTable

REPORT_COLUMNS = {
    "benchmark": pl.String,
    "engine": pl.String,
    "db_id": pl.String,
    "table": pl.String,
    "column": pl.String,  # null: the row is about the table, or about the database where that is null too
    "declared_type": pl.String,
    "engine_type": pl.String,
    "values": pl.Int64,  # stored, without NULLs
    "converted": pl.Int64,  # of these, the ones whose type or text changed
    "note": pl.String,
}


@dataclass(frozen=True)
class Preparation:
    """report: columns as REPORT_COLUMNS, a row per column and per remark on a table. seconds: wall time of the whole.

    unavailable: engine -> why it could not be used. failed: (engine, db_id) -> why there is no copy.
    """

    report: pl.DataFrame
    unavailable: dict[str, str] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    seconds: float = 0.0

    def changes(self) -> pl.DataFrame:
        """The report's rows where something is not as in the file: changed values, dropped keys, mapped names, views."""
        return self.report.filter((pl.col("converted") > 0) | pl.col("note").is_not_null())

    def __str__(self) -> str:
        columns = self.report.filter(pl.col("column").is_not_null()).group_by("engine", maintain_order=True)
        sums = columns.agg(pl.col("db_id").n_unique(), pl.len(), pl.col("converted").sum())
        lines = [
            f"{engine}: {dbs} databases, {n} columns, {changed} values converted"
            for engine, dbs, n, changed in sums.rows()
        ]
        lines += [f"{engine}: not used: {reason}" for engine, reason in self.unavailable.items()]
        lines += [f"{engine}: {db_id} not copied: {reason}" for (engine, db_id), reason in self.failed.items()]
        return "\n".join([*lines, f"prepared in {self.seconds:.1f} s"])


def report_rows(
    engine: str, db_id: str, types: dict[str, str], tables: Sequence[PlannedTable], others: Sequence[tuple[str, str]]
) -> pl.DataFrame:
    """One database's part of the report, the benchmark's name still open.

    types: the engine's word for each kind. others: (name, what it is) of all that is not a table and was left out.
    """
    rows = []

    def add(table=None, column=None, declared=None, given=None, values=None, converted=None, note=None) -> None:
        rows.append((None, engine, db_id, table, column, declared, given, values, converted, note))

    for table in tables:
        name = table.source.name
        if table.engine_name != name:
            add(name, note=f"is named {table.engine_name!r} there")
        for note in table.notes:
            add(name, note=note)
        for column in table.columns:
            source = column.source
            note = "; ".join(_remarks(column)) or None
            given = column.engine_type or types[column.kind]
            add(name, source.name, source.declared_type, given, column.values, column.converted, note)
    for name, kind in others:
        add(name, note=f"a {kind}: not copied")
    if not tables:
        add(note="holds no table")
    return pl.DataFrame(rows, schema=REPORT_COLUMNS, orient="row")


def _remarks(column: PlannedColumn) -> Iterator[str]:
    if column.engine_name != column.source.name:
        yield f"is named {column.engine_name!r} there"
    if column.source.is_generated:
        yield "generated: its values are stored"
    for kind, number in column.stored.items():
        if kind != column.kind:
            yield f"{number} of kind {kind} became {column.kind}"
    if column.rounded:
        yield f"{column.rounded} beyond 2^53 rounded to the nearest double"
    if column.repaired:
        yield f"{column.repaired} texts with U+FFFD for what is not UTF-8 or cannot be held"
    if column.clamped:
        yield f"{column.clamped} infinities became the largest double"
    yield from column.notes
