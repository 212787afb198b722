"""Names in an engine: as in the SQLite file, except where the engine cannot hold them."""

import hashlib
from collections.abc import Iterable, Sequence


def engine_names(names: Sequence[str], limit: int, reserved: Iterable[str] = ()) -> dict[str, str]:
    """Each name as the engine will have it: unchanged wherever it can hold it, and no two the same.

    A longer name is cut to `limit` bytes of UTF-8, which is what PostgreSQL makes of it in a query too. A reserved or
    empty name, and one that would meet another, ends in an underscore and 8 hexadecimal digits of its own hash.
    """
    reserved = set(reserved)
    given = {name: name for name in names if 0 < len(name.encode()) <= limit and name not in reserved}
    taken = set(given)
    for name in names:
        if name in given:
            continue
        candidate, salt = _cut(name, limit), name
        while not candidate or candidate in reserved or candidate in taken:
            salt = hashlib.sha256(salt.encode()).hexdigest()
            candidate = f"{_cut(name, limit - 9)}_{salt[:8]}"
        given[name] = candidate
        taken.add(candidate)
    return given


def _cut(name: str, limit: int) -> str:
    return name.encode()[:limit].decode(errors="ignore")
