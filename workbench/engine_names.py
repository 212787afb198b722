"""Names in an engine: as in the SQLite file, except where the engine cannot hold them."""

import hashlib
from collections.abc import Callable, Iterable, Sequence


def engine_names(
    names: Sequence[str],
    limit: int,
    reserved: Iterable[str] = (),
    cut: Callable[[str, int], str] | None = None,
    fold: Callable[[str], str] = str,
) -> dict[str, str]:
    """Each name as the engine will have it: unchanged wherever it can hold it, and no two the same.

    cut(name, limit): what the engine can hold of a name; by default as many bytes of UTF-8, which is what PostgreSQL
    makes of a longer name in a query too. fold(name): equal for names that are the same to the engine. A reserved or
    empty name, and one that would meet another, ends in an underscore and 8 hexadecimal digits of its own hash.
    """
    cut = cut or _cut
    reserved = {fold(name) for name in reserved}
    given, taken = {}, set(reserved)
    for name in names:
        if name and cut(name, limit) == name and fold(name) not in taken:
            given[name] = name
            taken.add(fold(name))
    for name in names:
        if name in given:
            continue
        candidate, salt = cut(name, limit), name
        while not candidate or fold(candidate) in taken:
            salt = hashlib.sha256(salt.encode()).hexdigest()
            candidate = f"{cut(name, limit - 9)}_{salt[:8]}"
        given[name] = candidate
        taken.add(fold(candidate))
    return given


def _cut(name: str, limit: int) -> str:
    return name.encode()[:limit].decode(errors="ignore")
