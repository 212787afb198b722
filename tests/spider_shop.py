"""A small schema in Spider's form, for pairs of queries worked out by hand."""

from workbench.schema import Schema
from workbench.spider_sql import SpiderNames, spider_names

TABLES = {
    "singer": ["id", "name", "age", "country"],
    "concert": ["cid", "title", "year", "singer_id"],
    "visit": ["vid", "singer_id", "concert_id", "value", "title"],
}
COLUMNS = [(-1, "*"), *((i, name) for i, names in enumerate(TABLES.values()) for name in names)]


def number(column: str) -> int:
    """A column's index in tables.json."""
    table, _, name = column.partition(".")
    return COLUMNS.index((list(TABLES).index(table), name))


ENTRY = {
    "db_id": "shop",
    "table_names_original": [name.title() for name in TABLES],  # case is folded
    "column_names_original": [[table, name.title()] for table, name in COLUMNS],
    "column_types": ["text"] * len(COLUMNS),
    "primary_keys": [number("singer.id"), number("concert.cid"), number("visit.vid")],
    "foreign_keys": [
        [number("concert.singer_id"), number("singer.id")],
        [number("visit.singer_id"), number("singer.id")],
        [number("visit.concert_id"), number("concert.cid")],
    ],
}
NAMES: SpiderNames = spider_names(Schema.from_tables_json(ENTRY), ENTRY)
