"""The engines of this machine: what is found, what it would be started from, and starting and stopping servers."""

from collections.abc import Sequence

import polars as pl

from workbench.backends import BACKENDS, get_backend
from workbench.errors import EngineError

_COLUMNS = {
    "engine": pl.String,
    "found": pl.String,
    "is_running": pl.Boolean,
    "version": pl.String,
    "how_to_get": pl.String,
}


def engine_status(names: Sequence[str] | None = None) -> pl.DataFrame:
    """One row an engine: how it is found (null: it is absent), whether a server is up, its own version, how to get it.

    Versions come from the engine itself, which is started for that; why it did not start stands in their place.
    """
    rows = []
    for name in names or BACKENDS:
        backend = get_backend(name)
        found = backend.find()
        row = {
            "engine": name,
            "found": found,
            "is_running": False,
            "version": None,
            "how_to_get": None if found else backend.how_to_get,
        }
        if found:
            row["is_running"] = backend.is_running()
            row["version"] = _version(backend)
        rows.append(row)
    return pl.DataFrame(rows, schema=_COLUMNS)


def start_engines(names: Sequence[str] | None = None) -> None:
    """Start embedded servers so that they stay until `stop_engines`. EngineError for one that cannot be."""
    for name in names or BACKENDS:
        backend = get_backend(name)
        backend.start()
        backend.pin(True)
        backend.stop()


def stop_engines(names: Sequence[str] | None = None) -> None:
    """Let embedded servers end as soon as nobody uses them."""
    for name in names or BACKENDS:
        get_backend(name).pin(False)


def _version(backend) -> str:
    try:
        backend.start()
    except EngineError as error:
        return f"does not start: {error}"
    try:
        return backend.version()
    finally:
        backend.stop()
