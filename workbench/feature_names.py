"""What each query-level feature of the meta-analysis is called, means, and in which range it lies (plans paper, appendix I).

`MEANINGS[name]` is (meaning, range); features.py computes them. The 21 of the regression are all but the sc_* family.
"""

NEAR = 40  # characters between a use and its definition that count as near

MEANINGS: dict[str, tuple[str, str]] = {
    "qc_scope_cross_clause": ("a column's alias is used in ORDER BY, GROUP BY or HAVING, or ORDER BY names a position", "0 or 1"),
    "qc_n_forward_refs": ("uses of a name that stand before its definition in the SQL", "count"),
    "qc_max_alias_distance": ("the largest distance between such a use and its definition", "characters"),
    "qc_type_coercion_level": ("casts and date functions together, 3 and more as 3", "0 to 3"),
    "qc_n_casts": ("CASTs", "count"),
    "qc_has_date_functions": ("a function of dates or times occurs", "0 or 1"),
    "qc_has_implicit_coercion": ("a number is compared with a text", "0 or 1"),
    "qc_dag_max_width": ("most operators of the plan at one depth, subqueries included", "count"),
    "qc_max_join_depth": ("longest chain of joins above joins", "count"),
    "qc_n_reasoning_steps": ("operators of the plan that read others", "count"),
    "qc_literal_diversity_level": ("kinds of constants (integer, real, text, date, pattern): 0 none, 1 one kind, 2 two, 3 three or more, or a date or pattern beside another", "0 to 3"),
    "qc_n_literals": ("constants", "count"),
    "qc_has_pattern_literal": ("a text constant holds % or _", "0 or 1"),
    "qc_category_ordered_fixed": ("the question asks for an order and states the number of rows", "0 or 1"),
    "qc_category_ordered_not_fixed": ("the question asks for an order, and for no number of rows", "0 or 1"),
    "qc_locality_gap": (f"share of uses within {NEAR} characters of their definition, in the plan less in the SQL; no uses count as all", "-1 to 1"),
    "qc_n_ambiguous_refs": ("columns without a table's name where several tables are read", "count"),
    "ps_max_depth": ("operators on the longest way from the plan's end to a table", "count"),
    "ps_has_scalar_subquery": ("a subquery is used as a value", "0 or 1"),
    "ax_length_ratio": ("operators of the plan / tokens of the SQL", "at least 0"),
    "ax_length_diff": ("operators of the plan less tokens of the SQL", "count"),
    "sc_n_tokens": ("tokens of the SQL", "count"),
    "sc_n_characters": ("characters of the SQL", "count"),
    "sc_n_tables": ("tables and named queries read", "count"),
    "sc_n_joins": ("joins, commas included", "count"),
    "sc_n_subqueries": ("SELECTs beside the first", "count"),
    "sc_nesting_depth": ("SELECTs around the innermost one, also of a named query", "count"),
    "sc_n_aggregates": ("aggregate functions", "count"),
    "sc_n_group_keys": ("keys of GROUP BY", "count"),
    "sc_n_order_keys": ("keys of ORDER BY", "count"),
    "sc_n_predicates": ("comparisons, LIKE, GLOB, IN, BETWEEN, IS and EXISTS", "count"),
    "sc_n_set_operations": ("UNION, INTERSECT and EXCEPT", "count"),
    "sc_n_cases": ("CASE and IIF", "count"),
    "sc_n_windows": ("window functions", "count"),
    "sc_has_distinct": ("DISTINCT occurs", "0 or 1"),
    "sc_has_limit": ("LIMIT occurs", "0 or 1"),
}  # fmt: skip
REGRESSION = tuple(name for name in MEANINGS if not name.startswith("sc_"))  # the paper's 21
