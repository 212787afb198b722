"""What functions each engine says it has, beside the gate's lists.

    python tests/catalogues.py ENGINE     prints the names that stand in neither list, after an engine's upgrade

MySQL has no list of its functions, but says of a name whether it knows it.
"""

import re
import sqlite3
import sys

from workbench.backends import BACKENDS, Limits, Session, get_backend
from workbench.gate import Names, functions

QUESTIONS = {
    "postgres": ["SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace"],
    "clickhouse": ["SELECT name FROM system.functions", "SELECT name FROM system.table_functions"],
}
UNKNOWN = "does not exist|execute command denied|no such function|unknown function"


def catalogue(engine: str, session: Session | None = None, database: str = "") -> set[str]:
    """Every function of an engine, in small letters, but those whose names are signs."""
    if engine == "sqlite":
        asked = sqlite3.connect(":memory:")
        names = [*asked.execute("SELECT name FROM pragma_function_list"), *asked.execute("PRAGMA module_list")]
    elif engine == "duckdb":
        import duckdb

        asked = duckdb.connect()
        names = asked.execute("SELECT function_name FROM duckdb_functions() WHERE function_type <> 'pragma'").fetchall()
    else:
        names = [row for sql in QUESTIONS[engine] for row in answer(session, database, sql).table.rows()]
    return {name.lower() for (name,) in names if re.fullmatch(r"\w+", name)}


def unlisted(engine: str, names: set[str]) -> list[str]:
    """Those of an engine's functions that the gate takes for none."""
    lists = functions(engine)
    return sorted(name for name in names if name not in lists.allowed and name not in lists.refused)


def gone(session: Session, database: str, names: Names) -> list[str]:
    """Those names of a list of which the engine itself says that it has no such function."""
    said = {name: answer(session, database, f"SELECT {name}()").message or "" for name in sorted(names.exact)}
    return [name for name, words in said.items() if re.search(UNKNOWN, words) and re.search(rf"\b{name}\b", words)]


def answer(session: Session, database: str, sql: str):
    return session.run(database, sql, Limits(seconds=10))


if __name__ == "__main__":
    (engine,) = sys.argv[1:]
    if engine in QUESTIONS and engine in BACKENDS:
        backend = get_backend(engine)
        backend.start()
        database = backend.create("catalogue")
        backend.publish(database, "catalogue")
        print(*unlisted(engine, catalogue(engine, backend.session(), "catalogue")), sep="\n")
        backend.drop("catalogue")
        backend.stop()
    else:
        print(*unlisted(engine, catalogue(engine)), sep="\n")
