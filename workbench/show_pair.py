"""One pair as an annotator sees it, as text and as HTML: question, hint, both statements, both results.

In: a row of `annotations.disagreements`. Out: what a notebook shows. All of it is text of others: it is escaped, control
characters are spelt out, what is long is cut with a note, and it stands in <pre>, in which notebooks set no formulas. Both
statements are written anew by one printer, so that neither a model's habits nor our own compiler's can be told from them.
"""

from dataclasses import dataclass
from html import escape

import sqlglot
from sqlglot.errors import ErrorLevel, SqlglotError

from workbench.backends import BACKENDS
from workbench.backends.base import Limits
from workbench.errors import BenchmarkError
from workbench.execute import Executor, Statement, load
from workbench.explain import readable, shown
from workbench.portability import HOME
from workbench.result_table import ResultTable
from workbench.results import Run
from workbench.score import benchmark_of

LONGEST = 6000  # characters of a question or statement that are shown


@dataclass(frozen=True)
class Shown:
    text: str
    html: str


def message(text: str) -> Shown:
    return Shown(text, f"<pre>{escape(text)}</pre>")


def shown_pair(run: Run, row: dict, progress: str) -> Shown:
    """A pair under its id. A result that the cache has lost is made again; where that fails, the reason stands there."""
    gold, predicted = _results(run, row)
    head = f"pair {row['pair']}   ({progress})"
    asked = {"Question": row["question"], "Hint": row["evidence"]}
    asked = {name: readable(text, LONGEST) for name, text in asked.items() if text}
    sides = {
        "Gold": (_printed(row["gold_sql"], HOME), gold),
        "Prediction": (_printed(row["sql"], row["written_for"]), predicted),
    }
    text = [head, *(f"{name}: {words}" for name, words in asked.items())]
    text += [f"--- {name} ---\n{sql}\n\n{result}" for name, (sql, result) in sides.items()]
    style = "white-space: pre-wrap; overflow-wrap: anywhere"
    html = [f"<p><b>{escape(head)}</b></p>"]
    html += [f'<pre style="{style}">{escape(f"{name}: {words}")}</pre>' for name, words in asked.items()]
    columns = [
        f'<div style="flex: 1; min-width: 0"><b>{name}</b><pre style="{style}">{escape(sql)}</pre>'
        f'<pre style="overflow: auto">{escape(result)}</pre></div>'
        for name, (sql, result) in sides.items()
    ]
    html += [f'<div style="display: flex; gap: 2em">{"".join(columns)}</div>']
    return Shown("\n\n".join(text), "\n".join(html))


def _printed(sql: str, engine: str) -> str:
    """A statement as one printer writes it for SQLite, without comments; as it is where it cannot be read."""
    try:
        tree = sqlglot.parse_one(sql, read=BACKENDS[engine].dialect)
        sql = tree.sql("sqlite", pretty=True, identify=True, comments=False, unsupported_level=ErrorLevel.IGNORE)
    except (SqlglotError, RecursionError):
        pass  # an annotator can read what a parser cannot
    return readable(sql, LONGEST)


def _results(run: Run, row: dict) -> tuple[str, str]:
    """Both results as text: gold's on SQLite and the prediction's on its engine."""
    wanted = [(HOME, row["gold_sql"], row["gold_key"]), (row["engine"], row["sql"], row["key"])]
    tables = [_table(load(key)) if key else None for _, _, key in wanted]
    lost = [place for place, table in enumerate(tables) if table is None]
    fault = "the result is lost, and running it again gave none"
    if lost:
        again = {(wanted[place][0], wanted[place][1]) for place in lost}
        try:
            path = benchmark_of(run).database_path(row["db_id"])
        except BenchmarkError as error:
            fault = f"the result is lost: {error}"
        else:
            with Executor(dict.fromkeys(engine for engine, _ in again), Limits(**run.header["limits"])) as executor:
                statements = [Statement(engine, row["db_id"], path, sql, tag=(engine, sql)) for engine, sql in again]
                made = {statement.tag: _table(execution) for statement, execution in executor.run_many(statements)}
            tables = [table or made.get(wanted[place][:2]) for place, table in enumerate(tables)]
    gold, predicted = (shown(table) if table is not None else fault for table in tables)
    return gold, predicted


def _table(execution) -> ResultTable | None:
    return execution.table if execution is not None and execution.status == "ok" else None
