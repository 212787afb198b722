"""The engines of this machine: what is found, what it would be started from, and starting and stopping servers."""

import time
from collections.abc import Sequence

import polars as pl

from workbench.backends import BACKENDS, Backend, get_backend
from workbench.errors import EngineError
from workbench.local_model import LocalModel

NAMES = (*BACKENDS, LocalModel.name)  # the databases, and the small model that can be asked
_COLUMNS = {
    "engine": pl.String,
    "found": pl.String,
    "is_running": pl.Boolean,
    "version": pl.String,
    "problem": pl.String,
}
_STOP_SECONDS = 10  # a server ends about two seconds after its last user


def engine_status(names: Sequence[str] | None = None) -> pl.DataFrame:
    """One row an engine: how it is found (null: it is absent), whether it runs, its own version, what is wrong.

    is_running: whether an embedded server was up before it was asked for its version, which may start one; null for what
    is no server of ours.
    """
    rows = []
    for name in names or NAMES:
        backend = _engine(name)
        row = {"engine": name}
        try:
            row["found"] = backend.find()
            if row["found"] is None:
                row["problem"] = f"absent; to get it: {backend.how_to_get}"
            else:
                row["is_running"] = backend.is_running()
                row["version"] = _version(backend)
        except EngineError as error:
            row["problem"] = str(error)
        rows.append(row)
    return pl.DataFrame(rows, schema=_COLUMNS)


def start_engines(names: Sequence[str] | None = None) -> dict[str, str]:
    """Start embedded servers so that they stay until `stop_engines`; engine -> why, for those that cannot be started.

    The model is started only by its name.
    """
    failed = {}
    for name in names or BACKENDS:
        backend = _engine(name)
        try:
            backend.start()
        except EngineError as error:
            failed[name] = str(error)
            continue
        backend.pin(True)
        backend.stop()
    return failed


def stop_engines(names: Sequence[str] | None = None) -> pl.DataFrame:
    """Let embedded servers end and wait for it; one row each. One that somebody still uses ends with that use."""
    backends = [_engine(name) for name in names or NAMES]
    for backend in backends:
        backend.pin(False)
    until = time.monotonic() + _STOP_SECONDS
    while any(backend.is_running() for backend in backends) and time.monotonic() < until:
        time.sleep(0.1)
    rows = [{"engine": backend.name, "is_running": backend.is_running()} for backend in backends]
    return pl.DataFrame(rows, schema={"engine": pl.String, "is_running": pl.Boolean})


def _engine(name: str) -> Backend:
    return LocalModel() if name == LocalModel.name else get_backend(name)


def _version(backend: Backend) -> str:
    if isinstance(backend, LocalModel):  # its program says it without being started
        return backend.version()
    backend.start()
    try:
        return backend.version()
    finally:
        backend.stop()
