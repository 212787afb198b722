"""What a model is shown: the database as CREATE TABLE text, the question, its evidence, and the target.

Pure functions of question and schema; `prompt_hash` names a prompt in every stored row. The SQL prompts differ only in the
dialect's name (plans paper, section 5.3).
"""

from workbench.results import content_hash
from workbench.schema import Schema, Table

DIALECT_NAMES = {
    "sqlite": "SQLite",
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "clickhouse": "ClickHouse",
    "duckdb": "DuckDB",
}

_SQL_TASK = "Write one {dialect} query that answers the question. Answer with the query alone."
_SQL_QUESTION = "{schema}\n\nQuestion: {question}{hint}"
TEMPLATE_HASH = content_hash(_SQL_TASK, _SQL_QUESTION)  # stands in run.json


def sql_messages(question: str, evidence: str | None, schema: Schema, dialect: str) -> list[dict[str, str]]:
    """Chat messages that ask for one SQL query of a dialect."""
    hint = f"\nHint: {evidence}" if evidence else ""
    return [
        {"role": "system", "content": _SQL_TASK.format(dialect=DIALECT_NAMES[dialect])},
        {"role": "user", "content": _SQL_QUESTION.format(schema=schema_text(schema), question=question, hint=hint)},
    ]


def schema_text(schema: Schema) -> str:
    """The schema as CREATE TABLE statements with double-quoted names."""
    return "\n\n".join(_create_table(table) for table in schema.tables)


def prompt_hash(messages: list[dict[str, str]]) -> str:
    """SHA-256 of the messages."""
    return content_hash(messages)


def _create_table(table: Table) -> str:
    lines = [f"  {_quoted(column.name)} {column.type}".rstrip() for column in table.columns]
    if table.primary_key:
        lines.append(f"  PRIMARY KEY ({', '.join(map(_quoted, table.primary_key))})")
    for key in table.foreign_keys:
        here, there = (", ".join(map(_quoted, names)) for names in (key.columns, key.target_columns))
        lines.append(f"  FOREIGN KEY ({here}) REFERENCES {_quoted(key.target_table)} ({there})")
    return f"CREATE TABLE {_quoted(table.name)} (\n" + ",\n".join(lines) + "\n);"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
