"""The collations with which a table's columns are declared: SQLite tells them only in its C interface.

In: the CREATE TABLE that the database keeps. Out: column -> collation, both in lower case; binary ones are left out. The
text is only read, token by token as SQLite does, never executed: a database file is hostile input.
"""

from itertools import pairwise

from workbench.gate_tokens import Token, tokenize

_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")


def declared_collations(sql: str) -> dict[str, str]:
    """Of every column that has one; the last of several counts. A virtual table declares none."""
    tokens = tokenize(sql, "sqlite") or []
    start = next((place for place, token in enumerate(tokens) if token.text == "("), len(tokens))
    if "VIRTUAL" in [token.upper for token in tokens[:start]]:
        return {}
    found = {}
    for part in _parts(tokens[start + 1 :]):
        name, *rest = part
        collations = [after.name.lower() for word, after in pairwise(rest) if word.upper == "COLLATE"]
        if collations and name.upper not in _CONSTRAINTS and collations[-1] != "binary":
            found[name.name.lower()] = collations[-1]
    return found


def _parts(tokens: list[Token]) -> list[list[Token]]:
    """The definitions in a table's brackets, without what stands in brackets inside them."""
    parts, part, depth = [], [], 0
    for token in tokens:
        if token.text == ")" and not depth:
            break
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if token.text == "," and not depth:
            parts.append(part)
            part = []
        elif not depth and token.text != ")":
            part.append(token)
    return [one for one in (*parts, part) if one]
