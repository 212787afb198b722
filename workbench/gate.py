"""The first wall before hostile SQL: one statement that reads, and no function that reaches beyond the database.

In: SQL and an engine's dialect. Out: None, or why it is not run. The second wall is the engine's own (read-only file
or role); the gate keeps out what an engine would let pass, and says why in one line.

Where sqlglot cannot parse a statement, its tokens are looked at instead and the engine decides: real predictions hold
SQL that an engine runs and sqlglot does not know, and an engine's own words are the better syntax error.
"""

import re
from collections.abc import Iterator
from fnmatch import translate
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.tokens import Token, TokenType

LONGEST = 100_000  # characters of SQL worth parsing; beyond, tokens decide

# Functions that touch files, network, settings, locks, other sessions, sleep, or run SQL out of a string, by dialect.
# The one list: a name with `*` stands for all that match; names are compared without case and quotes.
DENIED_FUNCTIONS = {
    "sqlite": "load_extension fts3_tokenizer readfile writefile edit",
    "postgres": (
        "pg_sleep* pg_read_* pg_ls_* pg_stat_file pg_file_* pg_current_logfile pg_*logdir* lo_* loread lowrite dblink*"
        " pg_advisory* pg_try_advisory* set_config current_setting setval nextval setseed pg_terminate_backend"
        " pg_cancel_backend pg_reload_conf pg_rotate_logfile pg_notify pg_logical_* pg_create_* pg_drop_* pg_copy_*"
        " pg_replication_* pg_export_snapshot pg_log_* pg_switch_wal pg_wal_* pg_promote pg_backup_* pg_stat_reset*"
        " query_to_xml* cursor_to_xml* table_to_xml* schema_to_xml* database_to_xml* ts_stat ts_rewrite crosstab*"
        " pg_show_all_settings pg_show_all_file_settings pg_hba_file_rules pg_config pg_import_system_collations"
    ),
    "mysql": (
        "load_file sleep benchmark get_lock release_lock release_all_locks is_free_lock is_used_lock *_pos_wait"
        " wait_for_executed_gtid_set wait_until_sql_thread_after_gtids sys_exec sys_eval sys_get sys_set"
    ),
    "clickhouse": (
        "file* url* s3* gcs* hdfs* azureblobstorage* remote* cluster* mysql postgresql sqlite mongodb redis jdbc odbc"
        " executable input* python* iceberg* deltalake* hudi* paimon* ytsaurus* arrowflight* sleep* getsetting"
        " getserversetting getmacro dict* catboostevaluate filesystem* merge loop dictionary fuzz* generaterandom"
        " addresstoline* addresstosymbol demangle hostname fqdn currentschemas showcertificate displayname"
    ),
    "duckdb": (
        "read_* parquet_* sniff_csv glob getenv getvariable query query_table *_scan *_scan_pushdown *_query *_attach"
        " iceberg_* delta_* duckdb_settings duckdb_secrets current_setting force_checkpoint checkpoint pragma_* which_secret"
        " load_aws_credentials write_log add_parquet_key"
    ),
}
# Engines whose second wall alone would hold: what sqlglot cannot read is left to them.
WALLED = ("sqlite", "postgres")
READS = (exp.Select, exp.SetOperation, exp.Values, exp.Subquery)
# Parts of a tree that write, lock, set or export.
DENIED_NODES = {
    exp.DDL: "it defines or changes data",
    exp.DML: "it changes data",
    exp.Command: "it is a command",
    exp.Into: "INTO writes its result",
    exp.Lock: "it locks rows",
    exp.Set: "it changes settings",
    exp.Pragma: "it is a PRAGMA",
    exp.Hint: "it has an optimizer hint",
    exp.SessionParameter: "it reads settings",
}
DENIED_ARGUMENTS = {"settings": "SETTINGS", "format": "FORMAT"}
FIRST_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
# First words of statements that are no query: refused. Any other first word is no SQL at all: a syntax error.
COMMANDS = """
    ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT CLOSE CLUSTER COMMENT COMMIT COPY CREATE DEALLOCATE DECLARE DELETE DESC
    DESCRIBE DETACH DISCARD DO DROP END EXECUTE EXPLAIN EXPORT FETCH FLUSH GRANT HANDLER IMPORT INSERT INSTALL KILL
    LISTEN LOAD LOCK MERGE MOVE NOTIFY OPTIMIZE PRAGMA PREPARE REASSIGN REFRESH REINDEX RELEASE RENAME REPLACE RESET
    REVOKE ROLLBACK SAVEPOINT SET SHOW START SUMMARIZE SYSTEM TRUNCATE UNLISTEN UNLOCK UPDATE USE VACUUM
"""
# Words that make a statement more than a query; looked for where the statement could not be parsed.
DENIED_WORDS = "INSERT UPDATE DELETE MERGE CREATE DROP ALTER TRUNCATE PRAGMA ATTACH DETACH INTO COPY"
QUOTED = (TokenType.IDENTIFIER, TokenType.STRING)

_commands, _denied_words = frozenset(COMMANDS.split()), frozenset(DENIED_WORDS.split())
_patterns = {
    dialect: re.compile("|".join(translate(name) for name in names.split()), re.IGNORECASE)
    for dialect, names in DENIED_FUNCTIONS.items()
}


def check_select(sql: str, dialect: str) -> str | None:
    """Why a statement is not run on an engine, None if it may be: it is then one query, as far as can be told."""
    verdict = examine(sql, dialect)
    return verdict and verdict[1]


def examine(sql: str, dialect: str) -> tuple[str, str] | None:
    """The outcome and reason of a statement that is not run: "refused", or "syntax_error" where it is no SQL."""
    try:
        tokens = sqlglot.tokenize(sql, read=dialect)
    except sqlglot.TokenError as error:
        return None if dialect == "sqlite" else ("syntax_error", f"not SQL: {error}")
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    words = [token.text.upper() for token in tokens if token.token_type not in QUOTED]
    first = next((word for word in words if word != "("), "")
    if first not in FIRST_WORDS:
        if first in _commands:
            return "refused", f"it is no query but {first}"
        return "syntax_error", f"it begins with {first[:40]!r}" if first else "it is empty"
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        return "refused", "it is more than one statement"
    for name in called(tokens):
        if _patterns[dialect].match(name):
            return "refused", f"function {name.lower()} is not allowed"
    try:
        statements = sqlglot.parse(sql, read=dialect) if len(sql) <= LONGEST else None
    except (sqlglot.ParseError, RecursionError) as error:
        if dialect not in WALLED:
            return "syntax_error", f"not readable as {dialect}: {_said(error)}"
        statements = None
    if statements is None:
        reason = next((f"it holds the word {word}" for word in words if word in _denied_words), None)
    else:
        reason = _check_tree([tree for tree in statements if tree and not isinstance(tree, exp.Semicolon)])
    return reason and ("refused", reason)


def _said(error: Exception) -> str:
    if isinstance(error, sqlglot.ParseError) and error.errors:
        first = error.errors[0]
        return f"{first['description']}, line {first['line']}, column {first['col']}"
    return "too deeply nested"


def called(tokens: list[Token]) -> Iterator[str]:
    """The names of all functions called: any word or quoted name before an opening bracket, keywords included."""
    for token, following in pairwise(tokens):
        if following.token_type == TokenType.L_PAREN and re.match(r"\w", token.text):
            yield token.text


def _check_tree(statements: list[exp.Expr]) -> str | None:
    if len(statements) != 1:
        return "it is not one statement"
    (root,) = statements
    for node in root.walk():
        for kind, reason in DENIED_NODES.items():
            if isinstance(node, kind):
                return reason
        for argument, word in DENIED_ARGUMENTS.items():
            if isinstance(node, exp.Query) and node.args.get(argument):
                return f"it has {word}"
    return None if isinstance(root, READS) else "it is not a query"
