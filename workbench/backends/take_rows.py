"""Rows of one statement on their way into a result table, turned over as they come while the caller's clock runs.

In: an engine's rows, some at a time. Out: a ResultTable. Python's values live only until the next few thousand have
come, and no step is long, so that the limit of time holds for turning over too. Late when the clock is over,
wire.UnfitValue for a value that cannot be taken over.
"""

import time
from collections.abc import Callable, Collection, Sequence

from workbench.backends.wire import Late, take_over
from workbench.result_table import Column, ResultTable, decimal_texts, to_arrow, unite

TOGETHER = 2**14  # values turned over at once: some 20 ms of numbers with a fraction, a dozen of Arrow's calls


class Rows:
    """What has come. seconds: spent on turning over. height: rows."""

    def __init__(self, deadline: float):
        """deadline: of time.monotonic."""
        self._deadline = deadline
        self._waiting: list[Sequence] = []
        self._parts: list[list[Column]] = []
        self._decimals: Collection[int] = ()
        self.height, self.seconds = 0, 0.0

    def look(self) -> None:
        """Late if the clock is over."""
        if time.monotonic() > self._deadline:
            raise Late

    def hold_decimals(self, columns: Collection[int]) -> None:
        """These columns' values come as texts of decimal numbers, as an engine has written them."""
        self._decimals = columns

    def add(self, rows: Sequence[Sequence]) -> None:
        self._waiting += rows
        self.height += len(rows)
        if rows and len(self._waiting) * len(rows[0]) >= TOGETHER:
            self._turn_over()

    def take(self, read: Callable[..., list], *arguments: object) -> None:
        """Add read(*arguments, look), which makes values of what an engine has sent; its time is no engine's either."""
        started = time.monotonic()
        rows = take_over(read, *arguments, self.look)
        self.seconds += time.monotonic() - started
        self.add(rows)

    def table(self, columns: Sequence[str]) -> ResultTable:
        """All of them. seconds then holds this too."""
        self._turn_over()
        started = time.monotonic()
        parts = self._parts or [[to_arrow(())] for _ in columns]
        found = [take_over(unite, part, self.look) for part in parts]
        table = ResultTable.from_arrays(columns, found, self.height)
        self.look()
        self.seconds += time.monotonic() - started
        return table

    def _turn_over(self) -> None:
        started = time.monotonic()
        rows, self._waiting = self._waiting, []
        for place, values in enumerate(zip(*rows, strict=True)):
            self.look()
            if place == len(self._parts):
                self._parts.append([])
            read = decimal_texts if place in self._decimals else to_arrow
            self._parts[place].append(take_over(read, values, self.look))
        self.seconds += time.monotonic() - started
