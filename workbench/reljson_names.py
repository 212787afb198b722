"""What Apache Calcite calls the operators and functions of a plan: the one table that both ways of RelJson read.

`OPERATORS[name]` is (Calcite's name, kind, syntax) of a scalar or aggregate function. What is not here goes under its own
name in capitals, as an OTHER_FUNCTION. Types are Calcite's SqlTypeName.
"""

from workbench.errors import PlanError
from workbench.plan_expressions import Expression, SortKey

_BINARY = {
    "and": ("AND", "AND"), "or": ("OR", "OR"), "=": ("=", "EQUALS"), "<>": ("<>", "NOT_EQUALS"), "<": ("<", "LESS_THAN"),
    "<=": ("<=", "LESS_THAN_OR_EQUAL"), ">": (">", "GREATER_THAN"), ">=": (">=", "GREATER_THAN_OR_EQUAL"),
    "is": ("IS NOT DISTINCT FROM", "IS_NOT_DISTINCT_FROM"), "is not": ("IS DISTINCT FROM", "IS_DISTINCT_FROM"),
    "+": ("+", "PLUS"), "-": ("-", "MINUS"), "*": ("*", "TIMES"), "/": ("/", "DIVIDE"), "||": ("||", "OTHER"),
}  # fmt: skip
_FUNCTIONS = {"%": ("MOD", "MOD"), "char_length": ("CHAR_LENGTH", "CHAR_LENGTH"), "position": ("POSITION", "POSITION"),
    "coalesce": ("COALESCE", "COALESCE"), "nullif": ("NULLIF", "NULLIF"), "floor": ("FLOOR", "FLOOR"),
    "ceil": ("CEIL", "CEIL"),}  # fmt: skip
OPERATORS: dict[str, tuple[str, str, str]] = {
    **{name: (*words, "BINARY") for name, words in _BINARY.items()},
    **{name: (*words, "FUNCTION") for name, words in _FUNCTIONS.items()},
    "not": ("NOT", "NOT", "PREFIX"),
    "is null": ("IS NULL", "IS_NULL", "POSTFIX"),
    "is not null": ("IS NOT NULL", "IS_NOT_NULL", "POSTFIX"),
    "like": ("LIKE", "LIKE", "SPECIAL"),
}
SIGNS = {"-": ("-", "MINUS_PREFIX", "PREFIX"), "+": ("+", "PLUS_PREFIX", "PREFIX")}  # of one argument
AGGREGATE_NAMES = {"string_agg": "LISTAGG"}  # others: the plan's name in capitals
TRIMS = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}
CASE, CAST = ("CASE", "CASE", "SPECIAL"), ("CAST", "CAST", "SPECIAL")

TYPES = {  # of a plan's value -> Calcite's
    "integer": "BIGINT", "boolean": "BOOLEAN", "real": "DOUBLE", "number": "DOUBLE", "text": "VARCHAR",
    "blob": "VARBINARY", "null": "NULL", "any": "ANY",
}  # fmt: skip
CAST_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "numeric": "DECIMAL", "text": "VARCHAR", "blob": "VARBINARY"}
READ_TYPES = {  # Calcite's type of a cast -> the plan's; BOOLEAN and what is not here has no cast in a plan
    "TINYINT": "integer", "SMALLINT": "integer", "INTEGER": "integer", "BIGINT": "integer", "FLOAT": "real",
    "REAL": "real", "DOUBLE": "real", "DECIMAL": "numeric", "CHAR": "text", "VARCHAR": "text", "BINARY": "blob",
    "VARBINARY": "blob",
}  # fmt: skip
DIRECTIONS = {"ASCENDING": False, "STRICTLY_ASCENDING": False, "DESCENDING": True, "STRICTLY_DESCENDING": True}
EXCLUSIONS = {"current row": "CURRENT_ROW", "group": "GROUP", "ties": "TIES"}
JOINS = {"inner": "inner", "left": "left", "right": "right", "full": "full", "semi": "semi", "anti": "anti"}
SET_OPERATIONS = {"LogicalUnion": "union", "LogicalIntersect": "intersect", "LogicalMinus": "except"}
FRAMELESS = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead")  # see no frame


def operator(name: str, arguments: int) -> dict[str, str]:
    """The `op` object of a scalar function with so many arguments."""
    found = SIGNS.get(name) if arguments == 1 else None
    found = found or OPERATORS.get(name) or (name.upper(), "OTHER_FUNCTION", "FUNCTION")
    return dict(zip(("name", "kind", "syntax"), found, strict=True))


def aggregate(name: str) -> dict[str, str]:
    """The `agg` object of an aggregate or window function; Calcite writes FUNCTION_STAR for every COUNT."""
    word = AGGREGATE_NAMES.get(name, name.upper())
    kind = "OTHER_FUNCTION" if name == "total" else word
    return {"name": word, "kind": kind, "syntax": "FUNCTION_STAR" if name == "count" else "FUNCTION"}


def read_aggregate(word: str) -> str:
    """The plan's name of an aggregate or window function."""
    return next((name for name, given in AGGREGATE_NAMES.items() if given == word), word.lower())


def sort_key(value: Expression, direction: str, nulls: str) -> SortKey:
    """A sort key; where the place of NULLs is left open, Calcite means last ascending and first descending."""
    if direction not in DIRECTIONS or nulls not in ("FIRST", "LAST", "UNSPECIFIED"):
        raise PlanError("schema_violation", f"the order {direction} nulls {nulls}")
    is_descending = DIRECTIONS[direction]
    return SortKey(value, is_descending, nulls == "FIRST" if nulls != "UNSPECIFIED" else is_descending)


SCALAR_NAMES = {(word, kind): name for name, (word, kind, _) in (OPERATORS | SIGNS).items()}
SCALAR_NAMES |= {("-", "MINUS"): "-", ("+", "PLUS"): "+", ("%", "MOD"): "%"}
