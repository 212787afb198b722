"""Says whether a copy's files still are what they were when it was proved: none gone, cut short or written to.

In: the file or folder of a published copy. Out: a note in the cache of every file's size and time, looked at once by each
process; a copy that does not match it, or has none, counts as absent and is made again. What changes under a running
engine, or without changing a file's time, is the engine's own checksums' to find.
"""

import json
import os
from pathlib import Path

from workbench import paths

_known: set[tuple[str, int, int]] = set()  # copies that this process has looked at


def seal(engine: str, database: str, copy: Path) -> None:
    """Note the files of a finished copy, which may still lie under its working name."""
    note = _note(engine, database)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.with_suffix(".new").write_text(json.dumps(_files(copy)))
    note.with_suffix(".new").replace(note)


def is_whole(engine: str, database: str, copy: Path) -> bool:
    """Whether a published copy is there as it was sealed."""
    try:
        found = copy.stat()
        key = (str(copy), found.st_ino, found.st_mtime_ns)
        if key not in _known:
            now = _files(copy)
            sealed = json.loads(_note(engine, database).read_text())
            if any(now.get(name) != facts for name, facts in sealed.items()):
                return False
            _known.add(key)
    except (FileNotFoundError, ValueError):  # no copy, no note, half a note
        return False
    return True


def _files(copy: Path) -> dict[str, list[int]]:
    """Size and time of modification (ns) of each file, by its path within the copy."""
    files = [copy] if copy.is_file() else [Path(folder, name) for folder, _, names in os.walk(copy) for name in names]
    return {
        str(file.relative_to(copy)): [found.st_size, found.st_mtime_ns] for file in files for found in [file.lstat()]
    }


def _note(engine: str, database: str) -> Path:
    return paths.cache_path("copies", engine, f"{database}.files")
