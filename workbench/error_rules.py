"""Which fault makes one query differ from another: the rules in the order in which they count.

In: gold, a prediction and the schema. Out: the findings, the one that matters most first, each with a category (plans
paper, appendix D), a type (HES-SQL, table 5) and a sentence of evidence. What two queries may write differently and still
mean is ignored: aliases, the order of joins and columns, more columns than gold's, COUNT(*) for COUNT of a key, IN or =
over a lookup for its join, UNION of filters for OR, DISTINCT of the rows shown, LIKE or LOWER for = where they find the same
text, columns beside their row's key in GROUP BY. Evidence calls columns that a join or a
foreign key makes equal by one name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.faults_in_conditions import (
    conditions,
    connectives,
    first_of_several,
    having_as_where,
    letter_case,
    missing_subquery,
    moved_condition,
    null_tests,
)
from workbench.faults_in_order import (
    extreme_form,
    extreme_value_for_row,
    extremes_by_group,
    grouping,
    inner_extreme,
    level_of_groups,
    needless_limit,
    ordering,
    ties,
    ungrouped,
)
from workbench.faults_in_outputs import (
    computed_output,
    counted_columns,
    counted_table,
    fewer_columns,
    shown_columns,
    stored_otherwise,
    whole_number_division,
)
from workbench.faults_in_tables import (
    base_table,
    bridge_table,
    foreign_join,
    joined_columns,
    level_of_sets,
    missing_table,
    needless_table,
    outer_joins,
    repeated_table,
    set_operations,
    shape_of_subqueries,
)
from workbench.query_pair import Finding, Pair
from workbench.query_parts import Query, same_columns
from workbench.read_query_parts import read_query, read_tree
from workbench.schema import Schema

RULES = (
    letter_case,
    having_as_where,
    extremes_by_group,
    ungrouped,
    extreme_value_for_row,
    moved_condition,
    counted_table,
    computed_output,
    inner_extreme,
    level_of_groups,
    level_of_sets,
    base_table,
    missing_subquery,
    conditions,
    whole_number_division,
    bridge_table,
    set_operations,
    connectives,
    joined_columns,
    missing_table,
    needless_limit,
    shown_columns,
    extreme_form,
    fewer_columns,
    grouping,
    ordering,
    foreign_join,
    needless_table,
    repeated_table,
    first_of_several,
    outer_joins,
    null_tests,
    counted_columns,
    shape_of_subqueries,
)


@dataclass(frozen=True)
class Gold:
    """A gold query as it is compared: under its columns' own names, and with equal columns called alike (`same`)."""

    as_written: Query
    query: Query
    same: Mapping[str, str]


def read_gold(sql: str, schema: Schema) -> Gold:
    """Raises as `compare` does."""
    tree = read_tree(sql)
    as_written = read_query(sql, schema, tree=tree)
    same = same_columns(as_written, schema)
    return Gold(as_written, read_query(sql, schema, same, tree), same)


def compare(gold: str | Gold, predicted_sql: str, schema: Schema) -> list[Finding]:
    """The faults of a prediction, the first one first; none where nothing differs but what may.

    gold: as SQL, or as `read_gold` gives it. Raises ParseError and UnsupportedError (sqlite_parser) where either is no SELECT.
    """
    gold = read_gold(gold, schema) if isinstance(gold, str) else gold
    tree = read_tree(predicted_sql)
    pair = Pair(gold.query, read_query(predicted_sql, schema, gold.same, tree), schema, gold.as_written, gold.same)
    found = [found for rule in RULES for found in rule(pair)]
    if not found:
        found = list(stored_otherwise(gold.as_written, read_query(predicted_sql, schema, tree=tree), schema))
    return found or list(ties(pair))
