"""What kind of failure a ClickHouse error code is; https://github.com/ClickHouse/ClickHouse src/Common/ErrorCodes.cpp."""

STATUSES = {
    "syntax_error": {
        62,  # SYNTAX_ERROR
        20,  # NUMBER_OF_COLUMNS_DOESNT_MATCH
        184,  # ILLEGAL_AGGREGATION: in WHERE, or within another
        215,  # NOT_AN_AGGREGATE: a column that is not grouped by
        258,  # UNION_ALL_RESULT_STRUCTURES_MISMATCH
        440,  # INVALID_LIMIT_EXPRESSION
    },
    "name_error": {
        8,  # THERE_IS_NO_COLUMN
        10,  # NOT_FOUND_COLUMN_IN_BLOCK
        16,  # NO_SUCH_COLUMN_IN_TABLE
        46,  # UNKNOWN_FUNCTION
        47,  # UNKNOWN_IDENTIFIER
        60,  # UNKNOWN_TABLE
        63,  # UNKNOWN_AGGREGATE_FUNCTION
        81,  # UNKNOWN_DATABASE
        179,  # MULTIPLE_EXPRESSIONS_FOR_ALIAS
        207,  # AMBIGUOUS_IDENTIFIER
        352,  # AMBIGUOUS_COLUMN_NAME
        456,  # UNKNOWN_QUERY_PARAMETER
    },
    "type_error": {
        6,  # CANNOT_PARSE_TEXT
        27,  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
        38,  # CANNOT_PARSE_DATE
        41,  # CANNOT_PARSE_DATETIME
        42,  # NUMBER_OF_ARGUMENTS_DOESNT_MATCH
        43,  # ILLEGAL_TYPE_OF_ARGUMENT
        44,  # ILLEGAL_COLUMN
        50,  # UNKNOWN_TYPE
        53,  # TYPE_MISMATCH
        70,  # CANNOT_CONVERT_TYPE
        72,  # CANNOT_PARSE_NUMBER
        349,  # CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN: CAST of NULL to a type without it
        376,  # CANNOT_PARSE_UUID
        386,  # NO_COMMON_TYPE
    },
    "refused": {
        164,  # READONLY
        291,  # DATABASE_ACCESS_DENIED
        392,  # QUERY_IS_PROHIBITED
        452,  # SETTING_CONSTRAINT_VIOLATION
        497,  # ACCESS_DENIED
    },
    "timeout": {
        159,  # TIMEOUT_EXCEEDED
        160,  # TOO_SLOW
        394,  # QUERY_WAS_CANCELLED
    },
    "too_large": {
        128,  # TOO_LARGE_ARRAY_SIZE
        131,  # TOO_LARGE_STRING_SIZE
        158,  # TOO_MANY_ROWS
        173,  # CANNOT_ALLOCATE_MEMORY
        241,  # MEMORY_LIMIT_EXCEEDED: of the query
        307,  # TOO_MANY_BYTES
        396,  # TOO_MANY_ROWS_OR_BYTES
    },
}
BY_CODE = {str(code): status for status, codes in STATUSES.items() for code in codes}


def status_of(code: str, message: str) -> str:
    """The kind of an error by its code, as text; anything unknown is a runtime error."""
    if "Multi-statements" in message or message.startswith("Streaming query is not supported"):  # anything but a query
        return "refused"
    return code if code == "refused" else BY_CODE.get(code, "runtime_error")
