"""Mutations of gold queries: edits that change what a query means, and rewrites that do not.

In: SQLite's SQL, a schema, a seed. Out: `Mutation`s, the same for the same input. They serve two ends: simulated models
draw edits as their errors, and a study of DF-Match asks whether it refuses edits and accepts rewrites. What an edit does
to the answer is not known here; verified_mutations.py runs them and keeps those that are what they say.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from sqlglot import exp
from sqlglot.errors import SqlglotError

from workbench import edit_clauses, edit_conditions, edit_names, rewrite_conditions, rewrite_queries, rewrite_subqueries
from workbench.mutation_names import read_query, text_form
from workbench.results import content_hash
from workbench.schema import Schema

Change = Callable[[exp.Expr, Random, Schema], exp.Expr | None]
DRAWS = 6  # at a kind, of which the distinct ones count


@dataclass(frozen=True)
class Mutation:
    """kind: a name of EDITS or REWRITES. category: one of labels.CATEGORIES, error_type: one of labels.ERROR_TYPES; None for a rewrite."""

    kind: str
    is_edit: bool
    sql: str
    category: str | None = None
    error_type: str | None = None


# kind -> (category, error type, edit)
EDITS: dict[str, tuple[str, str, Change]] = {
    "wrong_column_shown": ("schema_linking", "attribute", edit_names.wrong_column_shown),
    "wrong_column_tested": ("schema_linking", "attribute", edit_names.wrong_column_tested),
    "wrong_column_aggregated": ("schema_linking", "attribute", edit_names.wrong_column_aggregated),
    "wrong_owner": ("schema_linking", "table", edit_names.wrong_owner),
    "wrong_table": ("schema_linking", "table", edit_names.wrong_table),
    "missing_column": ("schema_linking", "attribute", edit_names.missing_column),
    "drop_join": ("filtering_logic", "table", edit_names.drop_join),
    "wrong_join_kind": ("filtering_logic", "clause", edit_names.wrong_join_kind),
    "wrong_join_key": ("filtering_logic", "attribute", edit_names.wrong_join_key),
    "drop_join_condition": ("filtering_logic", "condition", edit_names.drop_join_condition),
    "drop_condition": ("filtering_logic", "condition", edit_conditions.drop_condition),
    "extra_condition": ("filtering_logic", "condition", edit_conditions.extra_condition),
    "negate_condition": ("filtering_logic", "operator", edit_conditions.negate_condition),
    "weaken_comparison": ("filtering_logic", "operator", edit_conditions.weaken_comparison),
    "turn_comparison": ("filtering_logic", "operator", edit_conditions.turn_comparison),
    "swap_and_or": ("filtering_logic", "operator", edit_conditions.swap_and_or),
    "wrong_number": ("filtering_logic", "value", edit_conditions.wrong_number),
    "wrong_text": ("filtering_logic", "value", edit_conditions.wrong_text),
    "wrong_pattern": ("filtering_logic", "value", edit_conditions.wrong_pattern),
    "narrow_range": ("filtering_logic", "condition", edit_conditions.narrow_range),
    "shorten_list": ("filtering_logic", "value", edit_conditions.shorten_list),
    "wrong_null_test": ("filtering_logic", "condition", edit_conditions.wrong_null_test),
    "nulls_as_zero": ("filtering_logic", "function", edit_conditions.nulls_as_zero),
    "swap_case": ("filtering_logic", "condition", edit_conditions.swap_case),
    "wrong_function": ("filtering_logic", "function", edit_conditions.wrong_function),
    "wrong_date_part": ("filtering_logic", "function", edit_conditions.wrong_date_part),
    "lose_cast": ("filtering_logic", "function", edit_conditions.lose_cast),
    "wrong_arithmetic": ("filtering_logic", "operator", edit_conditions.wrong_arithmetic),
    "wrong_set_operation": ("filtering_logic", "clause", edit_clauses.wrong_set_operation),
    "lose_set_side": ("filtering_logic", "subquery", edit_clauses.lose_set_side),
    "swap_set_sides": ("filtering_logic", "subquery", edit_clauses.swap_set_sides),
    "negate_subquery": ("filtering_logic", "subquery", edit_clauses.negate_subquery),
    "unfiltered_subquery": ("filtering_logic", "subquery", edit_clauses.unfiltered_subquery),
    "wrong_subquery_column": ("schema_linking", "subquery", edit_clauses.wrong_subquery_column),
    "aggregate_for_subquery": ("aggregation_grouping", "subquery", edit_clauses.aggregate_for_subquery),
    "wrong_aggregate": ("aggregation_grouping", "function", edit_clauses.wrong_aggregate),
    "wrong_count": ("aggregation_grouping", "function", edit_clauses.wrong_count),
    "drop_group_key": ("aggregation_grouping", "clause", edit_clauses.drop_group_key),
    "add_group_key": ("aggregation_grouping", "clause", edit_clauses.add_group_key),
    "wrong_group_key": ("aggregation_grouping", "attribute", edit_clauses.wrong_group_key),
    "drop_having": ("aggregation_grouping", "clause", edit_clauses.drop_having),
    "drop_distinct": ("aggregation_grouping", "clause", edit_clauses.drop_distinct),
    "add_distinct": ("aggregation_grouping", "clause", edit_clauses.add_distinct),
    "turn_order": ("ordering_ranking", "clause", edit_clauses.turn_order),
    "drop_order_key": ("ordering_ranking", "clause", edit_clauses.drop_order_key),
    "wrong_order_key": ("ordering_ranking", "attribute", edit_clauses.wrong_order_key),
    "shift_limit": ("ordering_ranking", "value", edit_clauses.shift_limit),
    "drop_limit": ("ordering_ranking", "clause", edit_clauses.drop_limit),
    "shift_offset": ("ordering_ranking", "value", edit_clauses.shift_offset),
    "wrong_rank": ("ordering_ranking", "function", edit_clauses.wrong_rank),
}  # fmt: skip

REWRITES: dict[str, Change] = {
    change.__name__: change
    for change in (
        rewrite_conditions.reorder_conditions,
        rewrite_conditions.flip_comparison,
        rewrite_conditions.negate_twice,
        rewrite_conditions.apply_de_morgan,
        rewrite_conditions.split_between,
        rewrite_conditions.join_between,
        rewrite_conditions.list_as_or,
        rewrite_conditions.or_as_list,
        rewrite_conditions.add_tautology,
        rewrite_conditions.coalesce_itself,
        rewrite_conditions.count_rows_by_key,
        rewrite_conditions.count_rows,
        rewrite_conditions.count_values,
        rewrite_queries.rename_aliases,
        rewrite_queries.qualify_columns,
        rewrite_queries.swap_joined,
        rewrite_queries.conditions_to_where,
        rewrite_queries.conditions_to_join,
        rewrite_subqueries.table_as_cte,
        rewrite_subqueries.table_as_subquery,
        rewrite_subqueries.condition_into_subquery,
        rewrite_subqueries.subquery_as_cte,
        rewrite_subqueries.cte_as_subquery,
        rewrite_subqueries.in_as_exists,
        rewrite_subqueries.in_as_join,
        rewrite_queries.order_by_place,
        rewrite_queries.order_by_alias,
        rewrite_queries.order_by_expression,
        rewrite_queries.distinct_by_key,
        rewrite_queries.distinct_as_group,
        rewrite_queries.group_as_distinct,
        rewrite_queries.reorder_columns,
        rewrite_queries.extra_column,
        rewrite_subqueries.wrap_query,
    )
}


def mutations(sql: str, schema: Schema, seed: int = 0, edits: int = 2, rewrites: int = 2) -> Iterator[Mutation]:
    """Edits and rewrites of one query, at most that many of each kind.

    No text comes twice among edits or among rewrites, none is the query itself.

    Each kind has a draw of its own, so that a new kind changes nothing of the others. Raises ParseError for what is no
    query of SQLite.
    """
    tree = read_query(sql, schema)
    whole = text_form(tree.copy())
    for is_edit, kinds, most in ((True, EDITS, edits), (False, REWRITES, rewrites)):
        seen = {whole}
        for kind in kinds:
            found = 0
            for changed in changes(tree, kind, schema, content_hash(seed, whole)) if most else ():
                if changed in seen:
                    continue
                seen.add(changed)
                found += 1
                category, error_type = EDITS[kind][:2] if is_edit else (None, None)
                yield Mutation(kind, is_edit, changed, category, error_type)
                if found == most:
                    break


def changes(tree: exp.Query, kind: str, schema: Schema, seed: int | str = 0) -> Iterator[str]:
    """What draws of one kind make of a query, as SQLite's SQL; a text may come twice.

    The draws depend on kind and seed alone: a caller mixes in what else they are to depend on.
    """
    change = EDITS[kind][2] if kind in EDITS else REWRITES[kind]
    for number in range(DRAWS):
        changed = change(tree.copy(), Random(content_hash("mutation", seed, kind, number)), schema)
        if changed is None and number >= 1:  # two draws found nothing to change
            return
        if changed is not None:
            try:
                yield text_form(changed)
            except (SqlglotError, RecursionError):  # an edit left what cannot be written
                continue
