"""Finds what a name in SQLite's SQL means: a column, an alias of the select list, an outer query's column, or a text.

In: a name as the parser gives it, and a `Scope`. Out: a plan's expression. The order is SQLite's (resolve.c): columns
of FROM, the row number, aliases, then the same in the query around; "text" in double quotes that names nothing is a
string. Raises PlanError (unknown_column) with the names available.
"""

from dataclasses import dataclass, field

from sqlglot import exp

from workbench.errors import PlanError, UnsupportedError
from workbench.plan import Field
from workbench.plan_expressions import Aggregation, Column, Expression, Literal, Over

ROWID_NAMES = ("rowid", "oid", "_rowid_")
AGGREGATE, WINDOW = "aggregate of the select", "window of the select"  # aliases of columns that are still to be named


@dataclass
class Scope:
    """What names mean at one place of one SELECT.

    fields: what FROM gives. merged: columns that USING and NATURAL make one of two. aliases: of the select list.
    rowids: source alias -> its row number's column. hidden: fields that * leaves out.
    doubled: an alias that FROM gives twice -> the two that it became. aggregates, windows: calls found
    so far, of which expressions hold place-holders (columns of AGGREGATE and WINDOW, named by position).
    """

    outer: "Scope | None" = None
    fields: tuple[Field, ...] = ()
    merged: dict[str, Expression] = field(default_factory=dict)
    aliases: dict[str, Expression] = field(default_factory=dict)
    rowids: dict[str, Column] = field(default_factory=dict)
    hidden: set[tuple] = field(default_factory=set)
    doubled: dict[str, set[str]] = field(default_factory=dict)
    aggregates: list[Aggregation] = field(default_factory=list)
    windows: list[Over] = field(default_factory=list)
    takes_aggregates: bool = True

    def hold(self, call: Aggregation | Over) -> Column:
        """Keep a call and give the column that will hold its value."""
        calls = self.aggregates if isinstance(call, Aggregation) else self.windows
        if call not in calls:
            calls.append(call)
        alias = AGGREGATE if isinstance(call, Aggregation) else WINDOW
        return Column(alias, str(calls.index(call)), call.type, None)


def resolve(node: exp.Column, scope: Scope, sql: str) -> Expression:
    """The expression that a column's name stands for."""
    name, alias = node.name, node.text("table") or None
    level, current = 0, scope
    while current is not None:
        found = _in_scope(current, alias, name)
        if found is not None:
            return _as_outer(found, alias, name) if level else found
        level, current = level + 1, current.outer
    if alias is None and is_double_quoted(node.this, sql):
        return Literal(name)
    if alias is None and name.lower() in ("true", "false"):
        return Literal(int(name.lower() == "true"))
    text = f"{alias}.{name}" if alias else name
    names = [one.text for one in scope.fields if (*one.key,) not in scope.hidden]
    shown = ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")
    raise PlanError(
        "unknown_column", f"no column {text!r}", where=place(node, sql), hint=f"available: {shown or 'none'}"
    )


def _in_scope(scope: Scope, alias: str | None, name: str) -> Expression | None:
    wanted = name.lower()
    if alias is None and wanted in scope.merged:
        return scope.merged[wanted]
    source = alias.lower() if alias else None
    sources = scope.doubled.get(source, {source}) if source else None
    found = [
        one
        for one in scope.fields
        if one.name.lower() == wanted and (sources is None or (one.alias or "").lower() in sources)
    ]
    visible = [one for one in found if one.key not in scope.hidden]
    if len(visible) > 1:
        listed = ", ".join(one.text for one in visible)
        raise PlanError("unknown_column", f"the column {name!r} is ambiguous", hint=f"available: {listed}")
    if visible:
        return visible[0].column()
    if wanted in ROWID_NAMES and scope.rowids:
        if alias is None and len(scope.rowids) == 1:
            return next(iter(scope.rowids.values()))
        if source in scope.rowids:
            return scope.rowids[source]
    return scope.aliases.get(wanted) if alias is None else None


def _as_outer(found: Expression, alias: str | None, name: str) -> Expression:
    if isinstance(found, Literal):
        return found
    if isinstance(found, Column) and found.alias not in (AGGREGATE, WINDOW):
        return Column(found.alias, found.name, found.type, found.affinity, found.collation, True)
    raise UnsupportedError(f"a subquery that reads {name!r}, which the query around it computes")


def is_double_quoted(node: exp.Expr | None, sql: str) -> bool:
    """Whether an identifier was written "so": SQLite takes it as a text where it names nothing."""
    start = node.meta.get("start") if isinstance(node, exp.Identifier) else None
    return start is not None and sql[start : start + 1] == '"'


def place(node: exp.Expr, sql: str) -> str | None:
    """Line and column of the first thing with a position in a tree, or None."""
    for part in node.walk():
        start = part.meta.get("start")
        if start is not None:
            before = sql[:start]
            return f"line {before.count(chr(10)) + 1}, column {start - (before.rfind(chr(10)) + 1) + 1}"
    return None
