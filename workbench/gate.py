"""The first wall before hostile SQL: one query that reads, and calls nothing but the functions of a list.

In: SQL and an engine's dialect. Out: None, or why it is not run. The second wall is the engine's own (read-only file
or role, a process that can be killed); the gate keeps out what an engine would let pass, and says why in one line.

The tokens, cut as the engine itself cuts them (gate_tokens.py), decide alone what is called and whether there are
commands. sqlglot then sees the same tokens, for what only a tree shows (gate_tree.py). What sqlglot cannot read is
left to the engines whose own wall stands alone: real predictions hold SQL that an engine runs and sqlglot does not
know, and an engine's words are the better error.

Functions (gate_functions/) are allowed, refused, or unknown: no function of the engine, but one that a model dreamt
up, a finding of the study. Its outcome is a name error, from the engine itself where any function not known here is
one it does not have, and from the gate where an administrator can have added functions that anyone may call.
"""

import functools
import re
import unicodedata
from dataclasses import dataclass
from fnmatch import translate
from itertools import pairwise
from pathlib import Path

import yaml

from workbench.gate_tokens import Token, tokenize
from workbench.gate_tree import check_tree, without_long_lists

LONGEST = 200_000  # characters of a statement: 1 s; of BIRD's and Spider's golds the longest has 1,000
# What a server may be given to plan, which it does without a look at the clock, and cannot be ended at from outside:
# of PostgreSQL 18 a chain of 500 WITH queries took 10 s, of 3,000 minutes. Real statements have 361 tokens and 9 queries.
SERVERS = ("postgres", "mysql")
MOST_TOKENS, MOST_QUERIES = 10_000, 200  # long lists of constants apart
QUERY_WORDS = ("SELECT", "VALUES", "TABLE")
DIALECTS = ("sqlite", "postgres", "mysql", "clickhouse", "duckdb")
EXTENSIBLE = ("mysql", "clickhouse")  # a server's administrator can add functions that anyone may call
FIRST_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
# First words of statements that are no query: refused. Any other first word is no SQL at all: a syntax error.
COMMANDS = """
    ALTER ANALYZE ATTACH BACKUP BEGIN BINLOG CACHE CALL CHANGE CHECK CHECKPOINT CHECKSUM CLONE CLOSE CLUSTER COMMENT
    COMMIT COPY CREATE DEALLOCATE DECLARE DELETE DESC DESCRIBE DETACH DISCARD DO DROP END EXCHANGE EXECUTE EXPLAIN
    EXPORT FETCH FLUSH FORCE GET GRANT HANDLER HELP IMPORT INSERT INSTALL KILL LISTEN LOAD LOCK MERGE MOVE NOTIFY
    OPTIMIZE PIVOT PRAGMA PREPARE PURGE REASSIGN REFRESH REINDEX RELEASE RENAME REPAIR REPLACE RESET RESIGNAL RESTART
    RESTORE REVOKE ROLLBACK SAVEPOINT SET SHOW SHUTDOWN SIGNAL START STOP SUMMARIZE SYSTEM TRUNCATE UNDROP UNINSTALL
    UNLISTEN UNLOCK UNPIVOT UPDATE USE VACUUM WATCH XA
"""
_commands = frozenset(COMMANDS.split())
WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE")
NESTED_COMMANDS = (*WRITES, "EXPLAIN", "SHOW", "DESCRIBE", "DESC", "SUMMARIZE", "PIVOT")
LOCKS = (("FOR", ("UPDATE", "SHARE", "NO", "KEY")), ("LOCK", ("IN",)))
# Groups of refused functions with names like date_out, has_pets or lo_orderdate: after a name and a dot these are taken
# for columns, since none of them does anything with one argument that the reader's role and its transaction allow.
COLUMN_GROUPS = ("catalog", "large_objects", "behind_operators_types_and_indexes")
SORTING = ("ASC", "DESC")
MOST_COMBINATORS = 8  # of one function's name; ClickHouse allows more, and no query that says something has three
EVERYWHERE = re.compile(r"\s*\$.*\*\*", re.DOTALL)  # each ** multiplies the places that MySQL looks at, in one step
SERVER_VARIABLES = ("version", "version_comment")


class Names:
    """Names and patterns with `*`, all without case."""

    def __init__(self, groups: dict[str, str] | None):
        names = {name.lower() for group in (groups or {}).values() for name in group.split()}
        self.exact = {name for name in names if "*" not in name}
        patterns = [translate(name) for name in sorted(names - self.exact)]
        self._pattern = re.compile("|".join(patterns) or r"(?!)")

    def __contains__(self, name: str) -> bool:
        return name in self.exact or self._pattern.match(name) is not None


@dataclass(frozen=True)
class Functions:
    """What gate_functions/ says of one engine. attributes: of the refused those that x.f may call in PostgreSQL."""

    allowed: Names
    refused: Names
    attributes: Names
    keywords: Names
    relations: Names
    schemas: Names
    combinators: Names


@functools.cache
def functions(dialect: str) -> Functions:
    """The lists of one engine."""
    path = Path(__file__).with_name("gate_functions") / f"{dialect}.yaml"
    lists = yaml.safe_load(path.read_text())
    lists["attributes"] = {group: names for group, names in lists["refused"].items() if group not in COLUMN_GROUPS}
    return Functions(**{part: Names(lists.get(part)) for part in Functions.__dataclass_fields__})


def check_select(sql: str, dialect: str) -> str | None:
    """Why a statement is not run on an engine, None if it may be: it is then one query, as far as can be told."""
    verdict = examine(sql, dialect)
    return verdict and verdict[1]


@functools.lru_cache(maxsize=512)  # a gold is run, and looked up for its pairs
def examine(sql: str, dialect: str) -> tuple[str, str] | None:
    """The outcome and reason of a statement that is not run: refused, syntax_error (no SQL) or name_error.

    Never raises for what a statement holds: one that the gate stumbles over is refused.
    """
    try:
        return _examine(sql, dialect)
    except Exception as error:  # noqa: BLE001 hostile text may find any of its own faults or of a parser's
        return "refused", f"the gate cannot read it ({type(error).__name__})"


def _examine(sql: str, dialect: str) -> tuple[str, str] | None:
    if len(sql) > LONGEST:
        return "refused", f"it is longer than {LONGEST} characters"
    if "\0" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        return "syntax_error", "it holds a null character or half of one"
    tokens = tokenize(sql, dialect)
    if tokens is None:
        return "syntax_error", "a string, a quoted name or a comment has no end"
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    verdict = _check_beginning(tokens)
    if verdict is not None:
        return verdict
    reason = _check_tokens(tokens, dialect) or (_check_size(tokens) if dialect in SERVERS else None)
    if reason is not None:
        return "refused", reason
    call = _check_calls(tokens, dialect)
    if call is not None and call[0] == "refused":
        return call
    call = call or (_check_names(tokens) if dialect == "mysql" else None)
    verdict, is_read = check_tree(tokens, dialect)
    # An unknown name in what cannot be read is the smaller error of the two.
    return verdict or (call if is_read or call is None else ("syntax_error", f"not readable as {dialect}"))


def _check_beginning(tokens: list[Token]) -> tuple[str, str] | None:
    first = next((token for token in tokens if token.text != "("), None)
    if first is None:
        return "syntax_error", "it is empty"
    if first.kind != "word" or first.upper not in FIRST_WORDS:
        if first.kind == "word" and first.upper in _commands:
            return "refused", f"it is no query but {first.upper}"
        return "syntax_error", f"it begins with {first.text[:40]!r}"
    for token, following in pairwise(tokens):
        if token.text == ";":
            if following.text in (";", "(") or following.upper in (*FIRST_WORDS, *_commands):
                return "refused", "it is more than one statement"
            return "syntax_error", f"after its end stands {following.text[:40]!r}"
    return None


def _check_tokens(tokens: list[Token], dialect: str) -> str | None:
    """Why the tokens are those of no harmless query."""
    lists = functions(dialect)
    end = Token("end", "", 0)
    for before, token, after, later in zip(
        [end, *tokens], tokens, [*tokens[1:], end], [*tokens[2:], end, end], strict=False
    ):
        if token.kind == "trick":
            return f"{token.text[:20]!r} is a way of writing that only hides something"
        if token.kind == "word":
            reason = _check_word(before, token, after, later, dialect)
            if reason is not None:
                return reason
        if token.kind in ("word", "name"):
            name = fold(token.name)
            if after.text == "." and name in lists.schemas:
                return f"schema {name} is not to be read"
            if after.text != "(" and name in lists.relations and name not in lists.allowed:
                return f"{name} is not to be read"
        if token.text == "@" == before.text and dialect in ("mysql", "clickhouse"):
            variable = later if fold(after.name) in ("global", "session", "local") and later.text == "." else after
            if fold(variable.name) not in SERVER_VARIABLES:
                return "it reads settings"
        if token.text == ":" and after.text == "=" and dialect == "mysql":
            return "it sets a variable"
        if token.kind == "string" and dialect == "mysql" and EVERYWHERE.match(token.name):
            return "a JSON path with ** may take minutes that no kill ends"
    return None


def _check_size(tokens: list[Token]) -> str | None:
    """Why the tokens are too many for a planner that is not to be interrupted."""
    if sum(token.upper in QUERY_WORDS for token in tokens) > MOST_QUERIES:
        return f"it is made of more than {MOST_QUERIES} queries"
    if len(tokens) > MOST_TOKENS and len(without_long_lists(tokens)) > MOST_TOKENS:
        return f"it has more than {MOST_TOKENS} words and signs"
    return None


def _check_word(before: Token, token: Token, after: Token, later: Token, dialect: str) -> str | None:
    word = token.upper
    if word == "INTO" and before.text != ".":
        return "INTO writes its result"
    for first, seconds in LOCKS:
        if word == first and after.kind == "word" and after.upper in seconds and before.text != ".":
            return "it locks rows"
    if after.kind in ("word", "name") and (
        (before.text == "(" and word in NESTED_COMMANDS) or (before.text == ")" and word in WRITES)
    ):
        return f"it holds a command: {word}"
    if dialect == "clickhouse" and before.text != ".":
        if word == "SETTINGS" and after.kind in ("word", "name") and later.text == "=":
            return "it has SETTINGS"
        if word == "FORMAT" and after.kind in ("word", "name") and after.upper not in SORTING and later.kind == "end":
            return "it has FORMAT"
    return None


def _check_calls(tokens: list[Token], dialect: str) -> tuple[str, str] | None:
    """A call that is refused; else an unknown name that is not to be tried."""
    lists, unknown = functions(dialect), None
    closings = _closings(tokens) if dialect in EXTENSIBLE else {}
    for place, name, is_call in _called(tokens, dialect):
        name, folded = name.lower() if name.isascii() else name, fold(name)
        if (is_call and name in lists.allowed.exact) or _is_aggregate(name, lists):
            continue
        if folded in lists.refused:
            return "refused", f"function {folded} is not allowed"
        if dialect in EXTENSIBLE and is_call and unknown is None and name not in lists.keywords:
            is_new = _is_definition(tokens, place, closings, lists.keywords)
            unknown = None if is_new else ("name_error", f"no function {name[:60]}")
    return unknown


def _check_names(tokens: list[Token]) -> tuple[str, str] | None:
    """A name that MySQL would read as another: each character beyond the basic plane becomes `?` there.

    What AS gives is no name of a table or column that is there.
    """
    for before, token in pairwise(tokens):
        if token.kind in ("word", "name") and max(token.text) > "\uffff" and before.upper != "AS":
            return "name_error", f"MySQL has no name like {token.name[:60]!r}"
    return None


def _called(tokens: list[Token], dialect: str):
    """Place, name, and whether it is sure, of everything that may be a call: mostly what stands before a bracket."""
    takes_functions = dialect == "clickhouse" and any(
        token.upper == "APPLY" or token.upper.startswith(("ARRAY", "MAP")) for token in tokens
    )
    for i, token in enumerate(tokens):
        if token.kind not in ("word", "name", "string"):
            continue
        before = tokens[i - 1].text if i else ""
        if i + 1 < len(tokens) and tokens[i + 1].text == "(":
            yield i, token.name, True
        elif token.kind == "string":
            continue
        elif dialect == "postgres" and before == "." and i > 1:
            if tokens[i - 2].text in (")", "]") or fold(token.name) in functions(dialect).attributes:
                yield i, token.name, False  # (x).f is f(x), and so is x.f where x has no column f
        elif takes_functions and before != ".":
            yield i, token.name, False  # arrayMap(f, x) and COLUMNS(x) APPLY f call f


def _is_aggregate(name: str, lists: Functions) -> bool:
    """Whether it is an allowed function with combinators, like sumIf; a name has a few at most."""
    bases = {name}
    for _ in range(MOST_COMBINATORS):
        bases = {
            base.removesuffix(suffix) for base in bases for suffix in lists.combinators.exact if base.endswith(suffix)
        }
        if not bases.isdisjoint(lists.allowed.exact):
            return True
    return False


def _closings(tokens: list[Token]) -> dict[int, int]:
    """Place of each opening bracket -> that of its closing one."""
    opened, found = [], {}
    for i, token in enumerate(tokens):
        if token.text == "(":
            opened.append(i)
        elif token.text == ")" and opened:
            found[opened.pop()] = i
    return found


def _is_definition(tokens: list[Token], place: int, closings: dict[int, int], keywords: Names) -> bool:
    """Whether a name before a bracket is a new name with its columns: `WITH x (a) AS (`, `AS x (a)`, `) x (a)`."""
    before = tokens[place - 1] if place else None
    if before is None:
        return False
    if before.text == ")" or before.kind == "name" or before.upper == "AS":
        return True
    if before.kind == "word" and before.name.lower() not in keywords:
        return True
    end = closings.get(place + 1, len(tokens))
    return end + 1 < len(tokens) and tokens[end + 1].upper == "AS"


def fold(name: str) -> str:
    """A name in the form that any engine's comparison without case or accents would bring it to."""
    if name.isascii():
        return name.lower()
    apart = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in apart if not unicodedata.combining(character))
