"""The drawn tree: well-formed whatever names hold, everything in view, no box on another."""

import sqlite3
import xml.etree.ElementTree as ET
from contextlib import closing

import pytest
from plan_probes import FIXTURE, QUERIES

from workbench.plan import Filter, Plan, Scan
from workbench.plan_expressions import Call, Literal
from workbench.plan_svg import draw_svg
from workbench.schema import Column, Schema, Table
from workbench.sql_to_plan import sql_to_plan

NS = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("svg") / "probes.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIXTURE)
    return Schema.from_sqlite(path)


def _boxes(root: ET.Element) -> list[tuple[float, ...]]:
    found = [rect for rect in root.iter(f"{NS}rect") if rect.get("class") == "b"]
    return [tuple(float(rect.get(name)) for name in ("x", "y", "width", "height")) for rect in found]


@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES.keys())
def test_boxes_lie_inside_and_apart(schema, sql):
    plan = sql_to_plan(sql, schema)
    root = ET.fromstring(draw_svg(plan))
    boxes = _boxes(root)
    lines = plan.to_text().splitlines()
    named = [line for line in lines if line.strip().endswith(":")]  # "with t:", "query:" are no operators
    assert len(boxes) == len(lines) - len(named)
    width, height = float(root.get("width")), float(root.get("height"))
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
    for n, (x, y, w, h) in enumerate(boxes):
        for a, b, c, d in boxes[n + 1 :]:
            assert x + w <= a or a + c <= x or y + h <= b or b + d <= y


@pytest.mark.parametrize(
    "name",
    [
        "</text><script>alert(1)</script>",
        '" onload="x',
        "a&b",
        "]]>",
        "\x00\x1b",
        "\ud800",
        "\ufffe",
        "é漢字",
        "x" * 5000,
    ],
    ids=["markup", "quote", "ampersand", "cdata end", "control", "lone surrogate", "noncharacter", "letters", "long"],
)
def test_hostile_names(name):
    scan = Scan.of(Table(name, (Column(name, "TEXT"),)), "t")
    plan = Plan(Filter(scan, Call("=", (scan.fields[0].column(), Literal(name)))))
    text = plan._repr_svg_()
    root = ET.fromstring(text.encode())
    assert {child.tag.removeprefix(NS) for child in root.iter()} == {
        "svg",
        "title",
        "style",
        "rect",
        "path",
        "g",
        "text",
    }
    assert not any(key.lower().startswith("on") or "href" in key for node in root.iter() for key in node.attrib)


def test_texts_are_shown():
    schema = Schema((Table("pet", (Column("name", "TEXT"), Column("age", "INT"))),))
    root = ET.fromstring(
        sql_to_plan("SELECT name FROM pet WHERE name IN (SELECT name FROM pet LIMIT 1)", schema).to_svg()
    )
    texts = ["".join(node.itertext()) for node in root.iter(f"{NS}text")]
    assert texts.count("scan") == 2 and "project" in texts and "query" in texts
