"""Waiting for processes of others to end: a zombie that nobody has collected yet counts as ended."""

import time

import psutil


def is_over(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def all_end(processes: list[psutil.Process], seconds: float) -> bool:
    """Whether all are over within some seconds."""
    deadline = time.monotonic() + seconds
    while not all(map(is_over, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
