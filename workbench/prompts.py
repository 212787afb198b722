"""What a model is shown: the database as CREATE TABLE text, the question, its evidence, and the target.

Pure functions of question, schema and sample values; `prompt_hash` names a prompt in every stored row. SQL is asked for
once per dialect, with one example, and the prompts differ only in the dialect's name; a plan is asked for once for all
engines, with the same example and a brief specification of the plan language (plans paper, section 5.3).
Thinking modes are those of HES-SQL, "Format validation": suppressed, fast (/no_think), slow (/think).
"""

from functools import lru_cache

from workbench.errors import GenerationError
from workbench.plan_brief import plan_brief
from workbench.results import content_hash
from workbench.schema import Column, Schema, Table

DIALECT_NAMES = {
    "sqlite": "SQLite",
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "clickhouse": "ClickHouse",
    "duckdb": "DuckDB",
}
THINKING_SUFFIXES = {"suppressed": "", "fast": "/no_think", "slow": "/think"}
CHARACTERS_PER_TOKEN = 3  # fewer than any tokenizer in use has on SQL and English, so that a prompt that fits, fits
ANSWER_TOKENS = 1024  # kept free in the context where the sampling sets no max_tokens

# What is left out of the schema, one after the other, until the prompt fits: each level also lacks what those before do
DETAILS = ("all", "no value descriptions", "no sample values", "no descriptions", "no keys, no types")

_SQL_TASK = (
    "You answer questions about databases with SQL. Answer with one query alone, in a code block: ```sql ... ```"
)
_PLAN_TASK = (
    "You answer questions about databases with query plans. Answer with one plan alone, in a code block: ```json ... ```"
    "\n\n{brief}"
)
_QUESTION = "Database:\n\n{schema}\n\nQuestion: {question}{hint}"
# Stands last, so that prompts of all dialects, and of all questions on a database, begin alike: endpoints cache beginnings
_ORDER = {"sql": "\n\nWrite one {dialect} query.", "plan": "\n\nWrite one query plan."}

Samples = dict[tuple[str, str], list[str]]  # (table, column) -> a few of its values, as SQL constants

EXAMPLE = Schema(
    (
        Table(
            "shop",
            (Column("id", "INTEGER"), Column("name", "TEXT"), Column("city", "TEXT"), Column("size", "REAL")),
            ("id",),
        ),
        Table("sale", (Column("shop_id", "INTEGER"), Column("price", "REAL"), Column("day", "TEXT"))),
    )
)
EXAMPLE_QUESTION = "In which three cities were the most sales above 10 made, and how many in each?"
EXAMPLE_SQL = (
    "SELECT T1.city, COUNT(*) AS n FROM shop AS T1 JOIN sale AS T2 ON T1.id = T2.shop_id"
    " WHERE T2.price > 10 GROUP BY T1.city ORDER BY n DESC LIMIT 3"
)
EXAMPLE_PLAN = (
    '[{"scan":"shop","as":"T1"},{"join":"sale","as":"T2","on":["=","T1.id","T2.shop_id"]},'
    '{"filter":[">","T2.price",10]},{"aggregate":{"n":["count"]},"by":["T1.city"]},{"sort":["n desc"],"limit":3}]'
)
_THOUGHT = {
    "fast": "<think>\n\n</think>\n\n",
    "slow": "<think>\nSales above 10, counted by the city of their shop; the three largest counts.\n</think>\n\n",
}


def messages_for(
    target: str,
    dialect: str | None,
    question: str,
    evidence: str | None,
    schema: Schema,
    samples: Samples | None = None,
    *,
    context_tokens: int | None = None,
    answer_tokens: int = ANSWER_TOKENS,
    thinking: str | None = None,
) -> list[dict[str, str]]:
    """Chat messages that ask for one SQL query of a dialect, or for one plan.

    context_tokens: what the model can hold, answer_tokens of it kept for the answer. Where the prompt is larger, the
    schema loses details in the order of DETAILS until it fits, tables and columns never. GenerationError where it still
    does not. thinking: a key of THINKING_SUFFIXES.
    """
    room = None if context_tokens is None else (context_tokens - answer_tokens) * CHARACTERS_PER_TOKEN
    for detail in range(len(DETAILS)):
        messages = _messages(target, dialect, question, evidence, schema_text(schema, samples, detail), thinking)
        size = sum(len(message["content"]) for message in messages)
        if room is None or size <= room:
            return messages
    raise GenerationError(
        f"the prompt needs about {-(-size // CHARACTERS_PER_TOKEN)} tokens beside {answer_tokens} for the answer",
        hint=f"the context holds {context_tokens}",
    )


def _messages(
    target: str, dialect: str | None, question: str, evidence: str | None, schema: str, thinking: str | None
) -> list[dict[str, str]]:
    suffix = THINKING_SUFFIXES[thinking] if thinking else ""
    hint = f"\nHint: {evidence}" if evidence else ""
    is_plan = target == "plan"
    order = _ORDER[target].format(dialect=DIALECT_NAMES.get(dialect))
    answer = f"```json\n{EXAMPLE_PLAN}\n```" if is_plan else f"```sql\n{EXAMPLE_SQL}\n```"
    example = _QUESTION.format(schema=_EXAMPLE_TEXT, question=EXAMPLE_QUESTION, hint="")
    asked = _QUESTION.format(schema=schema, question=question, hint=hint)
    return [
        {"role": "system", "content": _PLAN_TASK.format(brief=plan_brief()) if is_plan else _SQL_TASK},
        {"role": "user", "content": example + suffix},
        {"role": "assistant", "content": _THOUGHT.get(thinking, "") + answer},
        {"role": "user", "content": asked + order + suffix},
    ]


def schema_text(schema: Schema, samples: Samples | None = None, detail: int = 0) -> str:
    """The schema as CREATE TABLE statements with double-quoted names. detail: what is left out, an index of DETAILS."""
    return "\n\n".join(_create_table(table, samples or {}, detail) for table in schema.tables)


def prompt_hash(messages: list[dict[str, str]]) -> str:
    """SHA-256 of the messages."""
    return content_hash(messages)


@lru_cache(maxsize=4)
def template_hash(target: str, thinking: str | None = None) -> str:
    """SHA-256 of all that prompts of a target share; stands in run.json."""
    dialect = "sqlite" if target == "sql" else None
    return content_hash(_messages(target, dialect, "", "-", "", thinking), CHARACTERS_PER_TOKEN, DETAILS)


def _create_table(table: Table, samples: Samples, detail: int) -> str:
    is_bare = detail >= 4
    lines = [
        (
            f"{_quoted(column.name)} {'' if is_bare else column.type}".rstrip(),
            _comment(column, samples.get((table.name, column.name), []), detail),
        )
        for column in table.columns
    ]
    if table.primary_key and not is_bare:
        lines.append((f"PRIMARY KEY ({', '.join(map(_quoted, table.primary_key))})", ""))
    for key in () if is_bare else table.foreign_keys:
        here, there = (", ".join(map(_quoted, names)) for names in (key.columns, key.target_columns))
        lines.append((f"FOREIGN KEY ({here}) REFERENCES {_quoted(key.target_table)} ({there})", ""))
    body = [f"  {text}{',' if number < len(lines) else ''}{comment}" for number, (text, comment) in enumerate(lines, 1)]
    return f"CREATE TABLE {_quoted(table.name)} (\n" + "\n".join(body) + "\n);"


def _comment(column: Column, values: list[str], detail: int) -> str:
    parts = []
    if detail < 3:
        named = column.natural_name if _loose(column.natural_name) != _loose(column.name) else None
        parts += [_line(text) for text in dict.fromkeys((named, column.description)) if text]
    if detail < 1 and column.value_description:
        parts.append(_line(column.value_description))
    if detail < 2 and values:
        parts.append("e.g. " + ", ".join(values))
    return f" -- {'; '.join(parts)}" if parts else ""


def _loose(name: str | None) -> str:
    return "".join(letter for letter in (name or "").lower() if letter.isalnum())


def _line(text: str) -> str:
    return " ".join(text.split())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_EXAMPLE_TEXT = schema_text(EXAMPLE)
