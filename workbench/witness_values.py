"""A value of a column's kind that meets what conditions ask of it, as far as they agree.

In: facts about one cell, (word, wanted): a comparison, like, glob, null, not null, ("at", (place, text)) for a part of a
text, ("extreme", "high" or "low"). Out: a value, or FREE where nothing is asked.
"""

import datetime
import random
import re

MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FREE = object()  # no fact says what a value should be


def value_for(kind: str, facts: list[tuple[str, object]], chance: random.Random) -> object:
    """A value of a column's kind that meets the facts, as far as they agree; FREE where they say nothing."""
    words = dict(facts)
    if "null" in words and len(words) == 1:
        return None
    for word in ("=", "is"):
        if word in words and words[word] is not None:
            return _of_kind(kind, words[word])
    pieces = [wanted for word, wanted in facts if word == "at"]
    if pieces:
        return _overlaid(pieces, chance)
    for word in ("like", "glob"):
        if word in words:
            return _matching(str(words[word]), word, chance)
    bounds = [(word, wanted) for word, wanted in facts if word in MIRRORED]
    if bounds:
        return _of_kind(kind, _between(bounds, chance))
    if "extreme" in words:
        is_high = words["extreme"] == "high"
        if kind in ("integer", "real"):
            return (1 if is_high else -1) * chance.randint(10**5, 10**6)
        return FREE
    if "<>" in words and kind in ("integer", "real"):
        return chance.randint(1, 99)
    return FREE


def _overlaid(pieces: list[tuple[int, str]], chance: random.Random) -> str:
    """A date, or the digits of one, with the pieces at their places."""
    day = datetime.date(1995, 1, 1) + datetime.timedelta(days=chance.randint(0, 9000))
    ends = [(start, start + len(text)) for start, text in pieces]
    has_dashes = all(start in (0, 5, 8, 11, 14, 17) and (end - start in (2, 4, 7, 10)) for start, end in ends)
    base = day.isoformat() if has_dashes else day.isoformat().replace("-", "")
    if has_dashes and any(end > 10 for _, end in ends):
        base += f" {chance.randint(0, 23):02d}:{chance.randint(0, 59):02d}:{chance.randint(0, 59):02d}"
    if not has_dashes and all(start < 6 and end <= 6 for start, end in ends):
        base = base[:6]
    for start, text in pieces:
        base = base.ljust(start, "0")
        base = base[:start] + text + base[start + len(text) :]
    return base


def _matching(pattern: str, word: str, chance: random.Random) -> str:
    some, one = ("%", "_") if word == "like" else ("*", "?")
    filling = chance.choice(["", "a", "xy", "1"])
    text = re.sub(r"\[\^?(.)[^\]]*\]", r"\1", pattern) if word == "glob" else pattern
    return text.replace(some, filling).replace(one, "0")


def _between(bounds: list[tuple[str, object]], chance: random.Random) -> object:
    lows = [wanted for word, wanted in bounds if word in (">", ">=")]
    highs = [wanted for word, wanted in bounds if word in ("<", "<=")]
    try:
        low, high = max(lows, default=None), min(highs, default=None)
    except TypeError:  # texts and numbers
        return chance.choice(lows + highs)
    edge = low if low is not None else high
    if isinstance(edge, int | float):
        if low is not None and high is not None:
            is_whole = isinstance(low, int) and isinstance(high, int) and high - low > 1
            return chance.randint(low + 1, high - 1) if is_whole else (low + high) / 2
        return edge + chance.randint(1, 9) if low is not None else edge - chance.randint(1, 9)
    text = str(edge)
    if DATE.match(text):
        try:
            day = datetime.date.fromisoformat(text[:10])
        except ValueError:
            return text
        days = chance.randint(1, 20)
        if low is not None and high is not None and DATE.match(str(high)):
            days = max(1, (datetime.date.fromisoformat(str(high)[:10]) - day).days // 2)
        return (day + datetime.timedelta(days=days if low is not None else -days)).isoformat() + text[10:]
    return text + "1" if low is not None else text[:-1]


def _of_kind(kind: str, value: object) -> object:
    if kind in ("integer", "real") and isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return str(value) if kind == "text" and isinstance(value, int | float) else value
