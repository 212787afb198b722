"""Tells a full disk from all other faults, in one line that names the folder and the way out.

In: whatever fails while an engine starts, copies a database, or opens one for a statement. Out: the same kind of error, which says that the disk
is full where the engine's own words say so, or its server's (one that cannot write its log dies, and its user hears of
a lost connection only), or where hardly anything is left.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench import paths
from workbench.backends.base import without_paths
from workbench.errors import BenchmarkError, EngineError, MigrationError, WorkbenchError

FULL = "the disk is full"
SCARCE = 24 * 2**20  # bytes; PostgreSQL takes 16 MiB at once for its log
WORDS = re.compile(
    r"no space left|disk (is )?full|not enough (disk )?space|errno:? 28|error number 28|the table '[^']*' is full",
    re.IGNORECASE,
)


@contextmanager
def explained(
    engine: str, folder: Path | None, kind: type[WorkbenchError], database: str | None = None
) -> Iterator[None]:
    """Say of what fails inside that the disk is full, if it is; what the system refuses becomes an error of this kind.

    folder: the engine's folder of the cache, None for somebody else's server. database: what is being copied.
    """
    log = folder / "server.log" if folder is not None else None
    before = log.stat().st_size if log is not None and log.exists() else 0
    try:
        yield
    except (EngineError, MigrationError, BenchmarkError, OSError) as error:
        where = f"{engine}, database {database}" if database else engine
        said = error.what if isinstance(error, WorkbenchError) else _refusal(error)
        logged = _since(log, before) if log is not None and log.exists() else ""
        if said.startswith(FULL):  # said already, further in, where it may not be known what for
            raise type(error)(said, where=where if database else error.where, hint=error.hint) from error
        if is_full(f"{said}\n{logged}", folder):
            kind = type(error) if isinstance(error, WorkbenchError) else kind
            words = next((line for line in (said, *reversed(logged.splitlines())) if WORDS.search(line)), said)
            raise _full(kind, where, folder, without_paths(words)) from error
        if isinstance(error, OSError):
            raise kind(said, where=where) from error
        raise


def _refusal(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)


def is_full(words: str, folder: Path | None) -> bool:
    """Whether an engine's words say that its disk is full, or the disk of its folder or of the cache is."""
    return bool(WORDS.search(words)) or (folder is not None and any(_free(place) < SCARCE for place in _places(folder)))


def _full(kind: type[WorkbenchError], where: str, folder: Path | None, words: str) -> WorkbenchError:
    if folder is None:
        return kind(f"{FULL} on the server: {words}", where=where, hint="free space there, and give the command again")
    place = min((*_places(folder), Path(tempfile.gettempdir())), key=_free)
    usage = _usage(place)
    variable = "WORKBENCH_CACHE" if place == paths.cache_path() else "TMPDIR"
    return kind(
        f"{FULL}, {usage.free >> 20} of {usage.total >> 20} MB are left in {place}: {words}",
        where=where,
        hint=f"free space there, or let {variable} name a folder with more, and give the same command again",
    )


def _places(folder: Path) -> list[Path]:
    """The cache, and the home of a server's data where that lies elsewhere (server.py)."""
    note = folder / "home"
    return [paths.cache_path(), *([Path(note.read_text())] if note.exists() else [])]


def _free(folder: Path) -> int:
    """Bytes that are left to us on a folder's disk."""
    return _usage(folder).free


def _usage(folder: Path):
    return shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.exists()))


def _since(log: Path, start: int) -> str:
    """What a server has said since then: all of it if it has been started anew."""
    data = log.read_bytes()
    return (data[start:] if len(data) >= start else data).decode(errors="replace")
