"""A worker process seen from its parent: ask, listen until a deadline, kill.

For engines that are libraries: hostile SQL runs in a process that can be ended from outside whatever it is doing.
In: a script of this folder that imports no more than it needs, run by path. Between them: marshalled Python values
(numbers, text, bytes, lists), each behind its length in 8 bytes; marshal, because a taken-over worker must not be able
to run code here by sending a pickle.
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


class WorkerGone(Exception):
    """The worker ended by itself. str(error) says how."""


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
        try:
            self.greeting = self.receive(time.monotonic() + START_WAIT)
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
        try:
            self._write(len(data).to_bytes(8, "little") + data)
        except BrokenPipeError:
            raise self._gone() from None

    def receive(self, deadline: float) -> object:
        """The worker's next value. TimeoutError at the deadline (time.monotonic), WorkerGone if it ends before."""
        size = None
        while True:
            if size is None and len(self._received) >= 8:
                size = int.from_bytes(self._received[:8], "little")
            if size is not None and len(self._received) >= 8 + size:
                value = marshal.loads(memoryview(self._received)[8 : 8 + size])
                self._received = self._received[8 + size :]
                return value
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not self._poll.poll(remaining * 1000):
                raise TimeoutError
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

    def _gone(self) -> WorkerGone:
        return WorkerGone(f"the engine's process {ended(self._process.wait())}")
