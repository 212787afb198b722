"""Figures read back from their drawn artists: the numbers on paper are the table's, the words say what they must and don't collide."""

import itertools
import os
import subprocess
import sys

import polars as pl
import pytest
from figure_checks import assert_words_are_clear, legend_labels, marked, spans, words
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from workbench import captions, marks
from workbench import published as papers
from workbench.draw_portability import portability, portability_numbers
from workbench.errors import ResultsError
from workbench.house import REGIMES, SERIES, house, save_figure
from workbench.portability import ENGINES, SCHEMA


@pytest.fixture(scope="module")
def published() -> pl.DataFrame:
    return papers.portability()


def study(*models: dict) -> pl.DataFrame:
    """A portability table; what a model does not say is as here."""
    usual = {
        "run": "r",
        "benchmark": "bundled",
        "weights": "open",
        "regime": "prompted",
        "is_simulated": False,
        "target": "sql",
        "mode": "native",
        "metric": "bird_ex",
        "engines": "sqlite, postgres",
        "n": 30,
        "not_judged": 0,
        "portability": 0.8,
    }
    rows = [dict.fromkeys(SCHEMA) | usual | {"model": f"m{i}"} | model for i, model in enumerate(models)]
    return pl.DataFrame(rows, schema=SCHEMA)


PLAN = {"target": "plan", "mode": "compiled"}
BARS = {"portability_low": 0.7, "portability_high": 0.9, "interval": "95 % bootstrap"}
SIMULATED = [
    {"params_b": size, "is_simulated": True, "model": f"sim-{size}b", "portability": 0.7 + i / 40} | BARS
    for i, size in enumerate([1, 3, 7, 14, 32, 70, 120])
]
FRAMES = {  # odd tables that must give a whole picture
    "simulated": study(*SIMULATED, {"weights": "closed", "is_simulated": True, "model": "sim-frontier"}),
    "one open": study({"params_b": 7}),
    "one closed": study({"weights": "closed"}),
    "one plan": study({"params_b": 7} | PLAN),
    "nothing drawable": study({"params_b": 7, "portability": None, "reason": "not judged on postgres"}),
    "an open one without size": study({"params_b": 7}, {"model": "sizeless"}),
    "only an open one without size": study({"model": "sizeless"}),
    "unknown weights": study({"weights": None}, {"weights": None, "params_b": 7.0}),
    "all on one spot": study(*({"params_b": 8, "regime": regime} | BARS for regime in REGIMES), {"params_b": 8} | PLAN),
    "all regimes": study(*({"params_b": 3**i, "regime": regime} for i, regime in enumerate(REGIMES))),
    "as written": study({"params_b": 1, "mode": "as-written"}, {"params_b": 1} | PLAN),
    "hostile names": study({"params_b": 1, "model": "$\\frac{x^{2$"}, {"weights": "closed", "model": "a\nb $_$" * 9}),
    "thirty closed": study(*({"weights": "closed", "model": f"a closed model, number {i}"} for i in range(30))),
    "same short name": study(*({"weights": "closed", "model": "x" * 30 + str(i)} for i in range(2))),
    "two engine sets": study({"params_b": 1}, {"params_b": 2, "engines": "sqlite, mysql", "n": 12}),
    "zero": study({"params_b": 1, "portability": 0.0, "portability_low": 0.0, "portability_high": 0.0}),
    "nonsense size": study({"params_b": 0, "weights": None}, {"params_b": float("nan"), "weights": None}),
}


def expected(numbers: pl.DataFrame) -> list[tuple]:
    rows = [row for row in numbers.to_dicts() if row["panel"]]
    names = list(dict.fromkeys(row["model"] for row in rows if row["panel"] == "closed"))
    place = {"open": lambda row: row["params_b"], "closed": lambda row: names.index(row["model"])}
    keys = ("panel", "model", "target", "mode")
    return sorted((*(row[key] for key in keys), float(place[row["panel"]](row)), row["portability"]) for row in rows)


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("benchmark", ["bird-dev", "spider-dev"])
def test_published_figures(published, benchmark, width):
    figure = portability(published, benchmark, width)
    assert len(marked(figure)) == 34
    assert marked(figure) == expected(figure.numbers)
    assert figure.axes[0].get_xscale() == "log"
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == [
        "Claude Sonnet 4.6",
        "GPT 5.5",
        "Gemini 3.1 Pro",
    ]
    assert_words_are_clear(figure)
    text = words(figure)
    for said in (
        "as published",
        "DF-Match over SQLite, PostgreSQL, MySQL, ClickHouse.",
        f"n = {papers.N_QUESTIONS[benchmark]:,} questions",
        "assumed where the name does not say",
        "From: plans paper, table 2.",
        "hulls of prompted models",
    ):
        assert said in text
    assert "SIMULATED" not in text
    assert legend_labels(figure) == ["Query plan", "SQL, asked per dialect", "prompted", "fine-tuned", "purpose-built"]


def test_a_page_names_every_open_model(published):
    figure = portability(published, "bird-dev", "page")
    opened = figure.numbers.filter(pl.col("panel") == "open").select("model", "regime").unique()
    names = [text.get_text() for text in figure.axes[0].texts if text.get_text()]
    assert sorted(names) == sorted(opened["model"])  # once per regime: Ministral 3-8B twice
    assert len(names) == 15


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("name", FRAMES)
def test_odd_tables(name, width):
    figure = portability(FRAMES[name], width=width)
    assert marked(figure) == expected(figure.numbers)
    assert_words_are_clear(figure)
    for row in figure.numbers.filter(pl.col("panel").is_null()).to_dicts():
        assert "Not drawn" in words(figure) and captions.name_of(row) in words(figure)


SAID = [
    (
        "simulated",
        "SIMULATED predictions: portability on the bundled benchmark",
        "SQLite, PostgreSQL. n = 30",
        "All pro",
    ),
    (
        "nothing drawable",
        "Not drawn: m0 (not judged on postgres).",
    ),
    (
        "an open one without size",
        "Not drawn: sizeless (open weights without a stated size).",
    ),
    ("two engine sets", "over SQLite, MySQL.", "over SQLite, PostgreSQL.", "n = 12 to 30"),
    (
        "all on one spot",
        "Bars: 95 % bootstrap.",
    ),
]


@pytest.mark.parametrize(("name", "said"), [(s[0], s[1:]) for s in SAID], ids=[s[0] for s in SAID])
def test_words(name, said):
    text = words(portability(FRAMES[name]))
    assert all(part in text for part in said), text


def test_a_mixed_table_names_the_simulated_models():
    text = words(portability(study({"params_b": 1, "is_simulated": True}, {"params_b": 2})))
    assert text.startswith("Partly SIMULATED: portability")
    assert "Simulated: m0." in text


def test_intervals_are_drawn_from_low_to_high():
    figure = portability(FRAMES["simulated"])
    assert spans(figure) == [(0.7, 0.9)] * len(SIMULATED)


def test_clouds_surround_three_or_more_models_of_one_regime():
    figure = portability(FRAMES["simulated"])
    (cloud,) = figure.axes[0].patches
    assert not figure.axes[1].patches
    outline = cloud.get_transform().transform_path(cloud.get_path())  # on paper: its edges are straight there
    places = figure.axes[0].transData.transform([(row["params_b"], row["portability"]) for row in SIMULATED])
    assert all(outline.contains_points(places))
    assert cloud.get_xy()[:, 1].max() <= 1


def test_marks_on_one_spot_are_moved_apart():
    figure = portability(FRAMES["all on one spot"])
    lines = [line for line in figure.axes[0].lines if line.get_gid()]
    places = [line.get_transform().transform(line.get_xydata())[0] * 72 / figure.dpi for line in lines]
    assert all(abs(a - b).max() >= marks.HIDES for a, b in itertools.combinations(places, 2))


def test_series_differ_by_marker_and_in_grey():
    with house():
        grey = [sum(w * c for w, c in zip((0.3, 0.59, 0.11), to_rgb(s.colour), strict=True)) for s in SERIES.values()]
    assert len({series.marker for series in SERIES.values()}) == len(SERIES)
    assert min(abs(a - b) for a, b in itertools.combinations(grey, 2)) > 0.08


BROKEN = [
    ("empty", study({"params_b": 1}).clear(), {}, "the table is empty"),
    ("no portability column", study({"params_b": 1}).drop("portability"), {}, "no column portability"),
    ("two benchmarks", study({"params_b": 1}, {"benchmark": "bird-dev"}), {}, "several benchmarks and none chosen"),
    ("unknown benchmark", study({"params_b": 1}), {"benchmark": "x"}, "no rows of x"),
    ("unknown mode", study({"params_b": 1, "mode": "dreamt"}), {}, "dreamt"),
    ("unknown width", study({"params_b": 1}), {"width": "poster"}, "available: column, page"),
]


@pytest.mark.parametrize(("frame", "options", "said"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_tables_raise(frame, options, said):
    with pytest.raises(ResultsError, match=said):
        portability(frame, **options)


PANELS = [
    ("open with size", {"params_b": 7}, "open"),
    ("open without size", {}, None),
    ("closed", {"weights": "closed"}, "closed"),
    ("closed with size", {"weights": "closed", "params_b": 7}, "closed"),
    ("nothing known", {"weights": None}, "closed"),
    ("only the size known", {"weights": None, "params_b": 7}, "open"),
    ("no portability", {"params_b": 7, "portability": None}, None),
]


@pytest.mark.parametrize(("model", "panel"), [p[1:] for p in PANELS], ids=[p[0] for p in PANELS])
def test_panels(model, panel):
    assert portability_numbers(study(model))["panel"].to_list() == [panel]


def test_saved_files(tmp_path):
    figure = portability(FRAMES["simulated"])
    paths = save_figure(figure, figure.numbers, tmp_path / "deep", "portability_bundled")
    assert [path.name for path in paths] == [f"portability_bundled.{kind}" for kind in ("pdf", "png", "csv")]
    assert sorted((tmp_path / "deep").iterdir()) == sorted(paths)
    pdf, png, csv = (path.read_bytes() for path in paths)
    assert pdf.startswith(b"%PDF") and b"CreationDate" not in pdf and b"/Type3" not in pdf
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == pytest.approx(3.4 * 300, abs=1)
    assert pl.read_csv(csv, schema_overrides=figure.numbers.schema).equals(figure.numbers)
    again = save_figure(portability(FRAMES["simulated"]), figure.numbers, tmp_path / "again", "portability_bundled")
    assert [path.read_bytes() for path in again] == [pdf, png, csv]


def test_same_bytes_from_another_process(tmp_path, published):
    figure = portability(published, "bird-dev")
    paths = save_figure(figure, figure.numbers, tmp_path / "here", "f")
    code = (
        "import sys; from workbench import published; from workbench.draw_portability import portability; from workbench.house import save_figure\n"
        "f = portability(published.portability(), 'bird-dev'); save_figure(f, f.numbers, sys.argv[1], 'f')"
    )
    hostile = {"PYTHONHASHSEED": "7", "MPLBACKEND": "qtagg", "MPLCONFIGDIR": str(tmp_path / "mpl")}
    (tmp_path / "mpl").mkdir()
    (tmp_path / "mpl" / "matplotlibrc").write_text("axes.facecolor: red\nfont.size: 20\n")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=os.environ | hostile)
    for path in paths:
        assert (tmp_path / "there" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_failed_save_leaves_nothing_and_keeps_the_old_file(tmp_path):
    figure = portability(FRAMES["one open"])
    (tmp_path / "f.pdf").write_text("old")
    figure.axes[0].text(1, 0.9, "$\\nonsense{$", parse_math=True)
    with pytest.raises(ValueError, match="nonsense"):
        save_figure(figure, figure.numbers, tmp_path, "f")
    assert [path.name for path in tmp_path.iterdir()] == ["f.pdf"]
    assert (tmp_path / "f.pdf").read_text() == "old"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "/a"])
def test_a_name_with_a_folder_is_refused(tmp_path, name):
    with pytest.raises(ResultsError, match="plain file name"):
        save_figure(portability(FRAMES["one open"]), FRAMES["one open"], tmp_path, name)


def test_nothing_global_changes_and_no_pyplot_is_needed():
    code = """
import sys, matplotlib
from workbench import published
from workbench.draw_portability import portability
state = lambda: {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}  # reading it loads pyplot
before = state()
assert portability(published.portability(), "bird-dev")._repr_png_().startswith(b"\\x89PNG")
assert state() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_series_engine_and_regime_has_words():
    assert set(captions.ENGINES) == set(ENGINES)
    assert set(REGIMES.values()) <= set(Line2D.fillStyles)


LINES = [
    ("fits", "a b", 9, ["a b"]),
    ("breaks", "aaaa bbbb", 0.4, ["aaaa", "bbbb"]),
    ("a long word stands alone", "a " + "b" * 99, 0.5, ["a", "b" * 99]),
    ("nothing", "", 1, []),
]


@pytest.mark.parametrize(("text", "width", "lines"), [x[1:] for x in LINES], ids=[x[0] for x in LINES])
def test_wrap(text, width, lines):
    assert marks.wrap(text, width, 6) == lines
