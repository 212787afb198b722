"""The stated rule by which a bundled question is simple, moderate or challenging, computed from its gold query.

One point for each: table read after the first; GROUP BY; HAVING; ORDER BY; CASE; CAST or date function.
Two points for each: SELECT after the first (subquery, CTE, arm of a set operation); window function.
simple: 0 to 2 points, moderate: 3 or 4, challenging: 5 and more. A kind of clause counts as often as it occurs.
"""

import sqlglot
from sqlglot import exp

ONE_POINT = (exp.Group, exp.Having, exp.Case, exp.Cast, exp.TimeToStr, exp.Date)  # strftime() is a TimeToStr
DATE_FUNCTIONS = {"date", "time", "datetime", "julianday"}  # with a modifier sqlglot leaves them without a type
SIMPLE_AT_MOST, MODERATE_AT_MOST = 2, 4


def points(sql: str) -> int:
    """Points of a query in SQLite's dialect; a CTE's name is not a table, and ORDER BY in a window is not an order."""
    tree = sqlglot.parse_one(sql, read="sqlite")
    ctes = {cte.alias for cte in tree.find_all(exp.CTE)}
    tables = sum(1 for table in tree.find_all(exp.Table) if table.name not in ctes)
    clauses = sum(1 for _ in tree.find_all(*ONE_POINT))
    clauses += sum(1 for call in tree.find_all(exp.Anonymous) if call.name.lower() in DATE_FUNCTIONS)
    orders = sum(1 for order in tree.find_all(exp.Order) if not isinstance(order.parent, exp.Window))
    selects = sum(1 for _ in tree.find_all(exp.Select))
    windows = sum(1 for _ in tree.find_all(exp.Window))
    return max(tables - 1, 0) + clauses + orders + 2 * (selects - 1) + 2 * windows


def difficulty(sql: str) -> str:
    score = points(sql)
    return "simple" if score <= SIMPLE_AT_MOST else "moderate" if score <= MODERATE_AT_MOST else "challenging"
