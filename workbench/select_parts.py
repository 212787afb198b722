"""The SELECT that is being put together while a plan is written: its clauses so far, and what columns are in it."""

from dataclasses import dataclass, field, replace
from enum import IntEnum

from sqlglot import exp

from workbench.plan import Field
from workbench.plan_expressions import Column, Expression, walk


class Stage(IntEnum):
    """The last clause that is filled, in the order in which SQL evaluates them."""

    FROM = 0
    WHERE = 1
    GROUP = 2
    HAVING = 3
    WINDOW = 4
    PROJECT = 5
    DISTINCT = 6
    SORT = 7


@dataclass
class Select:
    """names: key of a column -> its SQL here. items: the select list, None while it is all fields. query: a finished
    query instead of clauses. has_star: FROM gives exactly the fields. extreme: the MIN or MAX that bare columns need."""

    fields: tuple[Field, ...]
    source: exp.Expr | None = None
    names: dict[tuple, exp.Expr] = field(default_factory=dict)
    joins: list[exp.Join] = field(default_factory=list)
    where: list[exp.Expr] = field(default_factory=list)
    group: list[exp.Expr] = field(default_factory=list)
    having: list[exp.Expr] = field(default_factory=list)
    items: list[exp.Expr] | None = None
    order: list[exp.Expr] = field(default_factory=list)
    limit: exp.Expr | None = None
    offset: exp.Expr | None = None
    is_distinct: bool = False
    is_grouped: bool = False
    has_star: bool = False
    extreme: exp.Expr | None = None
    query: exp.Expr | None = None
    stage: Stage = Stage.FROM

    def is_whole_source(self, names: list[str]) -> bool:
        """Whether * gives exactly the wanted columns."""
        own = [one.name.lower() for one in self.fields]
        is_whole = self.has_star and not self.is_grouped and own == [name.lower() for name in names]
        return (is_whole and len(set(own)) == len(own)) or (is_whole and not self.is_distinct and own == names)

    def joined(self, fields: tuple[Field, ...], names: dict[tuple, exp.Expr], has_star: bool) -> "Select":
        return replace(self, fields=fields, names=names, has_star=has_star, joins=list(self.joins))

    def read_by(self, expressions: tuple[Expression, ...]) -> list[exp.Expr]:
        """The SQL of the columns that expressions read."""
        columns = [part for one in expressions for part in walk(one) if isinstance(part, Column) and not part.is_outer]
        keys = [(one.alias.lower() if one.alias else None, one.name.lower()) for one in columns]
        return [self.names[key] for key in keys if key in self.names]

    def shows(self, wanted: exp.Expr, items: list[exp.Expr]) -> bool:
        """Whether a call stands in the select list, HAVING or ORDER BY."""
        return any(part == wanted for tree in (*items, *self.having, *self.order) for part in tree.walk())

    def tree(self, items: list[exp.Expr]) -> exp.Select:
        tree = exp.Select(expressions=items)
        if self.is_distinct:
            tree.set("distinct", exp.Distinct())
        if self.source is not None:
            tree.set("from_", exp.From(this=self.source))
        if self.joins:
            tree.set("joins", self.joins)
        if self.where:
            tree.set("where", exp.Where(this=_all(self.where)))
        if self.group:
            tree.set("group", exp.Group(expressions=self.group))
        if self.having:
            tree.set("having", exp.Having(this=_all(self.having)))
        if self.order:
            tree.set("order", exp.Order(expressions=self.order))
        if self.limit is not None:
            tree.set("limit", exp.Limit(expression=self.limit))
        if self.offset is not None:
            tree.set("offset", exp.Offset(expression=self.offset))
        return tree


def _all(conditions: list[exp.Expr]) -> exp.Expr:
    if len(conditions) == 1:
        return conditions[0]
    parts = [exp.Paren(this=one) if isinstance(one, exp.Or) else one for one in conditions]
    tree = parts[0]
    for part in parts[1:]:
        tree = exp.And(this=tree, expression=part)
    return tree
