"""Seeded draws that give the same values on every Python and platform.

Only `random.Random(int).random()` is documented to keep its sequence between versions; everything here is made of
it and of exact arithmetic (no pow, log or cos, whose last bit depends on the C library).
"""

import random
from collections.abc import Sequence
from datetime import date, timedelta


class Seeded:
    """A stream of draws that depends on the seed alone."""

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def chance(self, share: float) -> bool:
        return self._random() < share

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, choices: Sequence):
        return choices[self.whole(0, len(choices) - 1)]

    def skewed(self, choices: Sequence):
        """One of the choices, the early ones more often (density falls as 1/sqrt of the position)."""
        draw = self._random()
        return choices[int(draw * draw * len(choices))]

    def day(self, first: str, last: str) -> str:
        """An ISO date from first to last, both included."""
        start = date.fromisoformat(first)
        return (start + timedelta(days=self.whole(0, (date.fromisoformat(last) - start).days))).isoformat()
