"""Skeletons of queries, their weights and likeness, worked out by hand."""

from difflib import SequenceMatcher

import pytest

from workbench.skeleton import jaccard, skeleton, skeleton_jaccard, skeleton_similarity, sql_jaccard, sql_words

NAMES = frozenset({"singer", "name", "age", "first", "date", "the year"})

SKELETONS = [  # id, query, skeleton
    (
        "the paper's example",
        """SELECT SUM(`seq_volte_call_grp_voice`) FROM llm_cell_1day
        WHERE `layer3_name` = 'Tabuk' AND `start_time` BETWEEN '2025-03-19' AND '2025-03-21'""",
        "SELECT SUM ( [col] ) FROM [tab] WHERE [col] = [str] AND [col] BETWEEN [str] AND [str]",
    ),
    (
        "qualified names are one column, aliases go",
        "select T1.name as n, t1.age years from singer as T1 join b T2 on T1.id = T2.id",
        "SELECT [col] , [col] FROM [tab] JOIN [tab] ON [col] = [col]",
    ),
    ("a table of a schema", "SELECT main.singer.name FROM main.singer s", "SELECT [col] FROM [tab]"),
    (
        "tables behind commas",
        "SELECT a FROM t, u AS v, w WHERE b IN (c, d)",
        "SELECT [col] FROM [tab] , [tab] , [tab] WHERE [col] IN ( [col] , [col] )",
    ),
    (
        "tables in brackets",
        "SELECT a FROM (t JOIN u USING (a))",
        "SELECT [col] FROM ( [tab] JOIN [tab] USING ( [col] ) )",
    ),
    ("double quotes hold a name that there is", 'SELECT "age" FROM "singer"', "SELECT [col] FROM [tab]"),
    ("else a text", 'SELECT name FROM singer WHERE name = "France"', "SELECT [col] FROM [tab] WHERE [col] = [str]"),
    ("beside a dot a name", 'SELECT "T1"."x" FROM singer AS "T1"', "SELECT [col] FROM [tab]"),
    ("names with blanks", "SELECT `the year`, [the year] FROM singer", "SELECT [col] , [col] FROM [tab]"),
    (
        "names like keywords",
        "SELECT first, T.date FROM singer T ORDER BY first",
        "SELECT [col] , [col] FROM [tab] ORDER BY [col]",
    ),
    (
        "numbers and texts",
        "SELECT 1, 2.5, 'it''s', -3 FROM t LIMIT 7",
        "SELECT [val] , [val] , [str] , - [val] FROM [tab] LIMIT [val]",
    ),
    (
        "texts that look like signs",
        "SELECT instr(a, '.'), b || ',' FROM t",
        "SELECT INSTR ( [col] , [str] ) , [col] || [str] FROM [tab]",
    ),
    ("stars", "SELECT *, T.*, count(*) FROM t T", "SELECT * , * , COUNT ( * ) FROM [tab]"),
    (
        "types stay",
        "SELECT CAST(a AS DECIMAL(5, 2)) x, b::text FROM t",
        "SELECT CAST ( [col] AS DECIMAL ( 5 , 2 ) ) , [col] :: TEXT FROM [tab]",
    ),
    (
        "functions named like keywords",
        "SELECT left(a, 2), date(b), replace(c, 'a', '') FROM t",
        "SELECT LEFT ( [col] , [val] ) , DATE ( [col] ) , REPLACE ( [col] , [str] , [str] ) FROM [tab]",
    ),
    (
        "FROM that reads no table",
        "SELECT EXTRACT(YEAR FROM d) FROM t WHERE a IS DISTINCT FROM b",
        "SELECT EXTRACT ( YEAR FROM [col] ) FROM [tab] WHERE [col] IS DISTINCT FROM [col]",
    ),
    (
        "dates and spans",
        "SELECT d + INTERVAL '1' DAY FROM t WHERE d > DATE '2020-01-01'",
        "SELECT [col] + INTERVAL [str] DAY FROM [tab] WHERE [col] > DATE [str]",
    ),
    (
        "CASE and its alias",
        "SELECT CASE WHEN a THEN 1 ELSE 0 END AS e FROM t",
        "SELECT CASE WHEN [col] THEN [val] ELSE [val] END FROM [tab]",
    ),
    (
        "a subquery and its alias",
        "SELECT x.n FROM (SELECT count(*) n FROM t) AS x",
        "SELECT [col] FROM ( SELECT COUNT ( * ) FROM [tab] )",
    ),
    (
        "common tables",
        "WITH a AS (SELECT b FROM t), c AS (SELECT 1) SELECT b FROM a, c",
        "WITH [tab] AS ( SELECT [col] FROM [tab] ) , [tab] AS ( SELECT [val] ) SELECT [col] FROM [tab] , [tab]",
    ),
    (
        "windows",
        "SELECT rank() OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) r FROM t ORDER BY r DESC NULLS LAST",
        "SELECT RANK ( ) OVER ( PARTITION BY [col] ORDER BY [col] ROWS BETWEEN [val] PRECEDING AND CURRENT ROW ) FROM [tab] ORDER BY [col] DESC NULLS LAST",
    ),
    (
        "collations",
        "SELECT a FROM t ORDER BY a COLLATE NOCASE",
        "SELECT [col] FROM [tab] ORDER BY [col] COLLATE NOCASE",
    ),
    ("a field of a row", "SELECT (t.r).f FROM t", "SELECT ( [col] ) . [col] FROM [tab]"),
    ("comments and semicolon", "SELECT a -- b\nFROM t; ;", "SELECT [col] FROM [tab]"),
    ("wrong SQL has one", "SELECT FROM WHERE a = = ) LIMIT", "SELECT FROM WHERE [col] = = ) LIMIT"),
]


@pytest.mark.parametrize(("sql", "text"), [case[1:] for case in SKELETONS], ids=[case[0] for case in SKELETONS])
def test_skeleton(sql, text):
    assert skeleton(sql, NAMES).text == text


@pytest.mark.parametrize(
    "sql", ["", "  -- nothing", "SELECT 'a", ";"], ids=["empty", "a comment", "an open quote", "no words"]
)
def test_no_skeleton(sql):
    assert skeleton(sql) is None
    assert skeleton_similarity(skeleton(sql), skeleton("SELECT 1")) == 0.0
    assert skeleton_jaccard(skeleton(sql), skeleton("SELECT 1")) == sql_jaccard(sql, "SELECT 1") == 0.0


def test_dialects_quote_otherwise():
    assert (
        skeleton('SELECT `a` FROM t WHERE b = "x"', dialect="mysql").text
        == "SELECT [col] FROM [tab] WHERE [col] = [str]"
    )


def test_elements():
    found = skeleton(
        "SELECT T1.Name, count(*) AS n FROM Singer AS T1, main.B WHERE T1.age > 1 GROUP BY T1.name ORDER BY n"
    )
    assert (found.tables, found.columns) == ({"singer", "b"}, {"name", "age"})
    # an item that is called what a column is called does not hide the column, if the database has it
    assert skeleton("SELECT name AS name FROM t", NAMES).columns == {"name"}


WEIGHTED = [
    ("WHERE three times", "SELECT a FROM b WHERE c = 'd'", "SELECT [col] FROM [tab] WHERE WHERE WHERE [col] = [str]"),
    ("JOIN twice", "SELECT a FROM b JOIN c", "SELECT [col] FROM [tab] JOIN JOIN [tab]"),
    (
        "with its kind",
        "SELECT a FROM b LEFT OUTER JOIN c",
        "SELECT [col] FROM [tab] LEFT OUTER JOIN LEFT OUTER JOIN [tab]",
    ),
    (
        "GROUP BY twice, as a phrase",
        "SELECT a FROM b GROUP BY a ORDER BY a",
        "SELECT [col] FROM [tab] GROUP BY GROUP BY [col] ORDER BY [col]",
    ),
    ("no join's kind is a function's name", "SELECT left(a, 1) FROM b", "SELECT LEFT ( [col] , [val] ) FROM [tab]"),
]


@pytest.mark.parametrize(("sql", "text"), [case[1:] for case in WEIGHTED], ids=[case[0] for case in WEIGHTED])
def test_weighted(sql, text):
    assert skeleton(sql).weighted == text


def test_similarity():
    """Texts of 24 and 42 characters whose longest common blocks are "SELECT [col] FROM [tab]" alone."""
    gold = skeleton("SELECT a FROM t WHERE b")  # SELECT [col] FROM [tab] WHERE WHERE WHERE [col]
    predicted = skeleton("SELECT a FROM t")
    assert (len(predicted.weighted), len(gold.weighted)) == (23, 47)
    ratio = 2 * 23 / (23 + 47)
    assert skeleton_similarity(predicted, gold) == pytest.approx(0.7 * ratio + 0.3 * 4 / 5)
    assert skeleton_similarity(predicted, gold, alpha=1.0) == pytest.approx(ratio)
    assert skeleton_jaccard(predicted, gold) == 4 / 5
    assert skeleton_similarity(gold, skeleton("SELECT other FROM names WHERE here")) == 1.0


def test_long_texts_are_not_cut_short():
    """difflib by default passes over what is frequent in texts of 200 characters and more."""
    conditions = " AND ".join(["b = 1"] * 12)
    one, other = (
        skeleton(f"SELECT a FROM t WHERE {conditions}"),
        skeleton(f"SELECT x, max(a) FROM t, u HAVING {conditions}"),
    )
    ratio = SequenceMatcher(None, one.weighted, other.weighted, autojunk=False).ratio()
    assert ratio > SequenceMatcher(None, one.weighted, other.weighted).ratio()
    assert skeleton_similarity(one, other, alpha=1.0) == ratio


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [("ab", "ab", 1.0), ("ab", "bc", 1 / 3), ("a", "b", 0.0), ("aab", "ab", 1.0), ("", "", 1.0), ("", "a", 0.0)],
)
def test_jaccard(one, other, value):
    assert jaccard(one, other) == pytest.approx(value)


def test_jaccard_of_sql_tokens():
    assert sql_words("select A, 'b' -- c\n from [d e];") == ("SELECT", "A", ",", "'b'", "FROM", "[d e]")
    assert sql_jaccard("SELECT a FROM t", "select A from T;") == 1.0
    assert sql_jaccard("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'X'") == pytest.approx(7 / 9)


def test_every_gold_is_like_itself(shared):
    import json

    golds = [one["query"] for one in json.loads((shared / "data/spider/dev.json").read_text())]
    for name in ("dev.json", "gold_without_database.json"):
        golds += [one["SQL"] for one in json.loads((shared / "data/bird" / name).read_text())]
    for engine, dialect in (("mysql", "mysql"), ("postgresql", "postgres")):
        file = shared / "data" / "bird_minidev" / f"mini_dev_{engine}.json"
        for record in json.loads(file.read_text()):
            found = skeleton(record["SQL"], dialect=dialect)
            assert skeleton_similarity(found, found) == 1.0 and found.tokens[0] in ("SELECT", "WITH")
    for gold in golds:
        found = skeleton(gold)
        assert skeleton_similarity(found, found) == skeleton_jaccard(found, found) == sql_jaccard(gold, gold) == 1.0
        assert found.tables and {"[col]", "*"} & set(found.tokens)
