"""Progress of what takes longer than two seconds: a bar with the time left, wherever the step runs.

Under `workbench run` a step lives in a notebook's kernel; it then reports to the file that the runner reads, and the
runner draws one bar for the whole run.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
FILE_VARIABLE = "WORKBENCH_PROGRESS_FILE"
_REPORT_EVERY = 0.3  # seconds


def track(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """Pass items on and show how many of `total` are done; nothing is shown for what ends within two seconds."""
    with progress(total, label) as step:
        for item in items:
            yield item
            step()


@contextmanager
def progress(total: int, label: str) -> Iterator[Callable[..., None]]:
    """A function to call for each one of `total` that is done, with a note that stands behind the time left."""
    file = os.environ.get(FILE_VARIABLE)
    if file is None:
        with tqdm(total=total, desc=label, delay=2, leave=False, dynamic_ncols=True) as bar:

            def step(note: str = "") -> None:
                if note:
                    bar.set_postfix_str(note, refresh=False)
                bar.update()

            yield step
        return
    done, last = 0, 0.0

    def report(note: str = "") -> None:
        nonlocal done, last
        done += 1
        if time.monotonic() - last > _REPORT_EVERY:
            last = time.monotonic()
            _report(Path(file), f"{label}, {note}," if note else label, done, total)

    _report(Path(file), label, 0, total)
    yield report
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
