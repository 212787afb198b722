"""Where the schema of a plan comes from: an SQLite file, a tables.json, or a benchmark folder.

In: a path as the command line names it. Out: a `SchemaSource`, asked for schemas by the database's name, each read once.
"""

from pathlib import Path

from workbench.benchmarks import read_benchmark
from workbench.errors import BenchmarkError
from workbench.records import read_json
from workbench.schema import SQLITE_MAGIC, Schema
from workbench.sqlite_source import with_stored_kinds


class SchemaSource:
    """names: the databases there; None in it stands for the one of an SQLite file, which goes by any name."""

    def __init__(self, path: str | Path):
        """Raises BenchmarkError where the path holds no schema."""
        self.path, self._schemas = path, {}
        self._read = self._reader(Path(path), str(path) == "bundled")

    def __call__(self, db_id: str | None = None) -> Schema:
        """The schema of a database; None where there is only one. Raises BenchmarkError naming those that are there."""
        if None in self.names:
            db_id = None
        elif db_id is None and len(self.names) == 1:
            db_id = self.names[0]
        if db_id not in self.names:
            what = "say which database" if db_id is None else f"there is no database {db_id!r:.100}"
            raise BenchmarkError(what, where=self.path, hint=f"available: {', '.join(self.names[:20])}")
        if db_id not in self._schemas:
            self._schemas[db_id] = self._read(db_id)
        return self._schemas[db_id]

    def _reader(self, path: Path, is_bundled: bool):
        if not is_bundled and path.is_file():
            with path.open("rb") as file:
                is_database = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
            if is_database:
                self.names = [None]
                return lambda _: with_stored_kinds(Schema.from_sqlite(path), path)
            entries = read_json(path, BenchmarkError)
            is_list = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
            by_name = {entry.get("db_id"): entry for entry in entries} if is_list else {}
            self.names = [name for name in by_name if isinstance(name, str)]
            if not self.names:
                raise BenchmarkError("neither an SQLite database nor a tables.json", where=path)
            return lambda name: Schema.from_tables_json(by_name[name])
        benchmark = read_benchmark(self.path)
        self.names = benchmark.database_names()
        return benchmark.schema
