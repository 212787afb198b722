"""Progress of what takes longer than two seconds: a bar with the time left, wherever the step runs.

Under `workbench run` a step lives in a notebook's kernel; it then reports to the file that the runner reads, and the
runner draws one bar for the whole run.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
FILE_VARIABLE = "WORKBENCH_PROGRESS_FILE"
_REPORT_EVERY = 0.3  # seconds


def track(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """Pass items on and show how many of `total` are done; nothing is shown for what ends within two seconds."""
    file = os.environ.get(FILE_VARIABLE)
    if file is None:
        yield from tqdm(items, total=total, desc=label, delay=2, leave=False, dynamic_ncols=True)
        return
    last = 0.0
    for done, item in enumerate(items):
        if time.monotonic() - last > _REPORT_EVERY:
            last = time.monotonic()
            _report(Path(file), label, done, total)
        yield item
    _report(Path(file), label, total, total)


def read_report(file: Path) -> tuple[str, int, int] | None:
    """What a kernel reported last: label, done, total."""
    try:
        label, done, total = json.loads(file.read_text())
    except (OSError, ValueError):
        return None  # not written yet
    return label, done, total


def _report(file: Path, label: str, done: int, total: int) -> None:
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps([label, done, total]))
    temporary.replace(file)
