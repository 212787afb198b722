"""The benchmark that ships with the workbench: invented databases and questions, built from the readable text here.

It gives the main job real input on a machine that has nothing else. In: one folder per database (schema.sql, CSV
files of hand-written rows, generate.py for the many, descriptions.yaml, questions.yaml). Out: the layout in which
BIRD's dev set is downloaded, so that this and other tools read it as they read BIRD. `README.md` has its figures.
"""

import hashlib
import os
import shutil
import sqlite3
import uuid
from pathlib import Path

from workbench.errors import BenchmarkError
from workbench.paths import cache_dir, real

HERE = Path(__file__).resolve().parent
SOURCE_SUFFIXES = {".py", ".sql", ".csv", ".yaml"}


def source_hash() -> str:
    """16 hex digits over the names and texts of all sources, data and code; line ends do not count."""
    digest = hashlib.sha256()
    for path in sorted(HERE.rglob("*"), key=lambda path: path.relative_to(HERE).as_posix()):
        if path.is_file() and path.suffix in SOURCE_SUFFIXES:
            text = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.relative_to(HERE).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def build() -> Path:
    """The folder of the built benchmark, in the cache under the hash of its sources; nothing is done if it is there.

    Raises BenchmarkError where the cache cannot be written.
    """
    try:
        folder = cache_dir("bundled") / source_hash()
        return folder if folder.is_dir() else _write_whole(folder)
    except (OSError, sqlite3.Error) as error:
        raise _unwritable(error, "the cache", "WORKBENCH_CACHE moves the cache") from error


def export(folder: str | Path) -> Path:
    """The benchmark written to a new or empty folder; raises BenchmarkError for any other and an unwritable one."""
    folder = real(folder)
    try:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        if os.path.lexists(folder):
            raise BenchmarkError("is not an empty folder", where=folder, hint="name a folder that does not exist yet")
        folder.parent.mkdir(parents=True, exist_ok=True)
        return _write_whole(folder)
    except (OSError, sqlite3.Error) as error:
        raise _unwritable(error, folder, "name a folder that can be written") from error


def _write_whole(folder: Path) -> Path:
    """Written beside its place and renamed into it: another process sees a whole benchmark or none."""
    from workbench.bundled.layout import write_layout

    partial = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:12]}")
    partial.mkdir()
    try:
        write_layout(partial)
        os.rename(partial, folder)
    except OSError:
        if not (folder / "dev.json").is_file():
            raise
        # another process was first with the same contents
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _unwritable(error: OSError | sqlite3.Error, where: object, hint: str) -> BenchmarkError:
    what = f"the bundled benchmark cannot be written: {getattr(error, 'strerror', None) or error}"
    return BenchmarkError(what, where=getattr(error, "filename", None) or where, hint=hint)
