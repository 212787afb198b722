"""Schemas from SQLite files and tables.json; databases and descriptions are hostile."""

import json
import sqlite3
from contextlib import closing

import pytest

from workbench.errors import BenchmarkError
from workbench.schema import ForeignKey, Schema, check_sqlite_file, open_read_only, read_descriptions

DDL = """
CREATE TABLE "Order Item" (id INTEGER PRIMARY KEY AUTOINCREMENT, note VARCHAR(20) NOT NULL, price,
                           double REAL GENERATED ALWAYS AS (price * 2));
CREATE TABLE place (country TEXT, town TEXT, PRIMARY KEY (town, country));
CREATE TABLE visit (item INTEGER REFERENCES "order item", t TEXT, c TEXT, item2 INTEGER,
                    FOREIGN KEY (t, c) REFERENCES Place, FOREIGN KEY (item2) REFERENCES "Order Item"(ID),
                    FOREIGN KEY (item2) REFERENCES nowhere(id), FOREIGN KEY (item2) REFERENCES place(absent));
CREATE VIEW v AS SELECT * FROM place;
CREATE INDEX i ON place (town);
INSERT INTO "Order Item" (note) VALUES ('x');
"""


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "a b?#%.sqlite"  # characters that mean something in an SQLite URI
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DDL)
    return path


def test_sqlite_schema(database):
    schema = Schema.from_sqlite(database)
    assert [table.name for table in schema.tables] == ["Order Item", "place", "visit"]
    item, place, visit = schema.tables
    assert [(c.name, c.type, c.is_nullable) for c in item.columns] == [
        ("id", "INTEGER", False),
        ("note", "VARCHAR(20)", False),
        ("price", "", True),
        ("double", "REAL", True),
    ]
    assert (item.primary_key, place.primary_key, visit.primary_key) == (("id",), ("town", "country"), ())
    assert all(column.is_nullable for column in place.columns)  # SQLite lets such a primary key be NULL
    assert visit.foreign_keys == (
        ForeignKey(("item",), "Order Item", ("id",)),  # the target's primary key, in its own spelling
        ForeignKey(("t", "c"), "place", ("town", "country")),
        ForeignKey(("item2",), "Order Item", ("id",)),
    )  # those that point at nothing are left out
    assert schema.table("ORDER item").column("NOTE").name == "note"
    assert schema.table("v") is None


def test_file_is_opened_read_only(database):
    before = database.read_bytes()
    with closing(open_read_only(database)) as connection, pytest.raises(sqlite3.OperationalError):
        connection.execute("DROP TABLE place")
    assert database.read_bytes() == before and [path.name for path in database.parent.iterdir()] == [database.name]


def test_write_ahead_log_is_read(tmp_path):
    path = tmp_path / "wal.sqlite"
    with closing(sqlite3.connect(path)) as writer:
        writer.executescript("PRAGMA journal_mode = WAL; CREATE TABLE a (x); PRAGMA wal_checkpoint; CREATE TABLE b (y)")
        assert [table.name for table in Schema.from_sqlite(path).tables] == ["a", "b"]


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_what_a_file_lacks_may_lie_beside_it(tmp_path, suffix):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE a (x)")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(BenchmarkError, match="cut short: 5000 of 8192 bytes"):
        check_sqlite_file(path)
    (tmp_path / f"a.sqlite{suffix}").touch()
    with pytest.raises(BenchmarkError, match="cut short"):
        check_sqlite_file(path)
    (tmp_path / f"a.sqlite{suffix}").write_bytes(b"x")
    check_sqlite_file(path)


def test_an_old_writers_page_count_is_not_believed(tmp_path):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE a (x)")
    data = bytearray(path.read_bytes())
    data[28:32], data[92:96] = (99).to_bytes(4), bytes(4)  # as before SQLite 3.7.0
    path.write_bytes(data)
    assert [table.name for table in Schema.from_sqlite(path).tables] == ["a"]


def _damaged(data: bytes) -> bytes:
    return data[:100] + b"\xff" * (len(data) - 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: b"", "empty file, not an SQLite database"),
        (lambda data: b"PRAGMA x;", "not an SQLite database"),
        (lambda data: b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (lambda data: data[:5000], "cut short: 5000 of "),
        (lambda data: data[:-1], "cut short: "),
        (lambda data: data[:50], "damaged SQLite database"),
        (_damaged, "damaged SQLite database"),
        (None, "no such database file"),
    ],
    ids=["empty", "text", "lfs", "cut-in-the-middle", "without-its-last-byte", "cut", "overwritten", "missing"],
)
def test_bad_database_files(database, change, message):
    if change is None:
        database.unlink()
    else:
        database.write_bytes(change(database.read_bytes()))
    with pytest.raises(BenchmarkError, match=message) as caught:
        Schema.from_sqlite(database)
    assert database.name in str(caught.value) and "\n" not in str(caught.value)


ENTRY = {
    "db_id": "pets",
    "table_names_original": ["Student", "Has_Pet", "sqlite_sequence"],
    "table_names": ["student", "has pet", "sequence"],
    "column_names_original": [[-1, "*"], [0, "StuID"], [0, "Age"], [1, "StuID"], [1, "PetID"], [2, "seq"]],
    "column_names": [[-1, "*"], [0, "student id"], [0, "age"], [1, "student id"], [1, "pet id"], [2, "seq"]],
    "column_types": ["text", "number", "number", "number", "text", "text"],
    "primary_keys": [1, [3, 4]],
    "foreign_keys": [[3, 1]],
}


def test_tables_json_entry():
    student, has_pet = Schema.from_tables_json(ENTRY).tables
    assert (student.natural_name, has_pet.natural_name) == ("student", "has pet")
    assert [(c.name, c.type, c.natural_name) for c in student.columns] == [
        ("StuID", "number", "student id"),
        ("Age", "number", "age"),
    ]
    assert (student.primary_key, has_pet.primary_key) == (("StuID",), ("StuID", "PetID"))
    assert has_pet.foreign_keys == (ForeignKey(("StuID",), "Student", ("StuID",), is_declared=False),)


def test_kaggledbqa_descriptions():
    extra = {
        "column_descriptions": ["", "who", "", "", "", ""],
        "value_enums": [None, None, {"1": "young", "2": "old"}, ["a", "b"], None, None],
    }
    student, has_pet = Schema.from_tables_json(ENTRY | extra).tables
    assert [column.description for column in student.columns] == ["who", None]
    assert [column.value_description for column in student.columns] == [None, "1: young; 2: old"]
    assert has_pet.columns[0].value_description == "a; b"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"column_types": ["text"]}, "6 columns and 1 types"),
        ({"column_names_original": [[9, "x"]]}, "column 0 is [9, 'x']"),
        ({"column_names_original": "StuID"}, "column_names_original is text"),
        ({"table_names_original": [1, 2, 3]}, "holds something else than text"),
        ({"foreign_keys": [[3, 99]]}, "not a schema"),
        ({"foreign_keys": [3]}, "not a schema"),
        ({"primary_keys": ["StuID"]}, "not a schema"),
    ],
    ids=["few-types", "no-such-table", "text", "numbers", "foreign-key-range", "foreign-key-shape", "primary-key-text"],
)
def test_bad_tables_json(change, message):
    with pytest.raises(BenchmarkError) as caught:
        Schema.from_tables_json(ENTRY | change)
    assert message in str(caught.value) and "pets" in str(caught.value)


@pytest.mark.parametrize("entry", [None, [], "x", {}, {"db_id": "x"}], ids=repr)
def test_tables_json_entry_of_another_kind(entry):
    with pytest.raises(BenchmarkError, match=r"tables\.json"):
        Schema.from_tables_json(entry)


def test_annotated_adds_what_the_file_lacks(tmp_path):
    path = tmp_path / "pets.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE student (stuid INT, age INT); CREATE TABLE has_pet (stuid INT, petid INT)"
        )
    student, has_pet = Schema.from_sqlite(path).annotated(Schema.from_tables_json(ENTRY)).tables
    assert (student.name, student.columns[0].type, student.columns[0].natural_name) == ("student", "INT", "student id")
    assert (student.primary_key, has_pet.primary_key) == (("stuid",), ("stuid", "petid"))
    assert has_pet.foreign_keys == (ForeignKey(("stuid",), "student", ("stuid",), is_declared=False),)


HEADER = "original_column_name,column_name,column_description,data_format,value_description\n"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", "Zoë • ✓"),
        ("utf-8-sig", "Zoë • ✓"),
        ("utf-16", "Zoë • ✓"),
        ("cp1252", "Zoë • €"),
        ("latin-1", "Zoë \x81"),
    ],
)
def test_description_encodings(tmp_path, encoding, text):
    file = tmp_path / "TABLE.csv"
    file.write_bytes(f'{HEADER}" Col ",natural, {text} ,text,"1 = yes\n0 = no"\n'.encode(encoding))
    note = read_descriptions([file])["table", "col"]
    assert (note.natural_name, note.description, note.value_description) == ("natural", text, "1 = yes\n0 = no")


def test_descriptions_of_another_shape_describe_nothing(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b'a,b\n1\n1,2,3\n"never closed\n\0')
    assert read_descriptions([file]) == {}


# Columns of database_description/*.csv: rows with a name in the official files (formula_1's constructors.csv has one
# more, of a column that the table lacks).
REAL = {
    "superhero": (10, 31, 31, 8),
    "financial": (8, 55, 48, 18),
    "card_games": (6, 115, 97, 54),
    "codebase_community": (8, 71, 71, 8),
    "formula_1": (13, 94, 90, 19),
    "student_club": (8, 48, 48, 17),
}


@pytest.mark.parametrize("db_id", REAL)
def test_bird_schemas_with_descriptions(shared, db_id):
    folder = shared / "data" / "bird"
    entries = {entry["db_id"]: entry for entry in json.loads((folder / "dev_tables.json").read_text())}
    files = sorted((folder / "dev_databases" / db_id / "database_description").iterdir())
    schema = Schema.from_tables_json(entries[db_id]).described(read_descriptions(files))
    columns = [column for table in schema.tables for column in table.columns]
    described = sum(column.description is not None for column in columns)
    valued = sum(column.value_description is not None for column in columns)
    assert (len(schema.tables), len(columns), described, valued) == REAL[db_id]
    broken = {table.name for table in schema.tables for column in table.columns if "\ufffd" in str(column)}
    assert broken == ({"zip_code"} if db_id == "student_club" else set())  # Zip_Code.csv itself holds U+FFFD


def test_windows_1252_description_of_bird(shared):
    folder = shared / "data" / "bird" / "dev_databases" / "student_club" / "database_description"
    notes = read_descriptions([folder / "Budget.csv"])
    assert "•" in notes["budget", "event_status"].value_description
