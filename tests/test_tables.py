"""Tables for a paper: their numbers are the study's, each form shows hostile words as they are, files are whole."""

import re
import shutil
import subprocess

import polars as pl
import pytest
import test_hes_figures as made

from workbench.errors import ConfigError, ResultsError
from workbench.print_tables import Cell, Table, html, latex, markdown
from workbench.published import read
from workbench.study import study
from workbench.study_tables import STUDIES
from workbench.tables import FORMS, PREPARED, SOURCES, _layouts, paper_table, save_table, table_names
from workbench.write_tables import tables

HOSTILE = [
    r"\input{/etc/passwd}", "$x_1$ & 50 % #1 ~ ^", "[a](javascript:x) | **b** `c`", "<script>alert(1)</script> &amp;", "a\nb\x07",
    "*", "[1]", "<img src=x onerror=y>", "ä\N{EN DASH}漢",
]  # fmt: skip


def hostile() -> Table:
    rows = [[Cell(name), Cell(str(i), is_best=i == 1)] for i, name in enumerate(HOSTILE)]
    return Table("t", HOSTILE[1], [HOSTILE[0], HOSTILE[3]], [False, True], [(HOSTILE[2], rows)], HOSTILE[3])


def test_latex_escapes_every_sign():
    text = latex(hostile())
    assert r"\input" not in text.replace(r"\textbackslash{}input", "") and "<" not in text and "\x07" not in text
    assert r"\$x\_1\$ \& 50 \% \#1 \textasciitilde{} \textasciicircum{}" in text
    assert r"{}* & 5 \\" in text and r"{}[1] & 6 \\" in text
    assert r"\textbf{1}" in text and text.count(r"\textbf") == 1
    for opening, closing in (("{", "}"), (r"\begin", r"\end")):
        assert len(re.findall(rf"(?<!\\){re.escape(opening)}", text)) == len(
            re.findall(rf"(?<!\\){re.escape(closing)}", text)
        )


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex here")
def test_latex_can_be_set(tmp_path):
    text = latex(hostile()).replace("ä--漢", "x")
    head = "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\\begin{document}"
    (tmp_path / "t.tex").write_text(f"{head}{text}\\end{{document}}")
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )


def test_markdown_escapes_every_sign():
    text = markdown(hostile())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    assert "<" not in text and r"\[a\](javascript:x) \| \*\*b\*\* \`c\`" in text and "**1**" in text


def test_html_escapes_every_sign():
    text = html(hostile())
    body = text[text.index("<table") :]
    assert "<script" not in body and "<img" not in body and "&lt;script&gt;" in body
    assert len(re.findall(r"font-weight: bold", body)) == 1
    assert html(hostile()) == text


def cells(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for _, rows in table.groups for row in rows]


def best(table: Table) -> list[str]:
    return [cell.text for _, rows in table.groups for row in rows for cell in row if cell.is_best]


def test_structure_has_intervals_and_the_best_of_each_grade():
    table = paper_table("structure", made.structure({}, {}))
    assert table.title == "Structure of predictions by difficulty on the bundled benchmark"
    assert cells(table)[0][:4] == ["m0", "sql", "all", "30"]
    assert "90.0 [80.0, 100.0]" in cells(table)[0]
    assert best(table).count("90.0 [80.0, 100.0]") == 4 and "89.0 [79.0, 99.0]" not in best(table)
    assert "Bold: the best" in table.notes and "Wilson" in table.notes


@pytest.mark.parametrize(
    ("models", "start"),
    [([{}], "Structure"), ([{"is_simulated": True}], "SIMULATED"), ([{"is_simulated": True}, {}], "Partly SIMULATED")],
)
def test_simulated_is_said(models, start):
    table = paper_table("structure", made.structure(*models))
    assert table.title.startswith(start)
    assert ("Simulated: m0." in table.notes) == (len(models) == 2)


def test_ranking_of_a_run_is_by_accuracy():
    table = paper_table(
        "ranking", made.structure({"model": "b", "ex": 0.5}, {"model": "a", "ex": 0.7}, {"model": "c", "ex": None})
    )
    assert [row[:2] for row in cells(table)] == [["1", "a"], ["2", "b"]]


def test_error_tables_have_a_column_a_name():
    table = paper_table("error_types", made.errors({}))
    assert cells(table)[0][-8:] == [f"{100 * n / 36:.1f}" for n in range(1, 9)]


PRINTED = [
    ("ranking", "79.14", ["HES-SQL", "MiniSeek", "RAT-SQL"]),
    ("ablation", "228.9231", ["0.3400", "0.2785", "0.2198"]),
    ("roundtrip", "97.1", []),
    ("general", "43.37", ["80.04", "53.36", "86.2"]),
]


@pytest.mark.parametrize(("name", "number", "bold"), PRINTED, ids=[name for name, *_ in PRINTED])
def test_printed_tables_say_what_the_papers_print(name, number, bold):
    table = paper_table(name, read(name), is_published=True)
    assert number in [word for row in cells(table) for word in row]
    assert table.title.endswith(", as published")
    rows = [row for row in cells(table) for word in bold if word in row]
    assert len(rows) >= len(bold) and (name == "ranking" or {*bold} <= {*best(table)})


def test_every_published_table_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_ROOT", str(tmp_path))
    found = dict(tables("all", is_published=True))
    assert {"portability", "roundtrip", "metric_gap", "sides", "ranking", "ablation", "tokens"} <= set(found)
    for name, paths in found.items():
        assert [path.name for path in paths] == [f"table_{name}.{form}" for form in FORMS]
    before = {path: path.read_bytes() for paths in found.values() for path in paths}
    assert {
        path: path.read_bytes() for paths in dict(tables("all", is_published=True)).values() for path in paths
    } == before


def test_percent_have_the_papers_decimals():
    table = paper_table("portability", study("portability", is_published=True), is_published=True)
    row = next(row for row in cells(table) if row[0] == "Ministral 3-8B" and "fine-tuned" in row and "plan" in row)
    assert {"64.5", "64.2", "65.2", "63.5", "97.3", "1,534"} <= set(row)


def test_a_study_without_a_layout_is_written_with_all_columns(tmp_path):
    frame = pl.DataFrame({"run": ["r"], "odd": ["<x>"], "share": [0.123456], "n": [1234], "list": [[1]]})
    table = paper_table("new_study", frame)
    assert table.heads == ["odd", "share", "n"] and cells(table) == [["<x>", "0.123", "1,234"]]
    assert [path.suffix for path in save_table(table, tmp_path)] == [".tex", ".md", ".html"]


def test_layouts_name_columns_that_there_are():
    from workbench.published import PRINTED as printed
    from workbench.result_columns import TABLES

    assert set(PREPARED) <= set(_layouts()) and set(SOURCES) <= set(_layouts())
    for name, layout in _layouts().items():
        source = SOURCES.get(name, name)
        stored = STUDIES[source].table if source in STUDIES else source
        there = {*TABLES.get(stored, ()), *printed.get(name, ()), "source"}
        there |= {"value", "rank", "metric"} if name == "ranking" else set()
        there |= {"sqlite", "postgres", "mysql", "clickhouse", "duckdb"} if name == "roundtrip" else set()
        there |= {*made.ERROR_TYPES, "schema_linking"} if name == "error_types" else set()
        unknown = [column.field for column in layout.columns if column.field not in there]
        assert unknown == [] or name == "error_categories", (name, unknown)


def test_unknown_and_empty_tables_are_refused():
    with pytest.raises(ConfigError, match="there is no table 'pie'"):
        list(tables("pie", is_published=True))
    with pytest.raises(ResultsError, match="empty"):
        paper_table("structure", made.structure().clear())
    assert table_names(["structure", "features"], is_published=False) == ["ranking", "structure", "features"]
