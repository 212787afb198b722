"""Subqueries of an engine that joins them in, and whose IN passes over NULLs: both as ClickHouse 26.9 does.

In: lowered subqueries. Out: trees of what the engine runs with SQLite's meaning; `lower_correlated` says of which kinds
these are, and refuses the rest. NULL is as good as false where a condition stands, so IN is written plainly there; inside
NOT, and where its value is read, its NULLs are written out. A class to inherit from, between TypedDialect and an engine's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlglot import exp

from workbench.core_functions import Core
from workbench.dialects.base import Names
from workbench.dialects.typed import TypedDialect
from workbench.errors import UnsupportedError
from workbench.lower_correlated import any_row, null_rows, one_value, partner, unmatched, value_of_no_rows
from workbench.plan import Aggregate, Project, Relation
from workbench.plan_expressions import Column, Exists, Expression, InQuery, Literal, Subquery, walk


class JoinedQueries(TypedDialect):
    correlates_lone_tables = True
    _is_exact = False  # whether false and NULL are to be told apart

    def core_value(self, value: Core, names: Names) -> exp.Expr:
        with self._exactly(True):
            return self.write(value.args[0], names)

    def core_not(self, value: Core, names: Names) -> exp.Expr:
        inner = value.args[0]
        if isinstance(inner, InQuery) and not self._is_exact:
            return self._not_in(inner, names)
        with self._exactly(True):
            return self.write_not(value, names)

    @contextmanager
    def _exactly(self, is_exact: bool) -> Iterator[None]:
        before, self._is_exact = self._is_exact, is_exact
        yield
        self._is_exact = before

    def write_subquery(self, value: Subquery, names: Names) -> exp.Expr:
        query = value.query
        if not query.outer_columns:
            return self._query(query, names)
        query = one_value(query)
        if any(isinstance(part, Subquery) and part.query.outer_columns for part in _computed(query)):
            raise UnsupportedError("a subquery's value that reads columns around another's", where=self.name)
        empty = value_of_no_rows(query)
        tree = self._query(query, names, is_value=empty is None)
        return tree if empty is None else self.call("COALESCE", [tree, self.write(empty, Names({}))])

    def _query(self, query: Relation, names: Names, is_value: bool = False, may_be_null: tuple = ()) -> exp.Expr:
        if any(key_of(column) not in names.here for column in query.outer_columns):
            raise UnsupportedError("a subquery that reads columns of two queries around it", where=self.name)
        for column in unmatched(query, is_value):
            if not self._is_full(column) and column not in may_be_null:
                what = f"a subquery that has rows where {column.text} around it is NULL"
                raise UnsupportedError(what, where=self.name)
        with self._exactly(False):
            return exp.Subquery(this=self.write_query(query, names))

    def write_exists(self, value: Exists, names: Names, may_be_null: tuple = ()) -> exp.Expr:
        query = any_row(value.query) if value.query.outer_columns else value.query
        tree = self._query(query, names, may_be_null=may_be_null).this
        for item in tree.expressions if isinstance(tree, exp.Select) else ():
            if isinstance(item, exp.Alias) and isinstance(item.this, exp.Literal):
                item.replace(item.this)  # nobody reads its name
        return exp.Exists(this=tree)

    def write_inquery(self, value: InQuery, names: Names) -> exp.Expr:
        if self._is_exact:
            return self._exact_in(value, names)
        if value.query.outer_columns:
            return self.write_exists(Exists(partner(value, False)), names)
        return self._plain_in(value, names)

    def _plain_in(self, value: InQuery, names: Names) -> exp.Expr:
        these = [self._within(one, names, 4) for one in value.values]
        this = these[0] if len(these) == 1 else exp.Tuple(expressions=these)
        return exp.In(this=this, query=self._query(value.query, names))

    def _is_full(self, value: Expression) -> bool:
        if isinstance(value, Literal):
            return value.value is not None
        return isinstance(value, Column) and key_of(value) in self.never_null

    def _not_in(self, value: InQuery, names: Names) -> exp.Expr:
        """NOT IN where NULL is as good as false."""
        is_null, some = self._null_among_some(value, names)
        if value.query.outer_columns:
            tree: exp.Expr = exp.Not(this=self._equal_or_null(value, names))
            if some is None:
                return tree
            is_unknown = exp.Paren(this=exp.And(this=is_null, expression=some))
            return exp.And(this=tree, expression=exp.Not(this=is_unknown))
        tree = exp.Not(this=self._plain_in(value, names))
        if some is not None:
            tree = self.call("COALESCE", [tree, exp.Not(this=some)])
        in_set = self._null_in_set(value, names)
        return tree if in_set is None else exp.And(this=tree, expression=exp.Not(this=in_set))

    def _exact_in(self, value: InQuery, names: Names) -> exp.Expr:
        """1, 0 or NULL."""
        with self._exactly(False):
            if value.query.outer_columns:
                tree = self.write_exists(Exists(partner(value, False)), names)
                in_set: exp.Expr | None = self._equal_or_null(value, names)
            else:
                tree, in_set = self._plain_in(value, names), self._null_in_set(value, names)
            is_null, some = self._null_among_some(value, names)
        unknown = [in_set] if in_set is not None else []
        unknown += [exp.And(this=is_null, expression=some)] if some is not None else []
        if not unknown:
            return exp.Paren(this=tree)
        either = unknown[0] if len(unknown) == 1 else exp.Or(this=unknown[0], expression=unknown[1])
        cases = [exp.If(this=tree, true=exp.Literal.number(1)), exp.If(this=either, true=exp.Null())]
        return exp.Case(ifs=cases, default=exp.Literal.number(0))

    def _null_in_set(self, value: InQuery, names: Names) -> exp.Expr | None:
        """Whether a set has a NULL, as far as it can."""
        nulls = null_rows(value)
        is_full = self._is_full(nulls.input.condition.args[0])
        return None if is_full else self.write_exists(Exists(nulls), names)

    def _null_among_some(self, value: InQuery, names: Names) -> tuple[exp.Expr | None, exp.Expr | None]:
        """Whether x is NULL, and whether the set has rows; None where x cannot be."""
        if len(value.values) > 1:
            raise UnsupportedError("whether several values are not IN a subquery", where=self.name)
        this = value.values[0]
        if self._is_full(this):
            return None, None
        is_null = self.write_is_null(Core("is null", (this,), "condition"), names)
        return is_null, self.write_exists(Exists(value.query), names)

    def _equal_or_null(self, value: InQuery, names: Names) -> exp.Expr:
        """Rows that x equals, and NULLs; of a NULL x it says nothing."""
        outer = {replace(one, is_outer=True) for x in value.values for one in walk(x) if isinstance(one, Column)}
        return self.write_exists(Exists(partner(value, True)), names, tuple(outer))

    def core_row(self, value: Core, names: Names) -> exp.Expr:
        return exp.Tuple(expressions=[self.write(arg, names) for arg in value.args])


def _computed(query: Relation) -> Iterator[Expression]:
    """What a query's projections and aggregates compute, in its own FROM too."""
    for value in query.expressions if isinstance(query, Project | Aggregate) else ():
        yield from walk(value)
    for below in query.inputs:
        yield from _computed(below)


def key_of(column: Column) -> tuple:
    return (column.alias.lower() if column.alias else None, column.name.lower())
