"""A seeded database, questions on it and predictions by five models, to measure scoring with: `speed/score.py`.

In: a folder, how many rows of sales, how many questions. Out: a benchmark folder and one prediction file a model. A model
takes gold's own words, another wording of it, one of two mistakes that others make too, or a text that fails.
"""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

DB_ID = "sales"
MODELS = 5
CITIES = ("Bonn", "Graz", "Lyon", "Oslo", "Pisa", "Riga", "Turku", "Vigo")
SHOPS, ITEMS, DAYS = 200, 500, 1000

# question, whether it asks for an order and for a number of rows, gold, gold in other words, two mistakes
KINDS = (
    (
        "How many sales of shop {shop} cost more than {price}?",
        (False, False),
        "SELECT COUNT(*) FROM sale WHERE shop_id = {shop} AND amount > {price}",
        "SELECT COUNT(id) FROM sale WHERE amount > {price} AND shop_id = {shop}",
        "SELECT COUNT(*) FROM sale WHERE shop_id = {shop}",
        "SELECT COUNT(DISTINCT item_id) FROM sale WHERE shop_id = {shop} AND amount > {price}",
    ),
    (
        "What did each city's sales after day {day} cost on average?",
        (False, False),
        "SELECT shop.city, AVG(sale.amount) FROM sale JOIN shop ON sale.shop_id = shop.id WHERE sale.day > {day} GROUP BY shop.city",
        "SELECT AVG(T1.amount), T2.city FROM sale AS T1 INNER JOIN shop AS T2 ON T2.id = T1.shop_id WHERE T1.day > {day} GROUP BY T2.city",
        "SELECT shop.city, SUM(sale.amount) FROM sale JOIN shop ON sale.shop_id = shop.id WHERE sale.day > {day} GROUP BY shop.city",
        "SELECT shop.city, AVG(sale.amount) FROM sale JOIN shop ON sale.shop_id = shop.id GROUP BY shop.city",
    ),
    (
        "Which three shops sold the largest quantities at once after day {day}?",
        (True, True),
        "SELECT shop_id FROM sale WHERE day > {day} GROUP BY shop_id ORDER BY MAX(quantity) DESC LIMIT 3",
        "SELECT shop_id FROM sale WHERE day > {day} GROUP BY shop_id ORDER BY MAX(quantity) DESC, shop_id DESC LIMIT 3",
        "SELECT shop_id FROM sale WHERE day > {day} GROUP BY shop_id ORDER BY SUM(quantity) LIMIT 3",
        "SELECT shop_id FROM sale WHERE day > {day} GROUP BY shop_id ORDER BY MAX(quantity) DESC LIMIT 4",
    ),
    (
        "List day and amount of all sales in {city} of more than {price}.",
        (False, False),
        "SELECT sale.day, sale.amount FROM sale JOIN shop ON sale.shop_id = shop.id WHERE shop.city = '{city}' AND sale.amount > {price}",
        "SELECT amount, day FROM sale WHERE amount > {price} AND shop_id IN (SELECT id FROM shop WHERE city = '{city}')",
        "SELECT sale.day, sale.amount FROM sale JOIN shop ON sale.shop_id = shop.id WHERE shop.city = '{city}' AND sale.amount > {price} AND sale.day > {day}",
        "SELECT sale.day, sale.quantity FROM sale JOIN shop ON sale.shop_id = shop.id WHERE shop.city = '{city}' AND sale.amount > {price}",
    ),
    (
        "Which items were ever sold in shop {shop} for more than {price}?",
        (False, False),
        "SELECT DISTINCT item.name FROM item JOIN sale ON sale.item_id = item.id WHERE sale.shop_id = {shop} AND sale.amount > {price}",
        "SELECT name FROM item WHERE id IN (SELECT item_id FROM sale WHERE shop_id = {shop} AND amount > {price})",
        "SELECT item.name FROM item JOIN sale ON sale.item_id = item.id WHERE sale.shop_id = {shop}",
        "SELECT DISTINCT item.id FROM item JOIN sale ON sale.item_id = item.id WHERE sale.shop_id = {shop} AND sale.amount > {price}",
    ),
)
FAILING = (
    "SELECT amount_total FROM sale WHERE shop_id = {shop} AND amount > {price}",
    "SELECT COUNT(* FROM sale WHERE day > {day}",
)
WEIGHTS = (40, 20, 20, 12, 4, 4)  # gold's words, other words, two mistakes, two failures; in percent


def make_pairs(folder: Path, rows: int, questions: int) -> tuple[list[Path], list[tuple[str, str]]]:
    """Make the benchmark's folder; the prediction files beside it, and (prediction, gold) of each pair."""
    chance = random.Random(0)
    _make_database(folder / "databases" / DB_ID / f"{DB_ID}.sqlite", rows, chance)
    entries, texts = [], []
    for place in range(questions):
        question, (is_ordered, is_row_count_fixed), *queries = KINDS[place % len(KINDS)]
        values = {
            "shop": chance.randint(1, SHOPS),
            "price": chance.randint(200, 400),
            "day": chance.randint(1, DAYS // 2),
            "city": chance.choice(CITIES),
        }
        texts.append([text.format(**values) for text in (*queries, *FAILING)])
        entries.append(
            {
                "question_id": place,
                "db_id": DB_ID,
                "question": question.format(**values),
                "SQL": texts[-1][0],
                "is_ordered": is_ordered,
                "is_row_count_fixed": is_row_count_fixed,
            }
        )
    (folder / "questions.json").write_text(json.dumps(entries))
    files, pairs = [], []
    for number in range(MODELS):
        chosen = [chance.choices(each, WEIGHTS)[0] for each in texts]
        files.append(folder.parent / f"model-{number}.json")
        files[-1].write_text(json.dumps(chosen))
        pairs += zip(chosen, (each[0] for each in texts), strict=True)
    return files, pairs


def _make_database(file: Path, rows: int, chance: random.Random) -> None:
    file.parent.mkdir(parents=True)
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, city TEXT);"
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL);"
            "CREATE TABLE sale (id INTEGER PRIMARY KEY, shop_id INTEGER REFERENCES shop (id), item_id INTEGER"
            " REFERENCES item (id), day INTEGER, quantity INTEGER, amount REAL);"
        )
        shops = [(i, f"shop {i}", chance.choice(CITIES)) for i in range(1, SHOPS + 1)]
        items = [(i, f"item {i}", round(chance.uniform(1, 90), 2)) for i in range(1, ITEMS + 1)]
        sales = []
        for i in range(rows):
            item, quantity = chance.choice(items), chance.randint(1, 6)
            amount = round(item[2] * quantity, 2)
            sales.append((i, chance.randint(1, SHOPS), item[0], chance.randint(1, DAYS), quantity, amount))
        for table, values in (("shop", shops), ("item", items), ("sale", sales)):
            marks = ", ".join("?" * len(values[0]))
            database.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
        database.commit()
