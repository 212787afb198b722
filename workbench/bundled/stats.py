"""The figures of the bundled benchmark as the Markdown tables that stand in its README.

In: the built folder. Out: text. A test compares it with the README, so that the README cannot go stale.
"""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from workbench.benchmarks import read_benchmark
from workbench.bundled.plan_words import KINDS, plan_words
from workbench.sql_to_plan import sql_to_plan

LEVELS = ("simple", "moderate", "challenging")
CLASSES = {(False, False): "not ordered", (True, True): "ordered, row count fixed", (True, False): "ordered, not fixed"}


def stats(folder: Path) -> str:
    """Three Markdown tables: rows of every table; questions by difficulty, by the labels' classes and by ties; how many
    golds, dev and train together, use each word of the plan language."""
    questions, train = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("dev.json", "train.json"))
    schemas = json.loads((folder / "dev_tables.json").read_text(encoding="utf-8"))
    databases = [schema["db_id"] for schema in schemas]
    tables = _row_table(folder, schemas), _question_table(questions, train, databases), _word_table(folder)
    return "\n\n".join("\n".join(lines) for lines in tables)


def count_words(folder: Path) -> Counter[tuple[str, str]]:
    """(kind, word) of the plan language -> golds that use it."""
    counts = Counter()
    for split in ("dev", "train"):
        benchmark = read_benchmark(folder, split)
        for db_id, gold in benchmark.questions.select("db_id", "gold_sql").iter_rows():
            counts.update(plan_words(sql_to_plan(gold, benchmark.schema(db_id))))
    return counts


def _word_table(folder: Path) -> list[str]:
    counts = count_words(folder)
    lines = ["| of the plan language | golds that use it |", "| --- | --- |"]
    for kind in KINDS:
        found = sorted((word, count) for (one, word), count in counts.items() if one == kind)
        words = ", ".join(f"{word} {count}".replace("|", "\\|") for word, count in found)
        lines.append(f"| {kind}s | {words} |")
    return lines


def _row_table(folder: Path, schemas: list[dict]) -> list[str]:
    lines = [
        "| database | tables | columns | foreign keys | rows | rows by table |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for schema in schemas:
        db_id, tables = schema["db_id"], schema["table_names_original"]
        with closing(sqlite3.connect(folder / "dev_databases" / db_id / f"{db_id}.sqlite")) as connection:
            rows = {t: connection.execute(f'SELECT COUNT(*) FROM "{t}"').fetchone()[0] for t in tables}
        columns, keys = len(schema["column_names"]) - 1, len(schema["foreign_keys"])
        by_table = ", ".join(f"{table} {count}" for table, count in rows.items())
        lines.append(f"| {db_id} | {len(tables)} | {columns} | {keys} | {sum(rows.values())} | {by_table} |")
    return lines


def _question_table(questions: list[dict], train: list[dict], databases: list[str]) -> list[str]:
    kinds = {
        "questions": lambda q: True,
        **{level: lambda q, level=level: q["difficulty"] == level for level in LEVELS},
        **{
            name: lambda q, pair=pair: (q["is_ordered"], q["is_row_count_fixed"]) == pair
            for pair, name in CLASSES.items()
        },
        "with evidence": lambda q: bool(q["evidence"]),
        "ties at the limit": lambda q: q["ties"] == "limit",
        "ties inside the answer": lambda q: q["ties"] == "inside",
    }
    lines = [f"| | {' | '.join(databases)} | all |", f"| {' | '.join(['---'] * (len(databases) + 2))} |"]
    rows = {name: [q for q in questions if belongs(q)] for name, belongs in kinds.items()}
    for name, found in (rows | {"questions to train on": train}).items():
        counts = Counter(question["db_id"] for question in found)
        lines.append(f"| {name} | {' | '.join(str(counts[db]) for db in databases)} | {counts.total()} |")
    return lines
