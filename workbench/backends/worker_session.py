"""A session whose statements run in a worker process: for engines that are libraries and are loaded into a worker.

In: how a worker is started, and how an engine's error becomes a status. A worker is asked with [database, sql, seconds,
rows, bytes, memory, ...] and answers any number of ["rows", rows, is_packed], then ["done", error or None, message,
columns, seconds]; error is "timeout", "too_large", "unreadable" or what the engine calls it.
"""

import threading
import time
from collections.abc import Callable, Sequence

from workbench.backends import wire
from workbench.backends.base import Execution, Limits, Session, without_paths
from workbench.backends.take_rows import Rows
from workbench.backends.worker import TooMuchMemory, Worker, WorkerGone, begin
from workbench.errors import BenchmarkError

KILL_AFTER = 0.5  # seconds over the limit that a worker has to say so itself


class WorkerSession(Session):
    """One worker process, replaced when it had to be killed.

    start() gives a new worker; end(worker) ends it and removes what it used. status_of(error, message) is the kind of
    an engine's error. more: values that every request ends with.
    """

    def __init__(
        self,
        engine: str,
        start: Callable[[], Worker],
        end: Callable[[Worker], None],
        status_of: Callable[[str, str], str],
        more: Sequence = (),
    ):
        self._engine, self._start, self._end, self._status_of, self._more = engine, start, end, status_of, more
        self._worker: Worker | None = None
        self._ending: threading.Thread | None = None  # of a worker that was killed
        self._memory = 0  # limit of the worker's last statement

    def run(self, database: str, sql: str, limits: Limits) -> Execution:
        if self._worker is not None and not self._worker.is_alive():
            self.close()  # killed since its last statement, which is no fault of the next one
        if self._worker is not None and limits.memory < self._memory:
            self.close()  # it may still hold more than this statement is allowed
        if self._worker is None:
            self._wait_for_the_last()
            self._worker = begin(self._start, self._engine)
        self._memory = limits.memory
        started = time.monotonic()
        rows = Rows(started + limits.seconds)
        try:
            request = [database, sql, limits.seconds, limits.rows, limits.bytes, limits.memory, *self._more]
            self._worker.send(request)
            deadline = started + limits.seconds + KILL_AFTER
            while (answer := self._worker.receive(deadline, limits.memory))[0] == "rows":
                _, new, is_packed = answer
                if is_packed:
                    rows.take(wire.unpack_rows, new)
                else:
                    rows.add(new)
            _, error, message, columns, seconds = answer
            if error is None:
                return Execution("ok", table=rows.table(columns), seconds=seconds)
        except (TimeoutError, wire.Late):
            self._discard()
            return _timeout(limits, time.monotonic() - started)
        except TooMuchMemory:
            self._discard()
            message = f"the statement takes more than {limits.memory} bytes of memory"
            return Execution("too_large", message=message, seconds=time.monotonic() - started)
        except WorkerGone as error:
            self.close()
            return Execution("crashed", message=str(error), seconds=time.monotonic() - started)
        except wire.UnfitValue as error:
            self._discard()
            return Execution(error.status, message=without_paths(error), seconds=time.monotonic() - started)
        except BaseException:
            self.close()  # its answer would be taken for the next statement's
            raise
        if error == "timeout":
            return _timeout(limits, seconds)
        if error == "unreadable":
            self.close()
            raise BenchmarkError(without_paths(message), where=f"{self._engine} {database}")
        status = error if error in wire.UNFIT else self._status_of(error, message)
        if status == "timeout":
            return _timeout(limits, seconds)
        if status == "crashed":
            self.close()
        return Execution(status, message=without_paths(message), seconds=seconds)

    def interrupt(self) -> None:
        worker = self._worker
        if worker is not None:
            worker.end()

    def close(self) -> None:
        self._wait_for_the_last()
        worker, self._worker = self._worker, None
        if worker is not None:
            self._end(worker)

    def _discard(self) -> None:
        """Kill the worker, and let its end be waited for elsewhere: gigabytes of memory take a second to be given back."""
        worker, self._worker = self._worker, None
        worker.end()
        self._ending = threading.Thread(target=self._end, args=(worker,))
        self._ending.start()

    def _wait_for_the_last(self) -> None:
        if self._ending is not None:
            self._ending.join()
            self._ending = None


def _timeout(limits: Limits, seconds: float) -> Execution:
    return Execution("timeout", message=f"longer than {limits.seconds:g} s", seconds=seconds)
