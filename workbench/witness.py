"""Rows that make a query find something: what its plan asks of the tables' cells, and values that answer it.

In: a plan and its schema. Out: `Witness.rows`, for each scan of a table the values of the columns that the plan
constrains. Conditions are read backwards (a cell's cast over 400 wants a number over 400 in the cell), joined cells share
one value, HAVING asks for copies. What cannot be read backwards is left to chance: the caller runs the query and sees.
"""

import datetime
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workbench.plan import (
    Aggregate,
    As,
    Distinct,
    Filter,
    Join,
    Project,
    Ref,
    Relation,
    Scan,
    SetOperation,
    Sort,
    Values,
    Window,
    With,
)
from workbench.plan_expressions import (
    Aggregation,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Exists,
    Expression,
    InQuery,
    Literal,
    Over,
    Subquery,
    walk,
)
from workbench.witness_values import DATE, FREE, MIRRORED, value_for

Cell = tuple[int, str]  # (number of the scan, column in lower case)
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "is": "is not", "is not": "is"}
COMPARISONS = frozenset(OPPOSITE)
MAX_COPIES = 40  # of a witness, where HAVING asks for many rows
TODAY = datetime.date(2026, 1, 1)  # for conditions on ages
_CODES = {"%Y": (0, 4), "%m": (5, 7), "%d": (8, 10), "%H": (11, 13), "%M": (14, 16), "%S": (17, 19)}


@dataclass(frozen=True)
class Term:
    """An expression with what its columns stand for."""

    value: Expression
    names: "Names"


@dataclass
class Names:
    """What the columns of an operator are: cells, or terms of other columns. outer: of the query around."""

    found: dict[tuple[str | None, str], "Cell | Term | None"] = field(default_factory=dict)
    outer: "Names | None" = None

    def get(self, column: Column) -> "Cell | Term | None":
        key = (column.alias.lower() if column.alias else None, column.name.lower())
        if key in self.found and column.is_outer is not True:
            return self.found[key]
        return self.outer.get(column) if self.outer else self.found.get(key)


class Witness:
    """One attempt. structure: decides between alternatives, the same for all copies; values: fills in what is free.

    number: which copy this is; it meets another of the conditions inside aggregates each time. given: cells whose
    values an earlier copy settled. copies: how many the plan asks for. shared: cells whose values all copies have.
    """

    def __init__(self, plan, schema, structure: random.Random, values: random.Random, number=0, given=None):
        self.schema, self.structure, self.values, self.number = schema, structure, values, number
        self.given: dict[Cell, object] = given or {}
        self.copies = 1
        self.shared: set[Cell] = set()
        self.tables: list[str] = []
        self._parents: dict[Cell, Cell] = {}
        self._facts: dict[Cell, list[tuple[str, object]]] = {}
        self._queries: dict[str, tuple[Relation, Names | None, bool]] = {}
        self._is_start = False  # inside a recursive sub-pipeline, of which only the start is bound
        self._bind(plan.root, None)

    def rows(self, fresh) -> list[tuple[str, dict[str, object]]]:
        """(table, column -> value) for each scan; fresh(table, column) makes a value for a cell that is only joined."""
        groups: dict[Cell, list[Cell]] = {}
        for cell in self._parents:
            groups.setdefault(self._root(cell), []).append(cell)
        found: list[tuple[str, dict[str, object]]] = [(table, {}) for table in self.tables]
        for root, cells in groups.items():
            settled = [self.given[cell] for cell in cells if cell in self.given]
            value = settled[0] if settled else self._value(root, cells, fresh)
            for number, column in cells:
                found[number][1][column] = value
        return found

    # -- what the operators' columns are --------------------------------------------------------------------------------

    def _bind(self, relation: Relation, outer: Names | None) -> Names:
        match relation:
            case Scan():
                self.tables.append(relation.table)
                number = len(self.tables) - 1
                return Names({one.key: (number, one.name.lower()) for one in relation.fields}, outer)
            case Ref():
                query, around, is_recursive = self._queries[relation.name.lower()]
                before, self._is_start = self._is_start, self._is_start or is_recursive
                names = self._bind(query, around)
                self._is_start = before
                return self._renamed(relation, query, names)
            case Values():
                row = relation.rows[self.number % len(relation.rows)]
                pairs = zip(relation.fields, row, strict=False)
                return Names({one.key: Term(value, Names({}, outer)) for one, value in pairs}, outer)
            case With():
                for definition in relation.definitions:
                    self._queries[definition.name.lower()] = (definition.query, outer, definition.is_recursive)
                return self._bind(relation.input, outer)
            case SetOperation(kind="intersect"):
                left, right = self._bind(relation.left, outer), self._bind(relation.right, outer)
                for one, other in zip(relation.left.fields, relation.right.fields, strict=True):
                    self._equate(left.found.get(one.key), right.found.get(other.key))
                return left
            case SetOperation():
                is_right = relation.kind == "union" and self.number % 2 == 1 and not self._is_start
                side = relation.right if is_right else relation.left
                return self._renamed(relation, side, self._bind(side, outer))
            case Join():
                return self._bind_join(relation, outer)
        names = self._bind(relation.input, outer)
        match relation:
            case Filter():
                self._want(relation.condition, names, True)
            case Project():
                for item in relation.items:
                    self._want_parts(item.value, names)
                return Names({item.field.key: self._term(item.value, names) for item in relation.items}, outer)
            case Aggregate():
                for item in relation.keys:
                    self._share(item.value, names)
                for item in relation.items:
                    self._want_parts(item.value, names)
                items = relation.keys + relation.items
                return Names({item.field.key: self._term(item.value, names) for item in items}, outer)
            case Window():
                return Names(names.found | {i.field.key: Term(i.value, names) for i in relation.items}, outer)
            case Sort() if relation.limit is not None and relation.keys:
                key = relation.keys[0]
                self._aim(key.value, names, "extreme", "high" if key.is_descending else "low")
                if relation.offset is not None and isinstance(relation.offset, Literal):
                    self.copies = max(self.copies, min(MAX_COPIES, int(relation.offset.value or 0) + 1))
            case As():
                return self._renamed(relation, relation.input, names)
            case Distinct() | Sort():
                pass
        return names

    def _bind_join(self, join: Join, outer: Names | None) -> Names:
        left = self._bind(join.left, outer)
        if join.kind == "anti":
            return left
        right = self._bind(join.right, outer)
        both = Names(left.found | right.found, outer)
        if join.on is not None:
            self._want(join.on, both, True)
        return left if join.kind == "semi" else both

    def _renamed(self, relation: Relation, inner: Relation, names: Names) -> Names:
        pairs = zip(relation.fields, inner.fields, strict=False)
        return Names({one.key: names.found.get(other.key) for one, other in pairs}, names.outer)

    def _term(self, value: Expression, names: Names) -> "Cell | Term | None":
        return names.get(value) if isinstance(value, Column) else Term(value, names)

    def _share(self, value: Expression, names: Names) -> None:
        for part in walk(value):
            found = names.get(part) if isinstance(part, Column) else None
            if isinstance(found, tuple):
                self._parents.setdefault(found, found)
                self.shared.add(found)
            elif isinstance(found, Term):
                self._share(found.value, found.names)

    # -- what conditions ask for ----------------------------------------------------------------------------------------

    def _want(self, value: Expression, names: Names, truth: bool) -> None:
        match value:
            case Call(name="and" | "or"):
                is_all = (value.name == "and") == truth
                for part in value.args if is_all else (self.structure.choice(value.args),):
                    self._want(part, names, truth)
            case Call(name="not"):
                self._want(value.args[0], names, not truth)
            case Call(name="between") if truth:
                this, low, high = value.args
                self._compare(this, ">=", low, names)
                self._compare(this, "<=", high, names)
            case Call(name="between"):
                self._compare(value.args[0], ">", value.args[2], names)
            case Call(name="in"):
                this, *items = value.args
                if truth and items:
                    self._compare(this, "=", self.values.choice(items), names)
                for item in [] if truth else items:
                    self._compare(this, "<>", item, names)
            case Call(name="like" | "glob") if truth and isinstance(value.args[1], Literal):
                self._aim(value.args[0], names, value.name, value.args[1].value)
            case Call(name="is null" | "is not null"):
                is_null = (value.name == "is null") == truth
                self._aim(value.args[0], names, "null" if is_null else "not null", None)
            case Call() if value.name in COMPARISONS:
                left, right = value.args
                self._compare(left, value.name if truth else OPPOSITE[value.name], right, names)
            case InQuery() if truth:
                inner = self._bind(value.query, names)
                for one, other in zip(value.values, value.query.fields, strict=True):
                    self._equate_terms(one, names, inner.found.get(other.key))
            case Exists() if truth:
                self._bind(value.query, names)
            case Column():
                found = names.get(value)
                if isinstance(found, Term):
                    self._want(found.value, found.names, truth)
                else:
                    self._aim(value, names, "<>" if truth else "=", 0)
            case Case():
                self._want(value.branches[0][0], names, truth)

    def _want_parts(self, value: Expression, names: Names) -> None:
        """Meet one of the conditions inside an aggregate or a projection, another one for each copy."""
        parts = [part for part in walk(value) if not isinstance(part, Literal)]
        wanted = [condition for part in parts if isinstance(part, Case) for condition in _conditions(part)]
        wanted += [part.where for part in parts if isinstance(part, Aggregation) and part.where is not None]
        wanted += [part.args[0] for part in parts if isinstance(part, Call) and part.name == "if"]
        wanted += [part for part in parts if isinstance(part, Call) and part.name in COMPARISONS]
        if wanted:
            self.copies = max(self.copies, len(wanted) + 1)
            if self.number <= len(wanted):
                self._want(wanted[min(self.number, len(wanted) - 1)], names, self.number < len(wanted))
        for part in parts:
            if isinstance(part, Subquery):
                self._bind(part.query, names)
            elif isinstance(part, Aggregation) and part.args and not wanted:
                self._aim(part.args[0], names, "not null", None)
            elif isinstance(part, Column):
                found = names.get(part)
                if isinstance(found, Term) and found.value is not value:
                    self._want_parts(found.value, found.names)

    def _compare(self, left: Expression, word: str, right: Expression, names: Names) -> None:
        known = [_constant(side, names) for side in (left, right)]
        if known[0] is not None and known[1] is None:
            left, right, known = right, left, known[::-1]
            word = MIRRORED.get(word, word)
        if known[1] is not None:
            self._aim(left, names, word, known[1].value)
        elif word in ("=", "is"):
            found = self._settle(right, names)
            if found is None:
                left, right = right, left
                found = self._settle(right, names)
            self._equate_terms(left, names, found)
        elif word in MIRRORED:
            self._aim(left, names, "extreme", "high" if ">" in word else "low")
            self._aim(right, names, "extreme", "low" if ">" in word else "high")

    def _settle(self, value: Expression, names: Names) -> "Cell | Term | None":
        """The cell or term behind an expression: through columns, casts and scalar queries, which are bound here."""
        match value:
            case Column():
                found = names.get(value)
                return self._settle(found.value, found.names) or found if isinstance(found, Term) else found
            case Cast() | Collate():
                return self._settle(value.value, names)
            case Subquery():
                inner = self._bind(value.query, names)
                found = inner.found.get(value.query.fields[0].key)
                return self._settle(found.value, found.names) if isinstance(found, Term) else found
            case Aggregation(name="min" | "max" | "any_value" | "arg_min" | "arg_max") if value.args:
                if value.name in ("min", "max"):
                    self._aim(value.args[0], names, "extreme", "high" if value.name == "max" else "low")
                else:
                    self._aim(value.args[-1], names, "extreme", "high" if value.name == "arg_max" else "low")
                return self._settle(value.args[0], names)
            case Call(name="coalesce" | "if" | "upper" | "lower" | "trim" | "substring" | "+"):
                return self._settle(value.args[1 if value.name == "if" else 0], names)
        return None

    def _equate_terms(self, left: Expression, names: Names, right: "Cell | Term | None") -> None:
        self._equate(self._settle(left, names), right)

    def _equate(self, left: "Cell | Term | None", right: "Cell | Term | None") -> None:
        if isinstance(left, tuple) and isinstance(right, tuple):
            one, other = self._root(left), self._root(right)
            if one != other:
                self._parents[one] = other
                self._facts.setdefault(other, []).extend(self._facts.pop(one, []))
        elif isinstance(left, Term) and isinstance(right, tuple):
            self._equate(right, left)
        elif isinstance(left, tuple) and isinstance(right, Term) and isinstance(right.value, Literal):
            self._fact(left, "=", right.value.value)

    def _aim(self, value: Expression, names: Names, word: str, wanted: object) -> None:
        """Ask that `value word wanted` holds, where the expression can be read backwards down to a cell."""
        match value:
            case Column():
                found = names.get(value)
                if isinstance(found, tuple):
                    self._fact(found, word, wanted)
                elif isinstance(found, Term):
                    self._aim(found.value, found.names, word, wanted)
            case Cast() | Collate():
                self._aim(value.value, names, word, wanted)
            case Subquery():
                found = self._settle(value, names)
                if isinstance(found, tuple):
                    self._fact(found, word, wanted)
            case Aggregation(name="count") | Over(name="count"):
                self._aim_count(value, names, word, wanted)
            case Aggregation() | Over() if value.args:
                self._aim(value.args[0], names, word, wanted)
            case Case():
                chosen = next((c for c, result in value.branches if _is_text_of(result, wanted)), None)
                if chosen is not None:
                    self._want(chosen, names, word in ("=", "is", ">", ">="))
                else:
                    self._aim(value.branches[0][1], names, word, wanted)
            case Call():
                self._aim_call(value, names, word, wanted)

    def _aim_count(self, value: Aggregation | Over, names: Names, word: str, wanted: object) -> None:
        if word in ("=", ">", ">=") and isinstance(wanted, int | float):
            self.copies = max(self.copies, min(MAX_COPIES, int(wanted) + (word == ">")))
        if value.args:
            self._aim(value.args[0], names, "not null", None)

    def _aim_call(self, call: Call, names: Names, word: str, wanted: object) -> None:
        first = call.args[0] if call.args else None
        other = _constant(call.args[1], names) if len(call.args) == 2 else None
        is_number = isinstance(wanted, int | float)
        match call.name:
            case "if":
                self._want(first, names, True)
                self._aim(call.args[1], names, word, wanted)
            case "substring" if isinstance(wanted, str) and word in ("=", "like") and len(call.args) > 1:
                start = _constant(call.args[1], names)
                if start is not None and isinstance(start.value, int) and start.value > 0:
                    self._aim(first, names, "at", (start.value - 1, wanted.replace("%", "")))
            case "substring":
                self._aim(first, names, "like" if isinstance(wanted, str) else word, wanted)
            case "format_date" if isinstance(first, Literal) and len(call.args) > 1:
                self._aim_date(str(first.value), call.args[1], names, word, wanted)
            case "date" | "datetime" | "julianday":
                self._aim(first, names, word, wanted)
            case "position":
                if isinstance(first, Literal):
                    self._aim(call.args[1], names, "like", f"%{first.value}%")
            case "-" if len(call.args) == 2 and is_number and other is None:
                left = _constant(first, names)
                if left is not None and isinstance(left.value, int | float):
                    self._aim(call.args[1], names, MIRRORED.get(word, word), left.value - wanted)
                elif _is_now(first):
                    self._aim(call.args[1], names, MIRRORED.get(word, word), TODAY.year - int(wanted))
                else:
                    self._aim(first, names, word, wanted + 1)
                    self._aim(call.args[1], names, "=", 1)
            case "+" | "-" | "*" | "/" if is_number and other is not None and isinstance(other.value, int | float):
                k = other.value or 1
                back = {"+": wanted - k, "-": wanted + k, "*": wanted / k, "/": wanted * k}[call.name]
                self._aim(first, names, word, back)
            case "/" | "*" if is_number and len(call.args) == 2:
                self._aim(first, names, word, wanted * 2 if call.name == "/" else wanted / 2)
                self._aim(call.args[1], names, "=", 2)
            case "lower" | "upper" | "trim" | "coalesce" | "round" | "abs" | "nullif" | "+" | "replace":
                self._aim(first, names, word, wanted)
            case _ if call.name in COMPARISONS or call.name in ("and", "or", "like", "in"):
                self._want(call, names, (word in ("=", "is")) == bool(wanted))

    def _aim_date(self, form: str, time: Expression, names: Names, word: str, wanted: object) -> None:
        text = str(wanted)
        if form == "%Y" and word in MIRRORED and re.fullmatch(r"\d{1,4}(\.0)?", text):
            year = min(9998, max(1, int(float(text)) + {"<": -1, ">": 1}.get(word, 0)))
            return self._aim(time, names, "at", (0, f"{year:04d}"))
        codes = re.findall(r"%[A-Za-z]", form)
        pattern = re.escape(form)
        for code in codes:
            pattern = pattern.replace(re.escape(code), r"(\d+)", 1)
        match = re.fullmatch(pattern, text)
        if word in ("=", "is", "<=", ">=") and match:
            for code, digits in zip(codes, match.groups(), strict=True):
                if code in _CODES:
                    start, end = _CODES[code]
                    self._aim(time, names, "at", (start, digits.rjust(end - start, "0")))
        elif DATE.match(text):
            self._aim(time, names, word, text)
        return None

    # -- values ---------------------------------------------------------------------------------------------------------

    def _root(self, cell: Cell) -> Cell:
        self._parents.setdefault(cell, cell)
        while self._parents[cell] != cell:
            cell = self._parents[cell]
        return cell

    def _fact(self, cell: Cell, word: str, wanted: object) -> None:
        self._facts.setdefault(self._root(cell), []).append((word, wanted))

    def _value(self, root: Cell, cells: list[Cell], fresh) -> object:
        facts = self._facts.get(root, [])
        place = min(cells, key=lambda cell: (self._kind(cell) not in ("integer", "real"), cell))
        kind = self._kind(place)
        value = value_for(kind, facts, self.values)
        return fresh(self.tables[place[0]], place[1]) if value is FREE else value

    def _kind(self, cell: Cell) -> str:
        column = self.schema.table(self.tables[cell[0]]).column(cell[1])
        return column.kind if column is not None else "integer"


def _conditions(case: Case) -> Iterator[Expression]:
    for condition, _ in case.branches:
        yield Call("=", (case.operand, condition)) if case.operand is not None else condition


def _constant(value: Expression, names: Names) -> Literal | None:
    """The constant that an expression is, through casts and columns."""
    match value:
        case Literal() if value.value is not None:
            return value
        case Cast() | Collate():
            return _constant(value.value, names)
        case Call(name="-", args=(Literal() as inner,)) if isinstance(inner.value, int | float):
            return Literal(-inner.value)
        case Column():
            found = names.get(value)
            return _constant(found.value, found.names) if isinstance(found, Term) else None
    return None


def _is_now(value: Expression) -> bool:
    names = {part.name for part in walk(value) if isinstance(part, Call)}
    has_word = any(isinstance(part, Literal) and part.value == "now" for part in walk(value))
    return has_word or bool(names & {"current_date", "current_timestamp"})


def _is_text_of(value: Expression, wanted: object) -> bool:
    return isinstance(value, Literal) and value.value == wanted
