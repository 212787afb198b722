"""Cuts SQL into tokens exactly as each engine does, so that nothing an engine reads can hide from the gate.

In: SQL and a dialect. Out: tokens, without comments. A general SQL parser reads a few things otherwise than an engine:
`--1` on MySQL (two signs), `\\r` after `--` on PostgreSQL (the comment's end), `E'a'\\n'\\''` there (still escaped),
`$a(')` on SQLite (one variable). Each would let a call pass as part of a string or a comment. tests/test_gate.py
holds these rules against the engines themselves, as their backends set them up: PostgreSQL with
standard_conforming_strings, MySQL without ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
"""

import re
from dataclasses import dataclass

from workbench.backends.mysql_hints import DEEP, UNPUSHED

WIDE = "\u0080-\U0010ffff"  # letters to most engines, whatever they are to Unicode
SPACE = r"[ \t\n\r\f\v]+"
# A doubled quote stands for itself; below the same with backslash escapes.
SINGLE, DOUBLE, BACK = "'[^']*(?:''[^']*)*'", '"[^"]*(?:""[^"]*)*"', "`[^`]*(?:``[^`]*)*`"
ESCAPED_SINGLE, ESCAPED_DOUBLE = r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'", r'"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"'
ESCAPED_BACK = r"`[^`\\]*(?:(?:\\.|``)[^`\\]*)*`"
TAG = rf"\$(?:[A-Za-z_{WIDE}][A-Za-z0-9_{WIDE}]*)?\$"
NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
WORD = rf"[A-Za-z_{WIDE}][A-Za-z0-9_${WIDE}]*"
# An E string goes on over a line break, escapes and all.
E_STRING = (
    rf"[eE]{ESCAPED_SINGLE}(?:[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*{ESCAPED_SINGLE})*"
)
# DuckDB's further spaces, and a word without them. Found by asking DuckDB 2.0 about every such character.
DUCKDB_SPACE = "\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff"
DUCKDB_WORD = rf"(?:(?![{DUCKDB_SPACE}])[A-Za-z_{WIDE}])(?:(?![{DUCKDB_SPACE}])[A-Za-z0-9_${WIDE}])*"
CLICKHOUSE_SPACE = "\u0085\u00a0\u180e\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"  # of ClickHouse 26.9
LINE, LONE = r"--[^\n]*", "."
_HINT = f"(?:{re.escape(DEEP)}|{re.escape(UNPUSHED)})"  # as plans' SQL writes them, and in no other spelling

# Dialect -> (kind, pattern), tried in this order. "space" is dropped, "odd" is a space that DuckDB alone knows,
# "comment" and "dollar" are beginnings, "trick" is what no query needs.
RULES = {
    "sqlite": (
        ("space", rf"[ \t\n\r\f]+|{LINE}"),
        ("comment", r"/\*"),
        ("string", SINGLE),
        ("name", rf"{DOUBLE}|{BACK}|\[[^\]]*\]"),
        ("word", WORD),
        ("number", NUMBER),
        ("other", rf"[$@#:](?:[A-Za-z0-9_${WIDE}]|::)+(?:\([^ \t\n\r\f\v)]*\)?)?"),  # a variable
    ),
    "postgres": (
        ("space", rf"{SPACE}|--[^\n\r]*"),
        ("comment", r"/\*"),
        ("trick", rf"[uU]&(?:{SINGLE}|{DOUBLE})"),
        ("string", rf"{E_STRING}|{SINGLE}"),
        ("dollar", TAG),
        ("name", DOUBLE),
        ("word", WORD),
        ("number", NUMBER),
    ),
    "mysql": (
        ("space", rf"{SPACE}|#[^\n]*|--(?=[\x00-\x20\x7f]|\Z)[^\n]*|/\*\+ (?:{_HINT} )+\*/"),
        ("trick", r"/\*[!+]|/\*M!"),
        ("comment", r"/\*"),
        ("string", rf"{ESCAPED_SINGLE}|{ESCAPED_DOUBLE}"),
        ("name", BACK),
        ("word", WORD),
        ("number", NUMBER),
    ),
    "clickhouse": (
        ("space", rf"[ \t\n\r\f\v{CLICKHOUSE_SPACE}]+|{LINE}|#[ !][^\n]*"),
        ("comment", r"/\*"),
        ("string", rf"[xXbB]?{ESCAPED_SINGLE}"),
        ("dollar", TAG),
        ("name", rf"{ESCAPED_DOUBLE}|{ESCAPED_BACK}"),
        ("word", r"[A-Za-z_][A-Za-z0-9_$]*"),
        ("number", NUMBER),
        ("trick", "[\u2018\u2019\u201c\u201d\u2212]"),  # quotes and a minus that it takes for the plain ones
    ),
    "duckdb": (
        ("space", rf"{SPACE}|--[^\n\r]*"),
        ("odd", rf"[{DUCKDB_SPACE}]+"),
        ("comment", r"/\*"),
        ("string", rf"{E_STRING}|{SINGLE}"),
        ("dollar", TAG),
        ("name", rf"{DOUBLE}|{BACK}"),
        ("word", DUCKDB_WORD),
        ("number", NUMBER),
    ),
}
# What has no end where it stands alone.
QUOTES = dict.fromkeys(RULES, ("'", '"', "`")) | {"sqlite": ("'", '"', "`", "["), "postgres": ("'", '"')}
NESTED_COMMENTS = ("postgres", "clickhouse", "duckdb")
PLAIN_STRING = re.compile(r"'[^'\\\n\r]*'|\"[^\"\\\n\r]*\"")
_patterns = {
    dialect: re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in (*rules, ("lone", LONE))), re.DOTALL)
    for dialect, rules in RULES.items()
}


@dataclass(frozen=True)
class Token:
    """kind: string, name (quoted), word, number, trick, or other; text: as written; start: its place in the SQL."""

    kind: str
    text: str
    start: int

    @property
    def name(self) -> str:
        """What a word or quoted name stands for; of a string its inside."""
        if self.kind not in ("name", "string") or len(self.text) < 2:
            return self.text
        quote = self.text[-1]
        return self.text[1:-1].replace(quote * 2, quote)

    @property
    def upper(self) -> str:
        """A word's text in capitals; nothing for what is quoted."""
        return self.text.upper() if self.kind == "word" and self.text.isascii() else ""

    @property
    def plain(self) -> str:
        """Its text, with what a string or name holds replaced where readers could differ over it."""
        if self.kind == "string":
            return self.text if PLAIN_STRING.fullmatch(self.text) else "'s'"
        if self.kind == "name":
            return self.text[0] + re.sub(r"['\"`\[\]\\\n\r]", "_", self.text[1:-1]) + self.text[-1]
        return self.text


def tokenize(sql: str, dialect: str) -> list[Token] | None:
    """All tokens but spaces and comments; None if a string, a quoted name or a comment has no end."""
    tokens, position, pattern = [], 0, _patterns[dialect]
    # DuckDB replaces odd spaces before it reads, with rules of its own for what is quoted: where quotes other than
    # the plain ones could be meant, nobody knows what it will see.
    is_odd = "$" in sql or "\\" in sql
    while match := pattern.match(sql, position):
        kind, text, start = match.lastgroup, match.group(), position
        position = match.end()
        if kind in ("comment", "dollar"):
            position = _end_of_comment(sql, position, dialect) if kind == "comment" else _end_after(sql, position, text)
            if position is None:
                return None
            if kind == "dollar":
                tokens.append(Token("string", sql[start:position], start))
        elif kind == "lone" and text in QUOTES[dialect]:
            return None
        elif (kind == "odd" and is_odd) or (kind == "name" and dialect == "clickhouse" and _is_escaped(text)):
            tokens.append(Token("trick", text, start))
        elif kind not in ("space", "odd"):
            tokens.append(Token("other" if kind == "lone" else kind, text, start))
    return tokens


def _is_escaped(name: str) -> bool:
    """Whether a quoted name is spelled otherwise than it reads: a backslash may stand for no more than itself."""
    return "\\" in name.replace("\\\\", "")


def _end_of_comment(sql: str, position: int, dialect: str) -> int | None:
    """Where a comment ends, that may hold others or not."""
    if dialect == "sqlite" and sql.find("*/", position) < 0:
        return len(sql)
    if dialect not in NESTED_COMMENTS:
        return _end_after(sql, position, "*/")
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(sql, position):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


def _end_after(sql: str, position: int, end: str) -> int | None:
    found = sql.find(end, position)
    return None if found < 0 else found + len(end)
