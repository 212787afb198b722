"""The gate: what it lets pass, what it refuses, and that it reads each statement as the engine does."""

import json
import random
import re
import sqlite3
import time
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from catalogues import catalogue, gone, unlisted

from workbench import gate
from workbench.backends import BACKENDS, Limits, get_backend
from workbench.backends.mysql_hints import DEEP, UNPUSHED
from workbench.gate import DIALECTS, check_select, examine, functions
from workbench.gate_tokens import tokenize
from workbench.gate_tree import skeleton
from workbench.migrate import ensure_database

ADMITTED = [
    "SELECT 1;",
    "(SELECT 1) UNION ALL SELECT 2 ORDER BY 1",
    "WITH a AS (SELECT 1 AS x) SELECT * FROM a -- done",
    "SELECT ';' AS a, 'DROP TABLE t; --' FROM t WHERE n = 'sleep(1)'",
    "SELECT REPLACE(n, 'a', 'b') FROM t",
    "SELECT CASE WHEN a > 1 THEN 'delete' END FROM t LIMIT 1 OFFSET 1",
    "SELECT COUNT(DISTINCT a), SUM(a) OVER (PARTITION BY b ORDER BY c) FROM t WHERE a IN (1, 2) AND (b OR NOT (c))",
    "SELECT file, url, format, input, system, sleep FROM docs ORDER BY format DESC",
    "SELECT CAST(a AS DECIMAL(10, 2)) FROM t JOIN (SELECT 1 AS b) u ON (t.a = u.b) HAVING (a) BETWEEN (1) AND (2)",
    "SELECT comment, load, start FROM t WHERE (load) > (start)",
    "SELECT 1 UNION SELECT 2 EXCEPT SELECT 3",
]
REFUSED = [
    ("DROP TABLE t", "it is no query but DROP"),
    ("INSERT INTO t VALUES (1)", "it is no query but INSERT"),
    ("EXPLAIN SELECT 1", "it is no query but EXPLAIN"),
    ("SELECT 1; DROP TABLE t", "it is more than one statement"),
    ("SELECT 1;; SELECT 2", "it is more than one statement"),
    ("SELECT 1 /* ; */ ; /* */ SELECT 2", "it is more than one statement"),
    ("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", "it holds a command: DELETE"),
    ("SELECT 1 INTO x", "INTO writes its result"),
    ("SELECT * FROM t FOR UPDATE", "it locks rows"),
]
NO_SQL = [
    ("", "it is empty"),
    (" ; ", "it is empty"),
    ("-- nothing", "it is empty"),
    ("selec 1", "it begins with 'selec'"),
    ("SELECT 1;<|im_end|>", "after its end stands '<'"),
    ("SELECT 'a", "a string, a quoted name or a comment has no end"),
    ("SELECT 1\0", "it holds a null character or half of one"),
    ("SELECT '\ud800'", "it holds a null character or half of one"),
]
# (dialect, SQL, outcome, part of the reason); what is admitted here is what one engine alone writes so.
OF_ONE_ENGINE = [
    ("sqlite", "SELECT * FROM pragma_table_list", None, ""),
    ("sqlite", "SELECT name FROM pragma_table_info('t'), sqlite_master", None, ""),
    ("sqlite", 'SELECT "a" FROM [b] WHERE `c` = "load_extension(1)"', None, ""),
    ("sqlite", "SELECT 1 /* no end", None, ""),
    ("sqlite", "SELECT optimize(1)", "refused", "optimize"),
    ("postgres", "TABLE t", None, ""),
    ("postgres", "SELECT pg_catalog.lower('A'), (t).a FROM t FETCH FIRST 1 ROW ONLY", None, ""),
    ("postgres", "SELECT substring('a' FROM 1 FOR 2), '{1}'::int[], x::numeric(10, 2) FROM t", None, ""),
    ("postgres", "SELECT * FROM json_to_record('{}') AS (a int), generate_series(1, 2) g(x)", None, ""),
    ("postgres", "SELECT $$ ; DROP TABLE t $$, $a$ pg_sleep(1) $a$", None, ""),
    ("postgres", "SELECT int4pl(1, 2)", "refused", "int4pl"),
    ("postgres", "SELECT f.pg_sleep FROM abs(20::float8) AS f", "refused", "pg_sleep"),
    ("postgres", 'SELECT f . /* */ "pg_sleep" FROM abs(20::float8) f', "refused", "pg_sleep"),
    ("postgres", "SELECT t.current_setting FROM (SELECT 'x') AS t(n)", "refused", "current_setting"),
    ("postgres", "SELECT t.date_out, t.has_pets, t.charge, t.lo_orderdate, t.pg_rating, t.system FROM t", None, ""),
    ("mysql", "SELECT \"a\" 'b', @a, @@version, 1--1 FROM t USE INDEX (a) WHERE b MEMBER OF('[1]')", None, ""),
    ("mysql", "WITH c(x) AS (SELECT 1) SELECT * FROM c, (SELECT 1) d(x), t PARTITION (p0)", None, ""),
    ("mysql", "SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ';'), DATE_ADD(a, INTERVAL (1) DAY) FROM t", None, ""),
    ("mysql", "SELECT MATCH(a) AGAINST('x' IN BOOLEAN MODE), YEAR(a), IF(a, 1, 2), MOD(a, 2) FROM t", None, ""),
    ("mysql", "VALUES ROW(1), ROW(2)", None, ""),
    ("mysql", f"WITH RECURSIVE c AS (SELECT 1) SELECT /*+ {DEEP} {UNPUSHED} */ * FROM c", None, ""),
    ("mysql", f"SELECT /*+ {DEEP} */ SLEEP(1)", "refused", "sleep"),
    ("mysql", f"SELECT /*+ {DEEP} NO_ICP(t) */ 1", "refused", "hides"),
    ("mysql", "SELECT /*+ SET_VAR(cte_max_recursion_depth=1000000) */ 1", "refused", "hides"),
    (
        "mysql",
        "SELECT ST_X(POINT(1, 2)), ST_Distance_Sphere(POINT(1, 2), POINT(3, 4)), JSON_EXTRACT(a, '$.b[*]')",
        None,
        "",
    ),
    ("mysql", "SELECT ST_Buffer(POINT(1, 2), 1)", "refused", "st_buffer"),
    ("mysql", "SELECT ExtractValue(REPEAT(n, 300), 'count(//*[//*[//*]])')", "refused", "extractvalue"),
    ("mysql", "SELECT ST_HausdorffDistance(ST_GeomFromText(n), POINT(1, 2)) FROM t", "refused", "st_hausdorffdistance"),
    ("mysql", "SELECT JSON_MERGE_PRESERVE(REPEAT(n, 3000), '[1]') FROM t", "refused", "json_merge_preserve"),
    ("mysql", "SELECT a->'$.b' FROM t WHERE n LIKE '**' OR n = '5 $ **'", None, ""),
    ("mysql", "SELECT a->' $**.b' FROM t", "refused", "JSON path"),
    ("mysql", "SELECT `\U0001f600`.a FROM t", "name_error", "\U0001f600"),
    ("mysql", "SELECT * FROM \U0001f600", "name_error", "\U0001f600"),
    ("mysql", "SELECT a AS `\U0001f600`, '\U0001f600', `\uffff` FROM t", None, ""),
    ("sqlite", "SELECT * FROM \U0001f600", None, ""),
    ("clickhouse", "SELECT sumArrayIfOrNull(a, b)", None, ""),
    ("clickhouse", "SELECT nosuchIf(a, b)", "name_error", "nosuchif"),
    ("clickhouse", f"SELECT x{'If' * 90_000}(1)", "name_error", "no function"),
    ("clickhouse", "SELECT sumIf(a, b), uniqExactOrNull(a), quantile(0.5)(a), a::Nullable(Int32) FROM t", None, ""),
    ("clickhouse", "SELECT arrayMap(x -> x + 1, [1]), x'41' FROM t FINAL LIMIT 1 BY a", None, ""),
    ("clickhouse", "SELECT 1 UNION SELECT 2", None, ""),
    ("clickhouse", 'SELECT `a\\\\b`, "c\\\\" FROM `t\\\\u`', None, ""),
    ("clickhouse", "SELECT `a\\\\\\x41`", "refused", "hides"),
    ("clickhouse", "SELECT `fil\\x65`('/etc/passwd')", "refused", "hides"),
    ("duckdb", "FROM t SELECT * EXCLUDE (a)", None, ""),
    ("duckdb", "SELECT list_transform([1], lambda x: x + 1), 'a'.upper() FROM range(3) r(x)", None, ""),
    ("duckdb", 'SELECT * FROM "a/b", "?", "a*b", "[x]", "a.b"', None, ""),
    ("duckdb", 'SELECT * FROM "a.CSV?x"', "refused", "file"),
    ("duckdb", "SELECT * FROM 'http://127.0.0.1:9/x'", "refused", "file"),
    ("duckdb", "SELECT trim(both 'a/b.csv' FROM 'abc')", None, ""),
]
# A function that no engine has: the engine says so, or the gate where running it could be another's.
UNKNOWN = {"sqlite": None, "postgres": None, "duckdb": None, "mysql": "name_error", "clickhouse": "name_error"}
# Pieces of statements over whose reading one could differ; between them a call of a function that is not there.
PIECES = ["'", '"', "`", "\\", "--", "/*", "*/", "\n", "\r", " ", "a", "1", ",", "(", ")", "."]
OWN_PIECES = {
    "sqlite": ["[", "]", "$a", "$a(", ":a", "#", "::", "x", "\v", "\xa0"],
    "postgres": ["$$", "$a$", "$1", "E", "e", "\v", "\xa0", "\x85", "#", "-", "*", "\u2028"],
    "mysql": ["#", "!", "@", "N", "_utf8", "\v", "\x01", "\xa0", "*", "-", "{", "}"],
    "clickhouse": ["# ", "#!", "$$", "$a$", "\v", "\xa0", "\u2028", "@@", "x", "[", "]", "a$"],
    "duckdb": ["$$", "$a$", "E", "x", "\v", "\xa0", "\u2003", "\ufeff", "[", "]", "#1"],
}
# How many statements of the reader run beside this one.
RUNNING = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND state = 'active'"
    " AND pid <> pg_backend_pid()",
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE command NOT IN ('Sleep', 'Daemon')"
    " AND id <> connection_id()",
}
ASCII_SPACES = ("sqlite", "postgres", "mysql")
TRIES = {"sqlite": 8000, "postgres": 4000, "mysql": 3000, "clickhouse": 600, "duckdb": 2000}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", ADMITTED)
def test_queries_pass_the_gate(sql, dialect):
    assert check_select(sql, dialect) is None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("sql", "reason"), REFUSED)
def test_what_is_no_single_query_is_refused(sql, reason, dialect):
    assert examine(sql, dialect) == ("refused", reason)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("sql", "reason"), NO_SQL)
def test_what_is_no_sql_is_a_syntax_error(sql, reason, dialect):
    assert examine(sql, dialect) == ("syntax_error", reason)


def test_whatever_the_gate_stumbles_over_is_refused(monkeypatch):
    def stumble(*_):
        return stumble()

    monkeypatch.setattr(gate, "check_tree", stumble)
    assert examine("SELECT 1", "sqlite") == ("refused", "the gate cannot read it (RecursionError)")


@pytest.mark.parametrize(("dialect", "sql", "outcome", "reason"), OF_ONE_ENGINE)
def test_what_one_engine_reads_in_its_own_way(dialect, sql, outcome, reason):
    verdict = examine(sql, dialect)
    assert (verdict and verdict[0]) == outcome and reason in (verdict or ("", ""))[1], verdict


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_function_that_no_engine_has_is_a_name_error(dialect):
    verdict = examine("SELECT my_own_idea(a) FROM t", dialect)
    assert (verdict and verdict[0]) == UNKNOWN[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_allowed_function_passes_and_no_refused_one(dialect):
    lists = functions(dialect)
    for name in lists.allowed.exact:
        assert check_select(f"SELECT {name}(a) FROM t", dialect) is None or name not in tree_reads(dialect, name), name
    for name in lists.refused.exact:
        for written in (name, name.upper(), f'"{name}"' if dialect != "mysql" else f"`{name}`"):
            assert examine(f"SELECT {written}(a) FROM t", dialect)[0] == "refused", written


def tree_reads(dialect: str, name: str) -> set[str]:
    """The name, if sqlglot can read a plain call of it: `cast(a)` is no SQL."""
    import sqlglot

    try:
        sqlglot.parse_one(f"SELECT {name}(a) FROM t", read=dialect)
    except (sqlglot.ParseError, IndexError):
        return set()
    return {name}


@pytest.mark.parametrize(
    "part",
    ["(", "CASE WHEN ", "f(", "NOT ", "(SELECT ", "1 + ", "- ", "'", "/* ", "$a$b", "$a", "[1, ", "STRUCT(", "ARRAY["],
)
def test_no_statement_takes_the_gate_much_time(part):
    for dialect in DIALECTS:
        for count in (20, 90, 3000, 250_000):
            started = time.process_time()
            examine("SELECT " + part * min(count, 190_000 // len(part)), dialect)
            assert time.process_time() - started < 2, (dialect, count)


LONG = {
    "chain of WITH": lambda n: (
        "WITH c0 AS (SELECT * FROM t)"
        + "".join(f", c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, n - 1))
        + f" SELECT * FROM c{n - 2}"
    ),
    "chain of TABLE": lambda n: (
        "WITH c0 AS (TABLE t)" + "".join(f", c{i} AS (TABLE c{i - 1})" for i in range(1, n - 1)) + f" TABLE c{n - 2}"
    ),
    "union": lambda n: " UNION ALL ".join(["SELECT a FROM t"] * n),
    "joins": lambda n: "SELECT 1 FROM t t0" + "".join(f" JOIN t t{i} ON t{i}.a = t0.a" for i in range(1, 4 * n)),
    "order": lambda n: "SELECT a FROM t ORDER BY " + ", ".join(f"a + {i}" for i in range(12 * n)),
}


@pytest.mark.parametrize("form", LONG)
def test_what_a_servers_planner_would_not_end_with_is_refused_there(form):
    for dialect in DIALECTS:
        assert (examine(LONG[form](190), dialect) or ("",))[0] != "refused", dialect
    for dialect in ("postgres", "mysql"):
        verdict = examine(LONG[form](900), dialect)
        assert verdict[0] == "refused" and "more than" in verdict[1]


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_the_longest_a_server_is_given_ends_with_its_time(sessions, engine):
    """Nothing of it is left running a second after the answer. Tried thrice: another program may have the processors."""
    session, database = sessions(engine)
    other = get_backend(engine)
    other.start()
    watcher = other.session()
    for form in LONG.values():
        for _ in range(3):
            session.run(database, form(190), Limits(seconds=1))
            time.sleep(1)
            if is_quiet := watcher.run(database, RUNNING[engine], Limits()).table.rows() == [(0,)]:
                break
        assert is_quiet
    watcher.close()
    other.stop()


def test_comments_and_the_insides_of_quotes_are_kept_from_the_parser():
    sql = "SELECT 'a\\', \"b'c\" /* ' */ , E'\\'' -- x"
    assert skeleton(tokenize(sql, "postgres"), "postgres") == "SELECT 's', \"b_c\" , 's'"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_list_is_no_obstacle(dialect):
    for constants in (", ".join(map(str, range(30_000))), ", ".join(["'a'"] * 30_000)):
        assert check_select(f"SELECT count(*) FROM t WHERE a IN ({constants}) AND b = 1", dialect) is None
        assert check_select(f"SELECT 1 WHERE a IN ({constants}) INTO x", dialect) is not None


# --- beside the engines


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Engine -> a session and a database of it."""
    opened = {}
    path = tmp_path_factory.mktemp("gate") / "gate.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS n")
    connection.close()

    def session(engine: str):
        if engine not in BACKENDS:
            pytest.skip(f"{engine} is not among the backends")
        if engine not in opened:
            backend = get_backend(engine)
            if backend.find() is None:
                pytest.skip(f"{engine} is not installed")
            backend.start()
            opened[engine] = (backend, backend.session(), ensure_database(backend, path, "gate"))
        return opened[engine][1:]

    yield session
    for backend, used, _ in opened.values():
        used.close()
        backend.stop()


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "clickhouse", "duckdb"])
def test_every_function_of_an_engine_is_in_one_of_the_lists(sessions, engine):
    asked = () if engine in ("sqlite", "duckdb") else sessions(engine)
    names = catalogue(engine, *asked)
    lists = functions(engine)
    assert len(names) > 100 and unlisted(engine, names) == []
    assert not lists.allowed.exact & lists.refused.exact


@pytest.mark.parametrize("engine", ["mysql"])
def test_every_allowed_function_is_one_of_the_engine(sessions, engine):
    """MySQL says so itself; functions of other versions are known by their group."""
    lists = yaml.safe_load((Path(gate.__file__).parent / "gate_functions" / f"{engine}.yaml").read_text())["allowed"]
    others = set(lists["of_other_versions"].split())
    assert set(gone(*sessions(engine), functions(engine).allowed)) <= others


@pytest.mark.parametrize("engine", DIALECTS)
def test_no_call_that_the_engine_sees_is_hidden_from_the_gate(sessions, engine):
    """Random statements around a call of `zzmark`: where the engine misses that function, the gate has seen the call."""
    session, database = sessions(engine)
    draw, pieces, seen = random.Random(1), PIECES + OWN_PIECES[engine], 0
    for _ in range(TRIES[engine]):
        lead = draw.choice(["SELECT 1 ", "SELECT ", "SELECT 'a' ", "SELECT 1 AS ", "SELECT 1, "])
        call = draw.choice([", zzmark() ", " + zzmark()", "zzmark()", ",zzmark () ", "\n, zzmark()"])
        before, after = ("".join(draw.choices(pieces, k=draw.randint(0, 5))) for _ in "12")
        sql = lead + before + call + draw.choice(["", " AS a ", " -- "]) + after
        if engine in ASCII_SPACES and re.search(r"[^\x00-\x7f]zzmark", sql):
            continue  # one long name, though the message may show it as two
        execution = session.run(database, sql, Limits(seconds=5))
        words = (execution.message or "").lower()
        if execution.status != "name_error" or not re.search(r"function\W[^\n]*?(?<![^ .:`'\"])zzmark(?!\w)", words):
            continue
        seen += 1
        tokens = tokenize(sql, engine)
        assert tokens is None or any(t.kind == "trick" for t in tokens) or "zzmark" in calls(tokens), repr(sql)
        if tokens is None:
            assert examine(sql, engine) is not None
    assert seen > TRIES[engine] / 200


def calls(tokens) -> set[str]:
    return {a.name.lower() for a, b in pairwise(tokens) if b.text == "("}


# --- beside the benchmarks


def real_statements(shared: Path):
    """(engine, database file or None, SQL) of every gold and prediction that the slices hold."""
    data = shared / "data"
    spider = json.loads((data / "spider/dev.json").read_text())
    files = [data / f"spider/database/{q['db_id']}/{q['db_id']}.sqlite" for q in spider]
    yield from zip(["sqlite"] * len(files), files, [q["query"] for q in spider], strict=True)
    for file in sorted((data / "predictions/spider").iterdir()):
        yield from zip(["sqlite"] * len(files), files, file.read_text().splitlines(), strict=True)
    superhero = data / "bird/dev_databases/superhero/superhero.sqlite"
    yield from (("sqlite", superhero, q["SQL"]) for q in json.loads((data / "bird/dev.json").read_text()))
    without = json.loads((data / "bird/gold_without_database.json").read_text())
    yield from (("sqlite", None, q["SQL"]) for q in without)
    engines = {"sqlite": "sqlite", "mysql": "mysql", "postgresql": "postgres"}
    for name, engine in engines.items():
        questions = json.loads((data / f"bird_minidev/mini_dev_{name}.json").read_text())
        yield from ((engine, superhero, q["SQL"]) for q in questions)
    for file in sorted(data.glob("predictions/bird*/*.json")):
        engine = engines.get(file.stem.rsplit("_", 1)[1], "sqlite")
        for text in json.loads(file.read_text()).values():
            yield engine, superhero, text.split("\t----- bird -----")[0]


def test_no_real_query_is_refused(shared, sessions):
    """Whatever the gate stops of thousands of real statements, its own engine does not run either."""
    stopped = {}
    statements = list(real_statements(shared))
    for engine, file, sql in statements:
        verdict = examine(sql, engine)
        if verdict is not None:
            assert verdict[0] != "refused" and file is not None, (verdict, sql)
            stopped[engine, sql] = verdict, file
    assert len(statements) > 5500 and len(stopped) <= 20
    for (engine, sql), (verdict, file) in stopped.items():
        if engine in BACKENDS:
            session, database = sessions(engine)
            execution = session.run(str(file) if engine == "sqlite" else database, sql, Limits(seconds=5))
            assert execution.status != "ok", (verdict, sql)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_written_for_sqlite_are_refused_on_no_engine(shared, dialect):
    """They may fail there, but by the engine's own words: an outcome of the study."""
    for engine, _, sql in real_statements(shared):
        if engine == "sqlite":
            assert (examine(sql, dialect) or ("",))[0] != "refused", sql
