"""Reads SQL as Spider's evaluation does: its small grammar, into its own tree, which exact set match and hardness compare.

In: a query, the names of its database. Out: Spider's `sql` structure (the one that dev.json carries), with columns as
"table.column" in lower case where the files have numbers. Written from the rules of taoyds/spider, process_sql.py, as
restated in its documentation; what that reads oddly is read as oddly here, for the official numbers rest on it.

The grammar has no CASE, WITH, window, CAST or function but max, min, count, sum, avg; no join but JOIN ... ON; no comma
between tables; no alias without AS, none of a selected item or a subquery; no quoted name; no IS NULL, EXISTS, UNION ALL,
list after IN; no arithmetic with constants or over aggregates; no escaped quote; and `a=1` needs blanks around `=`.
Text after what it can read is ignored. A query that it cannot read raises ParseError with the word at which it gives up.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from workbench.errors import ParseError
from workbench.schema import Schema

AGGREGATES = ("none", "max", "min", "count", "sum", "avg")
ARITHMETIC = ("none", "-", "+", "*", "/")
OPERATORS = ("not", "between", "=", ">", "<", ">=", "<=", "!=", "in", "like", "is", "exists")
SET_OPERATORS = ("intersect", "union", "except")
_CLAUSES = {"select", "from", "where", "group", "order", "limit", *SET_OPERATORS}
_JOIN_WORDS = {"join", "on", "as"}
_ENDS = {*_CLAUSES, ")", ";"}
STAR = "*"

Tree = dict[str, object]  # one query; every part is a tuple, list, dict or plain value, and none is changed once read
ColumnUnit = tuple[int, str, bool | None]  # index of AGGREGATES, column, whether DISTINCT
ValueUnit = tuple[int, ColumnUnit, ColumnUnit | None]  # index of ARITHMETIC and its one or two sides
# A condition is (whether NOT, index of OPERATORS, left side, value, second value).

EMPTY: Tree = {  # stands for a prediction that cannot be read
    "select": (False, []),
    "from": {"table_units": [], "conds": []},
    "where": [],
    "groupBy": [],
    "having": [],
    "orderBy": [],
    "limit": None,
    **dict.fromkeys(SET_OPERATORS),
}


@dataclass(frozen=True, eq=False)
class SpiderNames:
    """tables: name -> columns, in lower case. keys: column -> the first column of its group of foreign keys."""

    tables: dict[str, tuple[str, ...]]
    keys: dict[str, str] = field(default_factory=dict)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name of a table or column."""
        return frozenset(self.tables).union(*self.tables.values())


def spider_names(schema: Schema, stated: dict | None = None) -> SpiderNames:
    """The names that the grammar looks up. stated: the database's entry of tables.json, whose foreign keys are official.

    Without an entry the schema's own keys serve, in the order of its tables.
    """
    tables = {table.name.lower(): tuple(column.name.lower() for column in table.columns) for table in schema.tables}
    if stated is not None:
        owners = [name.lower() for name in stated["table_names_original"]]
        columns = [f"{owners[i]}.{name.lower()}" if i >= 0 else STAR for i, name in stated["column_names_original"]]
        pairs = stated.get("foreign_keys") or []
    else:
        columns = [f"{table}.{name}" for table, names in tables.items() for name in names]
        places = {name: index for index, name in enumerate(columns)}
        pairs = [
            (places[f"{table.name}.{here}".lower()], places[f"{key.target_table}.{there}".lower()])
            for table in schema.tables
            for key in table.foreign_keys
            for here, there in zip(key.columns, key.target_columns, strict=True)
        ]
    return SpiderNames(tables, _key_groups(columns, pairs))


def _key_groups(columns: Sequence[str], pairs: Iterable[Sequence[int]]) -> dict[str, str]:
    """Column -> least column of its group. A pair joins the first group that holds either side; groups never merge."""
    groups: list[set[int]] = []
    for pair in pairs:
        group = next((group for group in groups if group & set(pair)), None)
        if group is None:
            groups.append(group := set())
        group.update(pair)
    return {columns[index]: columns[min(group)] for group in groups for index in sorted(group)}


def spider_tokens(sql: str) -> list[str]:
    """Words in lower case, quoted values as they are in double quotes. ParseError for a quote without an end.

    Brackets, `*`, `<`, `>`, `;`, `?`, `!`, back quotes, and commas and colons before anything but a digit stand alone; `=`
    and other arithmetic do not (NLTK's word_tokenize, which the official script uses), save that torn `>=`, `<=`, `!=` are
    put together again.
    """
    parts = sql.replace("'", '"').replace("\ue000", " ").split('"')
    if len(parts) % 2 == 0:
        raise ParseError("a quote without its end", where="Spider's grammar")
    # a value that touches a word becomes part of it, so it is marked by a sign of words until words are cut
    text = "".join(part if i % 2 == 0 else f"\ue000{i}\ue001" for i, part in enumerate(parts))
    text = re.sub(r"([:,])(\D|$)", r" \1 \2", text)
    text = re.sub(r"--|\.{2,}|`+|[][(){}<>;@#$%&?!*]", r" \g<0> ", text)
    words = re.sub(r"(?<!\.)\.\s*$", " . ", text).lower().split()
    tokens: list[str] = []
    for word in words:
        value = re.fullmatch("\ue000(\\d+)\ue001", word)
        if word == "=" and tokens and tokens[-1] in ("!", ">", "<"):
            tokens[-1] += word
        else:
            tokens.append(f'"{parts[int(value[1])]}"' if value else word)
    return tokens


@lru_cache(maxsize=4096)
def parse_spider(sql: str, names: SpiderNames) -> Tree:
    """The tree of a query; not to be changed, since the same text gives the same one. ParseError names where it fails."""
    tokens = spider_tokens(sql)
    try:
        return _Reader(tokens, names, _aliases(tokens, names)).query()
    except RecursionError:
        raise ParseError("nested too deep", where="Spider's grammar") from None


def _aliases(tokens: list[str], names: SpiderNames) -> dict[str, str]:
    """Whatever stands before AS is the table of what stands behind it, wherever that is."""
    found = {}
    for at, word in enumerate(tokens):
        if word == "as":
            if not 0 < at < len(tokens) - 1:
                raise ParseError("AS lacks a name", where=f"Spider's grammar, word {at + 1}")
            found[tokens[at + 1]] = tokens[at - 1]
    for table in names.tables:
        if table in found:
            raise ParseError(f"the alias {table} is a table's name", where="Spider's grammar")
    return found | {table: table for table in names.tables}


class _Reader:
    """A place in a list of tokens. aliases: of the whole text, subqueries included: alias or table -> table."""

    def __init__(self, tokens: list[str], names: SpiderNames, aliases: dict[str, str]):
        self.tokens, self.names, self.aliases, self.at = tokens, names, aliases, 0

    def fault(self, wanted: str) -> ParseError:
        found = repr(self.tokens[self.at])[:60] if self.at < len(self.tokens) else "the end"
        return ParseError(f"{wanted} is wanted, found {found}", where=f"Spider's grammar, word {self.at + 1}")

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def skip(self, word: str) -> bool:
        if self.peek() != word:
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        if not self.skip(word):
            raise self.fault(repr(word))

    def index_in(self, words: Sequence[str]) -> int | None:
        """Read one of some words and give its index."""
        word = self.peek()
        if word is None or word not in words:
            return None
        self.at += 1
        return words.index(word)

    def query(self) -> Tree:
        is_block = self.skip("(")
        start = self.at
        source, tables = self.sources()
        end, self.at = self.at, start
        select = self.select(tables)
        self.at = end
        tree: Tree = {"select": select, "from": source}
        tree["where"] = self.conditions(tables) if self.skip("where") else []
        tree["groupBy"] = self.group(tables)
        tree["having"] = self.conditions(tables) if self.skip("having") else []
        tree["orderBy"] = self.order(tables)
        tree["limit"] = self.limit()
        self.skip_semicolons()
        if is_block:
            self.expect(")")
        self.skip_semicolons()
        tree |= dict.fromkeys(SET_OPERATORS)
        operator = self.index_in(SET_OPERATORS)
        if operator is not None:
            tree[SET_OPERATORS[operator]] = self.query()
        return tree

    def skip_semicolons(self) -> None:
        while self.skip(";"):
            pass

    def sources(self) -> tuple[dict, list[str]]:
        """FROM, the first one from here on, and the tables in which bare columns are looked for."""
        if "from" not in self.tokens[self.at :]:
            raise self.fault("FROM")
        self.at = self.tokens.index("from", self.at) + 1
        units: list[tuple[str, object]] = []
        conditions: list = []
        tables: list[str] = []
        while self.peek() is not None:
            is_block = self.skip("(")
            if self.peek() == "select":
                units.append(("sql", self.query()))
            else:
                self.skip("join")
                tables.append(self.table())
                units.append(("table_unit", tables[-1]))
            if self.skip("on"):
                found = self.conditions(tables)
                conditions += ["and", *found] if conditions else found
            if is_block:
                self.expect(")")
            if self.peek() in _ENDS:
                break
        return {"table_units": units, "conds": conditions}, tables

    def table(self) -> str:
        table = self.aliases.get(self.peek() or "")
        if table not in self.names.tables:
            raise self.fault("a table")
        self.at += 1
        if self.skip("as"):
            self.at += 1
        return table

    def select(self, tables: list[str]) -> tuple[bool, list[tuple[int, ValueUnit]]]:
        self.expect("select")
        is_distinct = self.skip("distinct")
        items = []
        while self.peek() is not None and self.peek() not in _CLAUSES:
            aggregate = self.index_in(AGGREGATES) or 0
            items.append((aggregate, self.value_unit(tables)))
            self.skip(",")
        return is_distinct, items

    def group(self, tables: list[str]) -> list[ColumnUnit]:
        if not self.skip("group"):
            return []
        self.expect("by")
        units = []
        while self.peek() is not None and self.peek() not in _ENDS:
            units.append(self.column_unit(tables))
            if not self.skip(","):
                break
        return units

    def order(self, tables: list[str]) -> tuple[str, list[ValueUnit]] | list:
        """One direction for all keys: the one written last."""
        if not self.skip("order"):
            return []
        self.expect("by")
        units, direction = [], "asc"
        while self.peek() is not None and self.peek() not in _ENDS:
            units.append(self.value_unit(tables))
            written = self.index_in(("desc", "asc"))
            direction = direction if written is None else ("desc", "asc")[written]
            if not self.skip(","):
                break
        return direction, units

    def limit(self) -> int | None:
        if not self.skip("limit"):
            return None
        try:
            number = int(self.peek() or "")
        except ValueError:
            raise self.fault("a whole number") from None
        self.at += 1
        return number

    def conditions(self, tables: list[str]) -> list:
        """Conditions and between them "and" or "or", without regard to which binds tighter."""
        found: list = []
        while self.at < len(self.tokens):
            left = self.value_unit(tables)
            is_not = self.skip("not")
            operator = self.index_in(OPERATORS)
            if operator is None:
                raise self.fault("an operator")
            value, second = self.value(tables), None
            if OPERATORS[operator] == "between":
                self.expect("and")
                second = self.value(tables)
            found.append((is_not, operator, left, value, second))
            if self.peek() in _ENDS or self.peek() in _JOIN_WORDS:
                break
            connector = self.index_in(("and", "or"))
            if connector is not None:
                found.append(("and", "or")[connector])
        return found

    def value(self, tables: list[str]) -> object:
        """A subquery, a text in its quotes, a float, or a column."""
        start = self.at
        is_block = self.skip("(")
        word = self.peek()
        if word is None:
            raise self.fault("a value")
        if word == "select":
            value: object = self.query()
        elif '"' in word:
            value = word
            self.at += 1
        else:
            try:
                value = float(word)
                self.at += 1
            except ValueError:
                # OR does not end a column: what follows it up to the next AND or clause is passed over
                while (word := self.peek()) not in (None, ",", ")", "and") and word not in _CLAUSES | _JOIN_WORDS:
                    self.at += 1
                value = _Reader(self.tokens[start : self.at], self.names, self.aliases).column_unit(tables)
        if is_block:
            self.expect(")")
        return value

    def value_unit(self, tables: list[str]) -> ValueUnit:
        is_block = self.skip("(")
        left = self.column_unit(tables)
        operator = self.index_in(ARITHMETIC)
        right = self.column_unit(tables) if operator is not None else None
        if is_block:
            self.expect(")")
        return operator or 0, left, right

    def column_unit(self, tables: list[str]) -> ColumnUnit:
        is_block = self.skip("(")
        aggregate = self.index_in(AGGREGATES)
        if aggregate is not None:
            self.expect("(")
            is_distinct, column = self.skip("distinct"), self.column(tables)
            self.expect(")")
            return aggregate, column, is_distinct
        is_distinct, column = self.skip("distinct"), self.column(tables)
        if is_block:
            self.expect(")")
        return 0, column, is_distinct

    def column(self, tables: list[str]) -> str:
        word = self.peek() or ""
        if word == STAR:
            self.at += 1
            return STAR
        table, dot, name = word.partition(".")
        owner = self.aliases.get(table) if dot else next((t for t in tables if word in self.names.tables[t]), None)
        if owner is None or (name if dot else word) not in self.names.tables.get(owner, ()):
            raise self.fault("a column")
        self.at += 1
        return f"{owner}.{name if dot else word}"
