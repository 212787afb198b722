"""Query-level features of the meta-analysis (plans paper, appendix I), from a gold query and its plan.

In: SQLite's SQL, its plan, and the two axes of the question's class. Out: one number per feature. `FEATURES` says what
each means (feature_names.py), its range, and gives a worked example. Node counts are operators of our plans, without
expressions: comparable among our runs, not with the paper's Calcite counts.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp
from sqlglot.tokens import Tokenizer

from workbench.feature_names import MEANINGS, NEAR
from workbench.identifier_uses import Use, named_output, plan_uses, sql_uses
from workbench.plan import Join, Plan, Relation, walk_relations
from workbench.plan_expressions import Call, Exists, Expression, InQuery, Subquery, walk
from workbench.sqlite_parser import DIALECT, parse

DATE_FUNCTIONS = frozenset({"date", "time", "datetime", "julianday", "strftime", "unixepoch", "timediff"})
COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "is", "is not", "in", "between"})
NUMBERS = frozenset({"integer", "real", "number"})
AGGREGATES = frozenset({"count", "sum", "avg", "min", "max", "total", "group_concat", "string_agg"})
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?([ T].*)?")


@dataclass(frozen=True)
class Feature:
    """values: its range. compute: from a Query. example: SQL over pet(id INTEGER, name TEXT, age INTEGER, owner_id
    INTEGER) and owner(id INTEGER, name TEXT), and the feature's value there."""

    meaning: str
    values: str
    compute: Callable[["Query"], float]
    example: tuple[str, float]


class Query:
    """A gold query as text, tree and plan, and what several features are computed from."""

    def __init__(self, sql: str, plan: Plan, is_ordered: bool, is_row_count_fixed: bool):
        self.sql, self.plan, self.is_ordered, self.is_row_count_fixed = sql, plan, is_ordered, is_row_count_fixed

    @cached_property
    def tree(self) -> exp.Expr:
        return parse(self.sql)

    @cached_property
    def tokens(self) -> int:
        return len(Tokenizer(dialect=DIALECT).tokenize(self.sql))

    @cached_property
    def uses(self) -> list[Use]:
        return sql_uses(self.tree)

    @cached_property
    def relations(self) -> list[Relation]:
        return list(walk_relations(self.plan.root))

    @cached_property
    def forward(self) -> list[int]:
        """Distances of uses that stand before their definition."""
        return [definition - use for use, definition in self.uses if use < definition]

    @cached_property
    def literals(self) -> list[exp.Literal]:
        return list(self.tree.find_all(exp.Literal))

    @cached_property
    def casts(self) -> int:
        return self.count(exp.Cast)

    @cached_property
    def date_functions(self) -> int:
        calls = sum(call.name.lower() in DATE_FUNCTIONS for call in self.tree.find_all(exp.Anonymous))
        return calls + self.count(exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp)

    def count(self, *kinds: type[exp.Expr]) -> int:
        return sum(1 for _ in self.tree.find_all(*kinds))

    def calls(self, names: frozenset[str]) -> int:
        """Calls of functions, as they are written, outside windows."""
        found = (call for call in self.tree.find_all(exp.Anonymous) if not isinstance(call.parent, exp.Window))
        return sum(call.name.lower() in names for call in found)

    @property
    def category(self) -> str:
        if not self.is_ordered:
            return "not_ordered"
        return "ordered_fixed" if self.is_row_count_fixed else "ordered_not_fixed"


def features(sql: str, plan: Plan, is_ordered: bool, is_row_count_fixed: bool) -> dict[str, float]:
    """Every feature of FEATURES, in its order. Raises ParseError for SQL that is none."""
    query = Query(sql, plan, is_ordered, is_row_count_fixed)
    return {name: float(feature.compute(query)) for name, feature in FEATURES.items()}


def _crosses_clauses(query: Query) -> bool:
    is_position = any(
        isinstance(one.this, exp.Literal) and not one.this.is_string for one in query.tree.find_all(exp.Ordered)
    )
    return is_position or any(named_output(column) is not None for column in query.tree.find_all(exp.Column))


def _expressions(query: Query) -> Iterator[Expression]:
    for relation in query.relations:
        for expression in relation.expressions:
            yield from walk(expression)


def _is_implicit(query: Query) -> bool:
    """A number compared with a text."""
    for part in _expressions(query):
        if isinstance(part, Call) and part.name in COMPARISONS:
            first, *others = (arg.type for arg in part.args)
            if any({first, other} & NUMBERS and "text" in (first, other) for other in others):
                return True
        if isinstance(part, InQuery):
            pairs = zip(part.values, part.query.fields, strict=True)
            if any({one.type, other.type} & NUMBERS and "text" in (one.type, other.type) for one, other in pairs):
                return True
    return False


def _children(relation: Relation) -> list[Relation]:
    parts = [part for expression in relation.expressions for part in walk(expression)]
    return [*relation.inputs, *(part.query for part in parts if isinstance(part, Subquery | InQuery | Exists))]


def _width(query: Query) -> int:
    level, widest = [query.plan.root], 0
    while level:
        widest = max(widest, len(level))
        level = [child for relation in level for child in _children(relation)]
    return widest


def _depth(relation: Relation) -> int:
    return 1 + max((_depth(child) for child in _children(relation)), default=0)


def _join_chain(query: Query) -> int:
    def chain(relation: Relation) -> int:
        return 1 + max(map(chain, relation.inputs)) if isinstance(relation, Join) else 0

    return max(map(chain, query.relations))


def _literal_kind(literal: exp.Literal) -> str:
    if not literal.is_string:
        return "integer" if literal.is_int else "real"
    if _DATE.fullmatch(literal.this):
        return "date"
    return "pattern" if _is_pattern(literal) else "text"


def _is_pattern(literal: exp.Literal) -> bool:
    return literal.is_string and ("%" in literal.this or "_" in literal.this)


def _literal_diversity(query: Query) -> int:
    kinds = {_literal_kind(literal) for literal in query.literals}
    return 3 if len(kinds) > 1 and kinds & {"date", "pattern"} else min(len(kinds), 3)


def _locality(uses: list[Use]) -> float:
    return sum(abs(use - definition) <= NEAR for use, definition in uses) / len(uses) if uses else 1.0


def _locality_gap(query: Query) -> float:
    return _locality(plan_uses(query.plan)[1]) - _locality(query.uses)


def _ambiguous(query: Query) -> int:
    """Columns without a table where several are read."""
    found = 0
    for column in query.tree.find_all(exp.Column):
        select = column.find_ancestor(exp.Select)
        if select is not None and not column.table and named_output(column) is None:
            found += len([part for part in (select.args.get("from_"), *select.args.get("joins", ())) if part]) > 1
    return found


def _scalar_subquery(query: Query) -> bool:
    return any(isinstance(part, Subquery) for part in _expressions(query))


def _nesting(query: Query) -> int:
    def depth(tree: exp.Expr) -> int:
        count, above = 0, tree.find_ancestor(exp.Select)
        while above is not None:
            count, above = count + 1, above.find_ancestor(exp.Select)
        return count

    return max(map(depth, query.tree.find_all(exp.Select)), default=0)


def _predicates(query: Query) -> int:
    return query.count(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Glob, exp.Between, exp.In, exp.Is, exp.Exists)  # fmt: skip


_ALL = "SELECT name FROM pet"
_JOIN = "SELECT T1.name FROM pet AS T1 JOIN owner AS T2 ON T1.owner_id = T2.id"
_GROUP = "SELECT age, COUNT(*) AS n FROM pet GROUP BY age ORDER BY n DESC LIMIT 3"
_DATES = "SELECT CAST(age AS TEXT), strftime('%Y', name) FROM pet WHERE name = 3"

_COMPUTED: dict[str, tuple[Callable[[Query], float], tuple[str, float]]] = {
    "qc_scope_cross_clause": (_crosses_clauses, (_GROUP, 1)),
    "qc_n_forward_refs": (lambda q: len(q.forward), (_JOIN, 1)),
    "qc_max_alias_distance": (lambda q: max(q.forward, default=0), (_JOIN, 20)),
    "qc_type_coercion_level": (lambda q: min(q.casts + q.date_functions, 3), (_DATES, 2)),
    "qc_n_casts": (lambda q: q.casts, (_DATES, 1)),
    "qc_has_date_functions": (lambda q: q.date_functions > 0, (_DATES, 1)),
    "qc_has_implicit_coercion": (_is_implicit, (_DATES, 1)),
    "qc_dag_max_width": (_width, (_JOIN, 2)),
    "qc_max_join_depth": (_join_chain, (_JOIN, 1)),
    "qc_n_reasoning_steps": (lambda q: sum(bool(_children(one)) for one in q.relations), (_JOIN, 2)),
    "qc_literal_diversity_level": (_literal_diversity, (_DATES, 3)),
    "qc_n_literals": (lambda q: len(q.literals), (_DATES, 2)),
    "qc_has_pattern_literal": (lambda q: any(map(_is_pattern, q.literals)), (_DATES, 1)),
    "qc_category_ordered_fixed": (lambda q: q.category == "ordered_fixed", (_ALL, 0)),
    "qc_category_ordered_not_fixed": (lambda q: q.category == "ordered_not_fixed", (_ALL, 0)),
    "qc_locality_gap": (_locality_gap, (_ALL, 0)),
    "qc_n_ambiguous_refs": (_ambiguous, ("SELECT age FROM pet JOIN owner ON owner_id = owner.id", 2)),
    "ps_max_depth": (lambda q: _depth(q.plan.root), (_JOIN, 3)),
    "ps_has_scalar_subquery": (_scalar_subquery, ("SELECT name FROM pet WHERE age = (SELECT MAX(age) FROM pet)", 1)),
    "ax_length_ratio": (lambda q: len(q.relations) / max(q.tokens, 1), (_ALL, 0.5)),
    "ax_length_diff": (lambda q: len(q.relations) - q.tokens, (_ALL, -2)),
    "sc_n_tokens": (lambda q: q.tokens, (_ALL, 4)),
    "sc_n_characters": (lambda q: len(q.sql), (_ALL, 20)),
    "sc_n_tables": (lambda q: q.count(exp.Table), (_JOIN, 2)),
    "sc_n_joins": (lambda q: q.count(exp.Join), (_JOIN, 1)),
    "sc_n_subqueries": (lambda q: max(q.count(exp.Select) - 1, 0), ("SELECT name FROM pet WHERE age = (SELECT MAX(age) FROM pet)", 1)),
    "sc_nesting_depth": (_nesting, ("SELECT name FROM pet WHERE age = (SELECT MAX(age) FROM pet)", 1)),
    "sc_n_aggregates": (lambda q: q.calls(AGGREGATES), (_GROUP, 1)),
    "sc_n_group_keys": (lambda q: sum(len(one.expressions) for one in q.tree.find_all(exp.Group)), (_GROUP, 1)),
    "sc_n_order_keys": (lambda q: q.count(exp.Ordered), (_GROUP, 1)),
    "sc_n_predicates": (_predicates, (_JOIN, 1)),
    "sc_n_set_operations": (lambda q: q.count(exp.SetOperation), ("SELECT name FROM pet UNION SELECT name FROM owner", 1)),
    "sc_n_cases": (lambda q: q.count(exp.Case) + q.calls(frozenset({"iif"})), ("SELECT IIF(age > 3, 1, 0) FROM pet", 1)),
    "sc_n_windows": (lambda q: q.count(exp.Window), ("SELECT RANK() OVER (ORDER BY age) FROM pet", 1)),
    "sc_has_distinct": (lambda q: q.count(exp.Distinct) > 0, ("SELECT DISTINCT age FROM pet", 1)),
    "sc_has_limit": (lambda q: q.count(exp.Limit) > 0, (_GROUP, 1)),
}  # fmt: skip
FEATURES = {name: Feature(*meaning, *_COMPUTED[name]) for name, meaning in MEANINGS.items()}
