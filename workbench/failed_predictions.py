"""Why a prediction has no result: no SQL, SQL that does not parse, names or functions that are not there.

In: the prediction, the schema, and the outcome of its run (status and message as in `executions`, of what has no SQL as in
`generations`; or none, where nobody ran it). Out: the finding that says so, or None where it ran. The status decides, as it means the same on every engine;
messages are read only for what the text itself does not show.
"""

import re

from workbench.errors import ParseError, UnsupportedError
from workbench.query_pair import AGGREGATION, FILTERING, LINKING, ORDERING, SYNTAX, Finding
from workbench.query_parts import Query
from workbench.read_query_parts import read_query
from workbench.schema import Schema

RAN = ("ok", "timeout", "too_large", "crashed")  # what these say of a query is in its parts, if anywhere
# What a text that does not parse stumbles over, the first that is found: type, pattern
_FOREIGN = (
    ("clause", r"```|^\s*select\s+select\b|^\s*(?!select\b|with\b|values\b|\()\w"),
    ("operator", r"[<>=]\s*(any|all|some)\s*\(|\bilike\b|\bsimilar\s+to\b|\bdiv\b|<=>|\s~\*?\s|\brlike\b"),
    (
        "function",
        r"::|\bextract\s*\(|\binterval\b|\bsubstring\s*\([^()]*\bfrom\b|\bconvert\s*\(|\bdate\s+'|\btrim\s*\(\s*(both|leading|trailing)\b|\bwithin\s+group\b|\bseparator\b|\bdate_(add|sub)\s*\(",
    ),
)
_NO_FUNCTION = r"no (such )?function|unknown function|function \S+ (does not exist|is not allowed|is unknown)|FUNCTION \S+ does not exist|wrong number of arguments|no function matches|not unique"  # fmt: skip
_TAKES_A_WORD = r"\b(convert|datediff|timestampdiff)\s*\("  # a type or a unit, which SQLite takes for a column
_NO_TABLE = r"no such table|unknown table|(table|relation) \S+ (does not|doesn't) exist"
_REFUSED_PLANS = {
    "unknown_table": (LINKING, "table"),
    "unknown_column": (LINKING, "attribute"),
}  # statuses of artefacts
_MESSAGES = (  # of queries that parse and name only what is there
    (
        AGGREGATION,
        "clause",
        r"misuse of (aliased )?aggregate|HAVING clause|GROUP BY clause is required|must appear in the GROUP BY",
    ),
    (AGGREGATION, "function", r"misuse of (aliased )?window|nested aggregate"),
    (LINKING, "attribute", r"ambiguous"),
    (ORDERING, "clause", r"ORDER BY (term|clause)|LIMIT"),
    (FILTERING, "subquery", r"sub-select returns|more than one row|only one column|row value misused"),
    (FILTERING, "operator", r"UNION|EXCEPT|INTERSECT"),
)


def fault(predicted_sql: str | None, schema: Schema, status: str | None, message: str | None) -> Finding | None:
    """The finding of a prediction that failed; None where it ran or, with no status, where nothing speaks against it."""
    if not (predicted_sql or "").strip():
        category, error_type = _REFUSED_PLANS.get(status, (SYNTAX, "clause"))
        return Finding(category, error_type, f"there is no SQL{f': {message}' if message else ''}")
    said = f": {message}" if message else ""
    if status in RAN:
        return None
    try:
        query, why = read_query(predicted_sql, schema), None
    except (ParseError, UnsupportedError) as error:
        query, why = None, error.what
    for category, error_type, pattern in _MESSAGES:
        if message and query is not None and re.search(pattern, message):
            return Finding(category, error_type, f"the prediction fails{said}")
    if status == "syntax_error" or (query is None and status in (None, "refused")):
        return Finding(SYNTAX, _stumbles(predicted_sql), f"the prediction does not parse{said or f': {why}'}")
    is_word = "no such column" in (message or "") and re.search(_TAKES_A_WORD, predicted_sql, re.IGNORECASE)
    if is_word or re.search(_NO_FUNCTION, message or "", re.IGNORECASE):
        return Finding(SYNTAX, "function", f"the prediction calls what the engine lacks{said}")
    if query is not None and (status is None or status == "name_error"):
        found = unknown_name(query, schema)
        if found is not None or status is None:
            return found
    if status == "name_error":
        kind = "table" if re.search(_NO_TABLE, message or "", re.IGNORECASE) else "attribute"
        return Finding(LINKING, kind, f"the prediction names what is not there{said}")
    return Finding(
        SYNTAX,
        "function" if status in ("type_error", "runtime_error") else "clause",
        f"the prediction fails, {status}{said}",
    )


def unknown_name(query: Query, schema: Schema) -> Finding | None:
    """The first name in a query that the schema lacks: a table; a column of a table that is not read; else a column."""
    tables = {table.name.lower(): table for table in schema.tables}
    names = [name for part in query.walk() for name in part.unknown]
    if "dual" in names:
        return Finding(
            SYNTAX, "table", "the prediction reads dual, a table that other engines have where none is needed"
        )
    read = {name for part in query.walk() for name in part.tables}
    for name in names:
        if name in read:
            return Finding(LINKING, "table", f"the prediction reads {name}, there is no such table")
    for name in names:
        alias, _, column = name.rpartition(".")
        owners = sorted(key for key, table in tables.items() if table.column(column) is not None)
        if alias in tables and alias not in read:
            return Finding(LINKING, "table", f"the prediction names {name}, but does not read {alias}")
        if owners and not set(owners) & read:
            return Finding(
                LINKING, "table", f"the prediction names {name}, which is in {', '.join(owners)}, not in what it reads"
            )
        return Finding(LINKING, "attribute", f"the prediction names {name}, there is no such column in what it reads")
    return None


def _stumbles(sql: str) -> str:
    return next((kind for kind, pattern in _FOREIGN if re.search(pattern, sql, re.IGNORECASE)), "clause")
