"""The structure of a query without its names and values, and how like two structures are (HES-SQL, format validation).

In: SQL texts, cut into sqlglot's tokens; nothing is parsed, so what a model wrote wrongly has a skeleton too. Out: a
skeleton's tokens, its weighted text, likeness in [0, 1], and the tables and columns a query names. Columns, qualified or
not, become [col], tables [tab], texts [str], numbers [val]; aliases are dropped; functions and keywords stay.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

COLUMN, TABLE, TEXT, NUMBER = "[col]", "[tab]", "[str]", "[val]"
ALPHA = 0.7  # weight of the match ratio; the rest is Jaccard's (equation 3)
TAU_S = 0.6  # the paper prints no threshold for its filter: this one is ours

_JOIN_KINDS = {"NATURAL", "LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS", "SEMI", "ANTI", "ASOF"}
_SOURCES = {"FROM", "JOIN", "STRAIGHT_JOIN"}
# behind these a comma no longer comes before a table
_AFTER_SOURCES = {
    "SELECT",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "WINDOW",
}
_OTHER_WORDS = """
    ALL AND ANY AS ASC BETWEEN CASE COLLATE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DESC DISTINCT DIV ELSE END ESCAPE
    EXISTS FALSE FETCH FILTER GLOB ILIKE IN INTERVAL IS ISNULL LATERAL LIKE NOT NOTNULL NULL OFFSET ON OR OVER PARTITION
    QUALIFY RECURSIVE REGEXP RLIKE SIMILAR SOME THEN TRUE USING VALUES WHEN WITH WITHIN XOR
"""
_KEYWORDS = {*_JOIN_KINDS, *_SOURCES, *_AFTER_SOURCES, *_OTHER_WORDS.split()}
_FRAME_WORDS = {"ROWS", "RANGE", "GROUPS", "UNBOUNDED", "PRECEDING", "FOLLOWING", "CURRENT", "ROW", "EXCLUDE", "TIES"}
_BEFORE_WORDS = {"COLLATE", "::", "NULLS", "FETCH"}  # what follows is no name: a collation, a type, FIRST
_TEXTS = {
    TokenType.STRING,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.UNICODE_STRING,
    TokenType.BYTE_STRING,
}
_NUMBERS = {TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING}


@dataclass(frozen=True)
class Skeleton:
    """tokens: in order. tables, columns: the names it stands for, in lower case and without their qualifiers."""

    tokens: tuple[str, ...]
    tables: frozenset[str]
    columns: frozenset[str]

    @property
    def text(self) -> str:
        return " ".join(self.tokens)

    @property
    def weighted(self) -> str:
        """The text with WHERE three times, a JOIN with its kind and GROUP BY twice."""
        words: list[str] = []
        for i, token in enumerate(self.tokens):
            words.append(token)
            if token == "WHERE":
                words += [token] * 2
            elif token == "GROUP BY":
                words.append(token)
            elif token == "JOIN":
                start = i
                while start and self.tokens[start - 1] in _JOIN_KINDS:
                    start -= 1
                words += self.tokens[start : i + 1]
        return " ".join(words)


@lru_cache(maxsize=4096)
def skeleton(sql: str, names: frozenset[str] = frozenset(), dialect: str = "sqlite") -> Skeleton | None:
    """A query's skeleton; None for a text that holds no tokens, or cannot be cut into them (a quote without its end).

    names: the database's tables and columns in lower case. What stands in double quotes is a name if it is one of
    these, or beside a dot; else a text, as SQLite reads it, whatever the dialect.
    """
    tokens = _tokens(sql, dialect)
    return _Reader(sql, tokens, names).read() if tokens else None


def skeleton_similarity(predicted: Skeleton | None, gold: Skeleton, alpha: float = ALPHA) -> float:
    """HES-SQL's likeness (equation 3): alpha x match ratio of the weighted texts + (1 - alpha) x Jaccard of token sets.

    A prediction without a skeleton is 0.
    """
    if predicted is None:
        return 0.0
    if predicted.tokens == gold.tokens:
        return 1.0
    return alpha * _match_ratio(predicted.weighted, gold.weighted) + (1 - alpha) * jaccard(
        predicted.tokens, gold.tokens
    )


@lru_cache(maxsize=4096)  # structures are few where texts are many
def _match_ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def skeleton_jaccard(predicted: Skeleton | None, gold: Skeleton) -> float:
    """Jaccard of the skeletons' token sets, what the paper's figures 5 and 8 show; 0 without a skeleton."""
    return 0.0 if predicted is None else jaccard(predicted.tokens, gold.tokens)


def sql_jaccard(predicted: str, gold: str, dialect: str = "sqlite") -> float:
    """Jaccard of the sets of SQL tokens, names and values as they are; 0 where the prediction has none."""
    ours, theirs = sql_words(predicted, dialect), sql_words(gold)
    return jaccard(ours, theirs) if ours and theirs else 0.0


def jaccard(one: Iterable[str], other: Iterable[str]) -> float:
    """Size of the intersection over that of the union; 1 for two empty sets."""
    one, other = set(one), set(other)
    return len(one & other) / len(one | other) if one or other else 1.0


@lru_cache(maxsize=4096)
def sql_words(sql: str, dialect: str = "sqlite") -> tuple[str, ...] | None:
    """Tokens with their quotes, what is not quoted in upper case, no comments, no semicolon at the end."""
    tokens = _tokens(sql, dialect)
    if not tokens:
        return None
    quoted = {*_TEXTS, TokenType.IDENTIFIER}
    return tuple(
        sql[token.start : token.end + 1] if token.token_type in quoted else token.text.upper() for token in tokens
    )


@lru_cache(maxsize=16)  # for a pair's skeletons and words
def _tokens(sql: str, dialect: str) -> list[Token] | None:
    """Not to be changed, since the same text gives the same ones."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    except SqlglotError:
        return None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    return tokens


@dataclass
class _Scope:
    """What holds within one pair of brackets. in_sources: after FROM, where names behind commas are tables."""

    opener: str = ""  # the word before the bracket
    is_query: bool = False
    in_sources: bool = False


class _Reader:
    """One pass over a query's tokens, telling names of columns, tables, functions and aliases by what is around them."""

    def __init__(self, sql: str, tokens: list[Token], names: frozenset[str]):
        self.sql, self.tokens, self.names = sql, tokens, names
        unread = {*_TEXTS, TokenType.IDENTIFIER}  # what stands in quotes is no word, whatever it says
        self.words = ["" if token.token_type in unread else token.text.upper() for token in tokens]
        self.at = 0
        self.out: list[str] = []
        self.scopes = [_Scope()]
        self.tables: set[str] = set()
        self.columns: set[str] = set()
        self.made_up: set[str] = set()  # common tables, selected items with a name

    def word(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.words[at] if 0 <= at < len(self.words) else ""

    def read(self) -> Skeleton:
        is_operand = False  # whether an operand ends here, so that a name would be its alias
        while self.at < len(self.tokens):
            word, kind = self.word(), self.tokens[self.at].token_type
            if kind in _TEXTS or kind in _NUMBERS:
                self.out.append(TEXT if kind in _TEXTS else NUMBER)
                is_operand = self.word(-1) != "INTERVAL"  # whose unit comes next
            elif word == "AS" and self.scopes[-1].opener in ("CAST", "TRY_CAST"):
                self.cast_type()
                continue
            elif word == "AS" and self.word(1) not in ("(", "MATERIALIZED", "NOT"):
                self.at += 1
                self.alias()
            elif self.is_name():
                if is_operand:
                    self.alias()
                else:
                    is_operand = self.name()
            else:
                self.keyword(word)
                is_operand = word in (")", "END", "NULL", "TRUE", "FALSE")
            self.at += 1
        invented = self.made_up - self.names
        return Skeleton(tuple(self.out), frozenset(self.tables - invented), frozenset(self.columns - invented))

    def keyword(self, word: str) -> None:
        self.out.append(word)
        scope = self.scopes[-1]
        if word == "(":
            # `FROM (a JOIN b)` goes on with tables, a subquery starts anew at its SELECT
            goes_on = scope.in_sources and self.word(-1) in {*_SOURCES, ",", "("}
            self.scopes.append(_Scope(self.word(-1), goes_on, goes_on))
        elif word == ")" and len(self.scopes) > 1:
            self.scopes.pop()
        elif word in _SOURCES:
            # neither EXTRACT(x FROM y) nor IS DISTINCT FROM reads a table
            scope.in_sources = scope.in_sources or (scope.is_query and self.word(-1) != "DISTINCT")
        elif word in _AFTER_SOURCES:
            scope.in_sources = False
            scope.is_query = True

    def is_name(self) -> bool:
        token, word = self.tokens[self.at], self.word()
        if token.token_type == TokenType.IDENTIFIER:
            return True
        if not (word[:1].isalpha() or word[:1] == "_"):
            return False
        if "." in (self.word(-1), self.word(1)):
            return True
        if " " in word or word in _KEYWORDS:
            return False
        if self.word(-1) in _BEFORE_WORDS or (word == "NULLS" and self.word(1) in ("FIRST", "LAST")):
            return False
        if self.scopes[-1].opener == "OVER" and word in _FRAME_WORDS:
            return False
        is_unit = self.word(1) == "FROM" and not self.scopes[-1].is_query  # EXTRACT(YEAR FROM ...)
        follows_interval = self.word(-2) == "INTERVAL"
        is_typed_text = self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].token_type in _TEXTS  # DATE '...'
        return not (is_unit or follows_interval or is_typed_text)

    def name(self) -> bool:
        """Read a name with its qualifiers; whether it is an operand (a function's name is not)."""
        before = self.word(-1)
        while self.word(1) == "." and self.at + 2 < len(self.tokens):
            self.at += 2
        text, scope = self.tokens[self.at].text.lower(), self.scopes[-1]
        is_defined = before in ("WITH", "RECURSIVE") or (self.word(1) == "AS" and self.word(2) == "(")
        if self.word() == "*":
            self.out.append("*")
        elif is_defined:
            self.made_up.add(text)
            self.out.append(TABLE)
            return False
        elif self.word(1) == "(" and self.word():
            self.out.append(self.word())
            return False
        elif scope.in_sources and before in {*_SOURCES, ",", "("}:
            self.out.append(TABLE)
            self.tables.add(text)
        elif self.is_text():
            self.out.append(TEXT)
        else:
            self.out.append(COLUMN)
            self.columns.add(text)
        return True

    def is_text(self) -> bool:
        """Whether what stands in double quotes is no name: none that is known, and none with a qualifier."""
        token = self.tokens[self.at]
        is_lone = self.sql[token.start] == '"' and self.word(-1) != "."
        return is_lone and token.text.lower() not in self.names and token.text.lower() not in self.made_up

    def alias(self) -> None:
        if not self.scopes[-1].in_sources and self.at < len(self.tokens):
            self.made_up.add(self.tokens[self.at].text.lower())

    def cast_type(self) -> None:
        """AS and a type's words, up to the bracket that ends CAST."""
        depth = 0
        while self.at < len(self.tokens) and (depth or self.word() != ")"):
            depth += {"(": 1, ")": -1}.get(self.word(), 0)
            self.out.append(self.word() or self.tokens[self.at].text.upper())
            self.at += 1
