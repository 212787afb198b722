"""The engines, one file and one line each."""

from workbench.backends.base import STATUSES, Backend, Execution, Limits, Session
from workbench.backends.clickhouse import ClickHouseBackend
from workbench.backends.duckdb import DuckDBBackend
from workbench.backends.mysql import MySQLBackend
from workbench.backends.postgres import PostgresBackend
from workbench.backends.sqlite import SQLiteBackend
from workbench.errors import EngineError

BACKENDS: dict[str, type[Backend]] = {
    "sqlite": SQLiteBackend,
    "postgres": PostgresBackend,
    "mysql": MySQLBackend,
    "clickhouse": ClickHouseBackend,
    "duckdb": DuckDBBackend,
}

__all__ = ["BACKENDS", "STATUSES", "Backend", "Execution", "Limits", "Session", "get_backend"]


def get_backend(name: str) -> Backend:
    """An engine by its name. EngineError naming the available ones."""
    if name not in BACKENDS:
        raise EngineError(f"no engine {name!r}", hint=f"available: {', '.join(BACKENDS)}")
    return BACKENDS[name]()
