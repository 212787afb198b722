"""The bundled benchmark: golds answer, labels and ties hold, the layout is BIRD's, the data is the same everywhere."""

import csv
import hashlib
import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from workbench import bundled
from workbench.bundled.difficulty import difficulty, points
from workbench.bundled.layout import DESCRIPTION_HEADER
from workbench.bundled.sources import SEEDS, question_from_yaml, read_sources
from workbench.bundled.stats import stats
from workbench.errors import BenchmarkError

# sha256 over schema and rows; change one only together with the data it stands for
CONTENT_HASHES = {
    "island_ferries": "c2d8508182fb987ee231e7ba2c5421e16cc18bed0624358add72a5b52b847685",
    "botanical_garden": "97146b3466da5f62153f0b36e1f4da2ac5029cf67839bdc5d2f1133fa60c2c8a",
    "chess_league": "a4d80fd7807e347171777d52366bd7d7fdd3fef7752285d69f6b9b4c55ede2a1",
    "county_clinic": "0c0f7b05e4553e33e2ad61cd536d9cf1c641e22ce9c7d9814f552776934868e3",
    "radio_archive": "1d05b89ccaf76104dff826b4037a28b3bd20b22a47d8ea4880ad7cf0c0fcdd41",
    "tool_library": "1d649b7e24d9cd89772c6091e63440e89c99a8447e676cd935d3d0f8ef605fc2",
}
COUNTS = {  # questions to test and to train on
    "island_ferries": (28, 45),
    "botanical_garden": (28, 47),
    "chess_league": (28, 48),
    "county_clinic": (28, 49),
    "radio_archive": (28, 47),
    "tool_library": (28, 48),
}
MIXED = {  # numbers and texts in one column
    "chess_league": {"game.table"},
    "county_clinic": {"result.value"},
    "radio_archive": {"recording.shelf"},
    "tool_library": {"part.size"},
}
DEV = [question for source in read_sources() for question in source.questions]
QUESTIONS = DEV + [question for source in read_sources() for question in source.train]
NUMBER_WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}
each_question = pytest.mark.parametrize(
    "question", QUESTIONS, ids=[f"{q['db_id']}-{q['question_id']}" for q in QUESTIONS]
)


@pytest.fixture(scope="module")
def folder(cache) -> Path:
    return bundled.build()


def database(folder: Path, db_id: str, split: str = "dev"):
    return closing(sqlite3.connect(folder / f"{split}_databases" / db_id / f"{db_id}.sqlite"))


def content_hash(folder: Path, db_id: str, split: str = "dev") -> str:
    digest = hashlib.sha256()
    with database(folder, db_id, split) as connection:
        for name, sql in connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
        ).fetchall():
            digest.update(sql.encode())
            keys = sorted((row[5], row[1]) for row in connection.execute(f'PRAGMA table_info("{name}")') if row[5])
            order = ", ".join(f'"{column}"' for _, column in keys)
            for row in connection.execute(f'SELECT * FROM "{name}" ORDER BY {order}'):
                digest.update(repr(row).encode())
    return digest.hexdigest()


def top_order(sql: str) -> tuple[str, int, int | None]:
    """The order keys of all rows a gold could show, as SQL without the cut; the cut: offset, limit (None: no cut)."""
    tree = sqlglot.parse_one(sql, read="sqlite")
    order = tree.args["order"].expressions
    limit, offset = tree.args.pop("limit", None), tree.args.pop("offset", None)
    number = lambda node: int(node.expression.name) if node else None
    if isinstance(tree, exp.SetOperation) or tree.args.get("distinct"):  # its keys are among its columns
        names = tree.named_selects
        keys = [names[int(key.this.name) - 1] if key.this.is_int else key.this.sql("sqlite") for key in order]
        return f"SELECT {', '.join(keys)} FROM ({tree.sql('sqlite')})", number(offset) or 0, number(limit)
    aliased = {projection.alias: projection.this for projection in tree.selects if projection.alias}
    for i, ordered in enumerate(order):
        key = ordered.this
        key = tree.selects[int(key.name) - 1].unalias() if key.is_int else aliased.get(key.name, key)
        tree.append("expressions", exp.alias_(key.copy(), f"order_key_{i}"))
    keys = ", ".join(f"order_key_{i}" for i in range(len(order)))
    return f"SELECT {keys} FROM ({tree.sql('sqlite')})", number(offset) or 0, number(limit)


# --- questions -------------------------------------------------------------------------------------------------------


@each_question
def test_gold_answers(folder, question):
    with database(folder, question["db_id"]) as connection:
        rows = connection.execute(question["SQL"]).fetchall()
    assert rows
    assert rows not in ([(None,)], [(0,)])


@each_question
def test_gold_does_not_depend_on_the_order_of_scans(folder, question):
    with database(folder, question["db_id"]) as connection:
        forward = connection.execute(question["SQL"]).fetchall()
        connection.execute("PRAGMA reverse_unordered_selects = 1")
        backward = connection.execute(question["SQL"]).fetchall()
    if question["is_ordered"] and not question["ties"]:
        assert forward == backward
    elif not question["is_ordered"]:
        assert Counter(forward) == Counter(backward)


@each_question
def test_ties_are_marked(folder, question):
    """The pragma leaves ORDER BY's own ties alone, so the keys are looked at: before, across and after the cut."""
    if not question["is_ordered"]:
        assert question["ties"] is None
        return
    sql, offset, limit = top_order(question["SQL"])
    with database(folder, question["db_id"]) as connection:
        keys = connection.execute(sql).fetchall()
    end = len(keys) if limit is None else offset + limit
    crosses = lambda cut: 0 < cut < len(keys) and keys[cut - 1] == keys[cut]
    inside = any(keys[i - 1] == keys[i] for i in range(offset + 1, end))
    assert question["ties"] == ("limit" if crosses(offset) or crosses(end) else "inside" if inside else None)


@each_question
def test_labels_agree_with_the_wording(question):
    tree = sqlglot.parse_one(question["SQL"], read="sqlite")
    limit = tree.args.get("limit")
    assert question["is_ordered"] == bool(tree.args.get("order"))
    assert question["is_row_count_fixed"] <= question["is_ordered"]  # unordered + fixed is empty, as in the plans paper
    if question["is_row_count_fixed"]:
        assert NUMBER_WORDS[int(limit.expression.name)] in question["question"].lower()
    else:
        assert limit is None or int(limit.expression.name) == 1  # a superlative does not fix the number of rows


def test_ids_are_unique_and_questions_differ():
    ids = [question["question_id"] for question in QUESTIONS]
    assert all(type(number) is int for number in ids) and len(set(ids)) == len(ids)
    assert {source.db_id: (len(source.questions), len(source.train)) for source in read_sources()} == COUNTS
    assert len({question["question"] for question in QUESTIONS}) == len(ids)


def test_no_two_golds_differ_only_in_a_constant():
    def blanked(node):
        return exp.Placeholder() if isinstance(node, exp.Literal) else node

    shapes = Counter(sqlglot.parse_one(q["SQL"], read="sqlite").transform(blanked).sql("sqlite") for q in QUESTIONS)
    assert max(shapes.values()) == 1


def test_every_axis_has_enough_positives():
    assert len(DEV) >= 160 and len(QUESTIONS) - len(DEV) >= 240
    assert sum(question["is_ordered"] for question in DEV) >= 60
    assert sum(question["is_row_count_fixed"] for question in DEV) >= 60
    assert sum(question["ties"] == "limit" for question in DEV) >= 15
    for db_id in SEEDS:
        levels = {question["difficulty"] for question in DEV if question["db_id"] == db_id}
        assert levels == {"simple", "moderate", "challenging"}


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bJOIN\b", r"LEFT JOIN", r"GROUP BY", r"HAVING", r"INTERSECT", r"EXCEPT", r"UNION", r"WITH \w+ AS",
        r"OVER \(", r"CASE WHEN", r"strftime", r"LIKE", r" IN \('", r"NOT IN \(SELECT", r"NOT EXISTS",
        r"SELECT DISTINCT", r"LIMIT \d", r"OFFSET", r"COALESCE", r"CAST\(", r"\|\|", r"BETWEEN", r"IS NULL",
        r"= \(SELECT", r"substr", r'"from"', r"`", r"RIGHT JOIN", r"FULL JOIN", r"CROSS JOIN", r"WITH RECURSIVE", r"VALUES",
        r"ROWS BETWEEN", r"RANGE BETWEEN", r"NULLS LAST", r"COLLATE NOCASE", r"FILTER \(WHERE", r"GROUP_CONCAT", r"GLOB",
        r"IIF\(", r"NULLIF", r"JULIANDAY", r"'start of month'", r"\(\w+, \w+, \w+\) IN \( ?SELECT", r" IS NOT \w+\.",
    ],
)  # fmt: skip
def test_feature_occurs(pattern):
    assert any(re.search(pattern, question["SQL"]) for question in QUESTIONS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ties": "at the end"}, "ties is 'at the end' (available: limit, inside, or left out)"),
        ({"is_orderd": True}, "keys missing or unknown: is_orderd"),
        ({"sql": ...}, "keys missing or unknown: sql"),
    ],
    ids=["unknown-tie", "misspelt-key", "no-sql"],
)
def test_badly_written_question_is_named(change, message):
    entry = {"id": 7, "question": "?", "sql": "SELECT 1", "is_ordered": False, "is_row_count_fixed": False} | change
    entry = {key: value for key, value in entry.items() if value is not ...}
    with pytest.raises(BenchmarkError) as caught:
        question_from_yaml(entry, "ferries")
    assert str(caught.value) == f"ferries/questions.yaml, id 7: {message}"


# --- difficulty ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "expected", "level"),
    [
        ("SELECT a FROM t", 0, "simple"),
        ("SELECT a FROM t JOIN u ON t.x = u.x ORDER BY a LIMIT 3", 2, "simple"),
        ("SELECT a, COUNT(*) FROM t JOIN u ON t.x = u.x GROUP BY a ORDER BY 2", 3, "moderate"),
        ("SELECT a FROM t WHERE b = (SELECT MAX(b) FROM t)", 3, "moderate"),
        ("SELECT a FROM t JOIN u USING (x) JOIN v USING (y) GROUP BY a HAVING COUNT(*) > 1", 4, "moderate"),
        ("SELECT a FROM t UNION SELECT a FROM u", 3, "moderate"),
        ("WITH c AS (SELECT a FROM t) SELECT a FROM c", 2, "simple"),
        ("SELECT RANK() OVER (ORDER BY a) FROM t", 2, "simple"),
        ("SELECT strftime('%Y', d), date(d, '+1 day') FROM t GROUP BY strftime('%Y', d)", 4, "moderate"),
        ("SELECT CASE WHEN a THEN 1 END FROM t JOIN u USING (x) WHERE b IN (SELECT b FROM v) GROUP BY CAST(c AS REAL)",
         7, "challenging"),
    ],
)  # fmt: skip
def test_difficulty_rule(sql, expected, level):
    assert (points(sql), difficulty(sql)) == (expected, level)


# --- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("db_id", SEEDS)
def test_contents_are_the_same_everywhere(folder, db_id):
    assert content_hash(folder, db_id) == CONTENT_HASHES[db_id]


@pytest.mark.parametrize("db_id", SEEDS)
def test_columns_hold_what_they_declare(folder, db_id):
    with database(folder, db_id) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert 4 <= len(tables) <= 8
        for table in tables:
            for _, column, kind, *_ in connection.execute(f'PRAGMA table_info("{table}")').fetchall():
                found = {t for (t,) in connection.execute(f'SELECT DISTINCT typeof("{column}") FROM "{table}"')}
                is_mixed = f"{table}.{column}" in MIXED.get(db_id, ())
                expected = {"integer", "real", "text"} if is_mixed else {kind.lower()}
                assert found - {"null"} <= expected and ("text" in found or not is_mixed), f"{table}.{column}"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("db_id", SEEDS)
def test_hand_written_rows_follow_the_schema(folder, db_id):
    """Rows are loaded by position, so a CSV file's header must be the table's columns."""
    with database(folder, db_id) as connection:
        for path in (bundled.HERE / db_id).glob("*.csv"):
            columns = [column for _, column, *_ in connection.execute(f'PRAGMA table_info("{path.stem}")')]
            assert path.read_text(encoding="utf-8").splitlines()[0].split(",") == columns


@pytest.mark.parametrize(
    ("db_id", "sql"),
    [
        ("island_ferries", "SELECT 1 FROM sailing WHERE delay_minutes IS NULL"),
        ("island_ferries", "SELECT 1 FROM sailing WHERE log LIKE '%🐬%'"),
        ("island_ferries", "SELECT full_name FROM passenger GROUP BY full_name HAVING COUNT(*) > 1"),
        ("island_ferries", ("SELECT 1 FROM booking GROUP BY sailing_id, passenger_id, booked_on, channel, price "
                            "HAVING COUNT(*) > 1")),
        ("island_ferries", "SELECT 1 FROM booking WHERE vehicle_length > '2' AND CAST(vehicle_length AS REAL) < 10"),
        ("island_ferries", "SELECT 1 FROM booking WHERE vehicle_length < '2' AND CAST(vehicle_length AS REAL) > 10"),
        ("botanical_garden", "SELECT 1 FROM plant WHERE girth LIKE '% cm'"),
        ("botanical_garden", "SELECT 1 FROM plant WHERE girth = ''"),
        ("botanical_garden", "SELECT english_name FROM species GROUP BY 1 HAVING COUNT(english_name) > 1"),
        ("botanical_garden", "SELECT 1 FROM gardener WHERE full_name LIKE '%ś%'"),
        ("chess_league", "SELECT 1 FROM game WHERE typeof(\"table\") = 'text' AND \"table\" <> LOWER(\"table\")"),
        ("chess_league", "SELECT 1 FROM fixture WHERE report = '' AND EXISTS (SELECT 1 FROM fixture WHERE report IS NULL)"),
        ("chess_league", 'SELECT 1 FROM game WHERE "Clock Left" = \'\' OR "Clock Left" > \'3\' AND "Clock Left" < \'5\''),
        ("county_clinic", "SELECT 1 FROM result WHERE typeof(value) = 'text' GROUP BY 1 HAVING COUNT(DISTINCT value) > 5"),
        ("county_clinic", "SELECT 1 FROM patient GROUP BY first_name, last_name, born HAVING COUNT(born) > 1"),
        ("county_clinic", "SELECT 1 FROM visit WHERE \"Reason for Visit\" LIKE ' %'"),
    ],
    ids=["null", "emoji", "shared-name", "entered-twice", "text-number-clean", "text-number-sorts-as-text",
         "text-number-with-unit", "empty-text", "shared-species-name", "accent",
         "mixed-kinds-and-case", "blank-report-beside-null", "clock-as-text", "words-among-values", "registered-twice",
         "stray-space"],
)  # fmt: skip
def test_awkward_values_are_there(folder, db_id, sql):
    with database(folder, db_id) as connection:
        assert connection.execute(sql).fetchone()


# --- layout ----------------------------------------------------------------------------------------------------------


def test_layout_is_that_of_bird(folder, shared):
    official = shared / "data" / "bird"
    for name in ("dev.json", "dev_tables.json"):
        ours, theirs = (json.loads((place / name).read_text(encoding="utf-8"))[0] for place in (folder, official))
        extra = {"is_ordered", "is_row_count_fixed", "ties"} if name == "dev.json" else set()
        assert ours.keys() - extra == theirs.keys()
        assert {key: type(value) for key, value in ours.items() if key not in extra} == {
            k: type(v) for k, v in theirs.items()
        }
    header = (
        (official / "dev_databases/superhero/database_description/race.csv")
        .read_text(encoding="utf-8-sig")
        .split("\n")[0]
    )
    assert header.strip() == ",".join(DESCRIPTION_HEADER)


@pytest.mark.parametrize("split", ["dev", "train"])
def test_each_split_has_files_of_its_own(folder, split):
    questions = json.loads((folder / f"{split}.json").read_text(encoding="utf-8"))
    wanted = DEV if split == "dev" else QUESTIONS[len(DEV) :]
    assert questions == sorted(wanted, key=lambda question: question["question_id"])
    gold = folder / {"dev": "dev.sql", "train": "train_gold.sql"}[split]
    lines = gold.read_text(encoding="utf-8").splitlines()
    assert lines == [f"{question['SQL']}\t{question['db_id']}" for question in questions]
    assert (folder / f"{split}_tables.json").read_bytes() == (folder / "dev_tables.json").read_bytes()
    names = {path.relative_to(folder / "dev_databases") for path in (folder / "dev_databases").rglob("*")}
    assert {
        path.relative_to(folder / f"{split}_databases") for path in (folder / f"{split}_databases").rglob("*")
    } == names


def test_dev_tables_describe_the_databases(folder):
    for entry in json.loads((folder / "dev_tables.json").read_text(encoding="utf-8")):
        tables, columns = entry["table_names_original"], entry["column_names_original"]
        assert len(columns) == len(entry["column_names"]) == len(entry["column_types"])
        named = {(tables[t], column) for t, column in columns[1:]}
        links = {tuple(f"{tables[columns[i][0]]}.{columns[i][1]}" for i in pair) for pair in entry["foreign_keys"]}
        with database(folder, entry["db_id"]) as connection:
            expected, expected_links, expected_keys = set(), set(), []
            for table in tables:
                rows = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
                expected |= {(table, row[1]) for row in rows}
                expected_keys.append([f"{table}.{row[1]}" for row in rows if row[5]])
                for key in connection.execute(f'PRAGMA foreign_key_list("{table}")'):
                    expected_links.add((f"{table}.{key[3]}", f"{key[2]}.{key[4]}"))
        assert named == expected
        assert links == expected_links
        stated = [key if isinstance(key, list) else [key] for key in entry["primary_keys"]]
        assert [[tables[columns[i][0]] + "." + columns[i][1] for i in key] for key in stated] == expected_keys
        described = folder / "dev_databases" / entry["db_id"] / "database_description"
        for path in described.iterdir():
            with path.open(encoding="utf-8", newline="") as file:
                assert [row["original_column_name"] for row in csv.DictReader(file)] == [
                    column for t, column in columns[1:] if tables[t] == path.stem
                ]
        assert {path.stem for path in described.iterdir()} == set(tables)


def test_readme_figures_are_current(folder):
    assert f"\n\n{stats(folder)}\n\n" in (bundled.HERE / "README.md").read_text(encoding="utf-8")
