"""A worker process seen from its parent: ask, listen until a deadline, kill.

For engines that are libraries: hostile SQL runs in a process that can be ended from outside whatever it is doing.
In: a script of this folder that imports no more than it needs, run by path. Between them: marshalled Python values
(numbers, text, bytes, lists), each behind its length in 8 bytes; marshal, because a taken-over worker must not be able
to run code here by sending a pickle.
While it listens, the parent looks at the worker's memory: an engine's own limit counts what it plans for, not what a
single function takes, and the cap on the address space has to leave room for libraries and allocators' reserves.
"""

import contextlib
import fcntl
import marshal
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from workbench.backends.base import without_paths
from workbench.backends.keeper import ended, is_alive
from workbench.errors import EngineError

PIPE_BYTES = 2**20  # so that one side goes on while the other is at work; what Linux allows everybody
STARTS = 5  # tries
KILLED = ended(-signal.SIGKILL)  # by somebody, or for want of memory
START_WAIT = 30.0  # seconds until a new worker must have said its first word
LOOK_EVERY = 0.05  # seconds between two looks at a worker's memory; a quicker statement is not looked at
# What a process may take over its limit beside what it takes when idle: a quarter, as allocators keep what was freed in
# pieces, at least so many bytes. ClickHouse 26.9 is 170 MiB over a limit of 1 GiB that it holds itself, DuckDB 2.0 none.
SLACK_SHARE, LEAST_SLACK = 0.25, 256 * 2**20
LOAD_RATE = 2**26  # bytes of values that are read in a second, on a busy machine too
PAGE = os.sysconf("SC_PAGE_SIZE")


class WorkerGone(Exception):
    """The worker ended by itself. str(error) says how."""


class TooMuchMemory(Exception):
    """The worker has taken more memory than it may."""


def own_memory(pid: int) -> int:
    """Bytes of a process's memory, pages of files left out: they cost nobody anything. 0 where there is no /proc."""
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):  # it has just ended
        return 0
    return (resident - shared) * PAGE


def begin(start: Callable[[], "Worker"], engine: str) -> "Worker":
    """A new worker; one that is killed as it starts is started again. EngineError if there is none to be had."""
    for tries_left in reversed(range(STARTS)):
        try:
            return start()
        except (WorkerGone, TimeoutError, OSError) as error:
            if not (tries_left and KILLED in str(error)):
                raise EngineError(f"no worker process: {without_paths(error)}", where=engine) from error
    raise AssertionError("unreachable")


class Worker:
    """One child process. It ends when its standard input closes, so also when this process dies."""

    def __init__(self, script: Path, *arguments: str, environment: dict[str, str] | None = None):
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/", env=environment or {}, bufsize=0,
        )  # fmt: skip
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(AttributeError, OSError):  # no Linux, or many pipes are open: small ones do
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.turn = threading.Lock()  # for owners who share a worker: held from a question to its last answer
        self._received = bytearray()
        self._poll = select.poll()
        self._poll.register(self._process.stdout, select.POLLIN)
        self._next_look = 0.0  # time.monotonic
        try:
            self.greeting = self.receive(time.monotonic() + START_WAIT)
            self._idle_memory = own_memory(self.pid)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None and is_alive(self.pid)  # killed, it is a zombie until its threads are gone

    def send(self, value: object) -> None:
        data = marshal.dumps(value)
        self._next_look = time.monotonic() + LOOK_EVERY
        try:
            self._write(len(data).to_bytes(8, "little") + data)
        except BrokenPipeError:
            raise self._gone() from None

    def receive(self, deadline: float, memory: int | None = None) -> object:
        """The worker's next value. TimeoutError at the deadline (time.monotonic), WorkerGone if it ends before.

        memory: bytes that it may take meanwhile over what it takes when idle, and some slack; else TooMuchMemory.
        """
        size = None
        while True:
            if size is None and len(self._received) >= 8:
                size = int.from_bytes(self._received[:8], "little")
            if size is not None and len(self._received) >= 8 + size:
                if size > PIPE_BYTES and time.monotonic() + size / LOAD_RATE > deadline:
                    raise TimeoutError  # it would be over when the value is read
                value = marshal.loads(memoryview(self._received)[8 : 8 + size])
                self._received = self._received[8 + size :]
                return value
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError
            if memory is not None and now >= self._next_look:
                self._look_at_memory(memory)
                self._next_look = now + LOOK_EVERY
            until = deadline if memory is None else min(deadline, self._next_look)
            if not self._poll.poll(1000 * (until - now)):
                continue
            data = os.read(self._process.stdout.fileno(), 2**20)
            if not data:
                raise self._gone()
            self._received += data

    def close(self) -> None:
        """Ask a worker that knows the word to end, and wait until it has. WorkerGone, TimeoutError."""
        self.send(["close", ""])
        self.receive(time.monotonic() + START_WAIT)

    def end(self) -> None:
        """From another thread: end it, so that whoever listens hears that it is gone."""
        self._process.kill()

    def kill(self) -> None:
        """End it now, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._process.stdin.fileno(), view) :]

    def _look_at_memory(self, limit: int) -> None:
        if own_memory(self.pid) > self._idle_memory + limit + max(LEAST_SLACK, SLACK_SHARE * limit):
            raise TooMuchMemory

    def _gone(self) -> WorkerGone:
        return WorkerGone(f"the engine's process {ended(self._process.wait())}")
