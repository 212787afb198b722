"""The engines that a plan can be written for: one line each, one file each.

`DIALECTS[name]` is the class of differences; key, file name and `.name` are the same word.
"""

from importlib import import_module

from workbench.dialects.base import Dialect
from workbench.errors import EngineError

NAMES = ("sqlite", "postgres", "mysql", "clickhouse", "duckdb", "snowflake", "bigquery")


def get_dialect(name: str) -> type[Dialect]:
    """The dialect of a name. Raises EngineError naming those that are there."""
    if name not in NAMES:
        raise EngineError(f"no dialect {name!r}", hint=f"available: {', '.join(NAMES)}")
    return import_module(f"workbench.dialects.{name}").DIALECT
