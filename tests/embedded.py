"""What the tests of the embedded library engines share: the traps of test_migrate.py told for another engine."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import polars as pl
from test_migrate import TRAPS, Benchmark, Trap, bag, table_name

from workbench import migrate
from workbench.backends import Limits, get_backend
from workbench.engine_names import engine_names

LIMITS = Limits(seconds=20, rows=1_000_000, bytes=2**28)
QUICK = Limits(seconds=1, rows=10_000, bytes=2**20, memory=2**28)
# Traps as they come out of an engine whose text can hold the character NUL.
HOLD_NUL = {
    "NUL_in_text": {"expected": [("a\0b",), ("ab",)], "converted": None, "notes": ()},
    "text_and_blobs": {"expected": [("é",), ("abc",), ("\ufffd\0",), ("",), (None,)]},
}


def traps(types: dict[str, str], **changes: dict) -> list[Trap]:
    """The traps with another engine's types; changes: a trap's id with underscores -> what is different in it."""
    for name, difference in HOLD_NUL.items():
        changes.setdefault(name, difference)
    found = [replace(trap, types=[types[kind] for kind in trap.types]) for trap in TRAPS]
    return [replace(trap, **changes.get(trap.id.replace(" ", "_"), {})) for trap in found]


def copy(engine: str, nasty: Path) -> tuple[str, pl.DataFrame]:
    """The nasty database's copy in an engine, and its report."""
    prepared = migrate.prepare(Benchmark("traps", {"nasty": nasty}), [engine])
    assert prepared.failed == {} and prepared.unavailable == {}
    return migrate.ensure_database(get_backend(engine), nasty, "nasty"), prepared.report


def assert_is_exact(trap: Trap, session, database: str, report: pl.DataFrame, name_bytes: int, quote) -> None:
    """Rows, types and remarks of one trap's table are what they should be."""
    mine = report.filter(pl.col("table") == table_name(trap))
    columns = mine.filter(pl.col("column").is_not_null())
    target = quote(engine_names([table_name(trap)], name_bytes)[table_name(trap)])
    execution = session.run(database, f"SELECT * FROM {target}", LIMITS)
    assert execution.status == "ok", execution.message
    assert bag(execution.table.rows()) == bag(trap.rows if trap.expected is None else trap.expected)
    assert columns["engine_type"].to_list() == trap.types
    mapped = sum(a != b for a, b in zip(execution.table.columns, columns["column"], strict=True))
    assert mapped == columns["note"].fill_null("").str.contains("is named").sum()
    changed = columns.filter(pl.col("converted") > 0)
    assert dict(zip(changed["column"], changed["converted"], strict=True)) == (trap.converted or {})
    notes = "\n".join(mine["note"].drop_nulls())
    assert all(note in notes for note in trap.notes), notes


def assert_real_databases_are_exact(engine: str, session, shared: Path) -> int:
    """Copy Spider's and superhero's databases and compare every row with Python's own SQLite; the number of rows."""
    import sqlite3

    files = sorted((shared / "data").glob("spider/database/*/*.sqlite"))
    files += sorted((shared / "data").glob("bird/dev_databases/*/*.sqlite"))
    assert len(files) == 11
    prepared = migrate.prepare(Benchmark("real", {file.stem: file for file in files}), [engine])
    assert prepared.failed == {} and prepared.unavailable == {}
    convert = {"integer": int, "real": float, "text": str, "blob": bytes}
    kinds_of = {word: kind for kind, word in migrate._loader(get_backend(engine)).TYPES.items()}
    checked = 0
    for file in files:
        name = migrate.ensure_database(get_backend(engine), file, file.stem)
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            for (table,) in connection.execute(sql).fetchall():
                columns = prepared.report.filter(
                    (pl.col("db_id") == file.stem) & (pl.col("table") == table) & pl.col("column").is_not_null()
                )
                kinds = [kinds_of[word] for word in columns["engine_type"]]
                rows = [
                    tuple(v if v is None else convert[kind](v) for v, kind in zip(row, kinds, strict=True))
                    for row in connection.execute(f'SELECT * FROM "{table}"')
                ]
                execution = session.run(name, f'SELECT * FROM "{table}"', LIMITS)
                assert execution.status == "ok", execution.message
                assert bag(rows) == bag(execution.table.rows()), (file.stem, table)
                checked += len(rows)
    return checked
