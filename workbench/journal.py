"""Every call to a model's endpoint, as it happens: an append-only file beside the run's tables.

In: calls as they are sent, answers as they arrive, faults. Out: answers by the content that was asked, so that none is paid
for twice, and the list of all calls with what each took. A line is written at once and whole; what a kill left of one is cut
off when the file is opened again, so only calls whose answer had not arrived are made again.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from workbench.errors import ResultsError
from workbench.faults import kill_point


class Journal:
    """One model's calls in one run. Lines: {"call", "key", ...} when sent; then {"call", "answer"} or {"call", "fault"}."""

    def __init__(self, path: Path, is_read_only: bool = False):
        self.path = path
        self.answers: dict[bytes, int] = {}  # key -> place of the answer's line
        self.note: dict = {}  # the last of what `remember` wrote
        self.calls = 0
        try:
            if not is_read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDONLY if is_read_only else os.O_RDWR | os.O_APPEND | os.O_CREAT
            self.file = os.open(path, flags, 0o644)
            end = self._read()
            if not is_read_only and end < os.fstat(self.file).st_size:
                os.truncate(self.file, end)
        except OSError as error:
            raise ResultsError(f"cannot be opened: {error.strerror}", where=path) from error

    def close(self) -> None:
        os.close(self.file)

    def _read(self) -> int:
        """Index the file; the place after its last whole line."""
        sent: dict[int, bytes] = {}
        end = 0
        for place, record in self._lines():
            end = place[1]
            if "key" in record:
                sent[record["call"]] = bytes.fromhex(record["key"])
                self.calls = max(self.calls, record["call"])
            elif "answer" in record and record["call"] in sent:
                self.answers.setdefault(sent.pop(record["call"]), place[0])
            elif "note" in record:
                self.note = record["note"]
            else:
                sent.pop(record.get("call"), None)
        return end

    def _lines(self) -> Iterator[tuple[tuple[int, int], dict]]:
        """((begin, end), record) of every whole line."""
        with open(self.path, "rb") as file:
            place = 0
            for line in file:
                if not line.endswith(b"\n"):
                    return
                try:
                    record = json.loads(line)
                except ValueError as error:
                    raise ResultsError(f"byte {place}: not as it was written", where=self.path) from error
                yield (place, place + len(line)), record
                place += len(line)

    def begin(self, key: str, **about: object) -> int:
        """A call is about to be sent; gives its number."""
        self.calls += 1
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._append({"call": self.calls, "key": key, "at": at} | about)
        return self.calls

    def answered(self, call: int, key: str, answer: dict) -> None:
        """Its answer has arrived; from here on it is safe."""
        kill_point("answer-before-flush")
        place = self._append({"call": call, "answer": answer})
        self.answers.setdefault(bytes.fromhex(key), place)

    def failed(self, call: int, fault: dict) -> None:
        self._append({"call": call, "fault": fault})

    def remember(self, **note: object) -> None:
        """Facts about the endpoint that the next run should not have to find out again."""
        self.note = note
        self._append({"note": note})

    def find(self, key: str) -> dict | None:
        """The stored answer to a request, else None."""
        place = self.answers.get(bytes.fromhex(key))
        if place is None:
            return None
        with open(self.path, "rb") as file:
            file.seek(place)
            return json.loads(file.readline())["answer"]

    def all_calls(self) -> Iterator[dict]:
        """Each call once, with "answer" or "fault" as far as it has one, in the order in which they ended."""
        open_calls: dict[int, dict] = {}
        for _, record in self._lines():
            if "key" in record:
                open_calls[record["call"]] = record
            elif "call" in record:
                yield open_calls.pop(record["call"], {}) | record
        yield from open_calls.values()

    def _append(self, record: dict) -> int:
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        place = os.lseek(self.file, 0, os.SEEK_END)
        half = len(line) // 2 if "answer" in record else 0
        try:
            self._write(line[:half])
            kill_point("answer-half-written")
            self._write(line[half:])
        except OSError as error:
            with suppress(OSError):  # a stump would spoil the line after it
                os.ftruncate(self.file, place)
            raise ResultsError(f"cannot be written: {error.strerror}", where=self.path) from error
        return place

    def _write(self, data: bytes) -> None:
        """All of it: a disk that is nearly full takes a part and says nothing, and the next call says why."""
        while data:
            data = data[os.write(self.file, data) :]
