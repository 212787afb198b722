"""The papers' figures: the transcriptions are what is stored, and what they print hangs together."""

import polars as pl
import pytest

from workbench.errors import ResultsError
from workbench.hes_sql import pgr
from workbench.paths import published_dir
from workbench.portability import SCHEMA
from workbench.published import N_QUESTIONS, PAPERS, PRINTED, portability, read, write_published


def test_stored_tables_are_the_transcriptions(tmp_path):
    paths = write_published(folder=tmp_path)
    assert {path.stem for path in paths} == set(PRINTED) == {path.stem for path in PAPERS.glob("*.csv")}
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    for path in paths:
        assert path.read_bytes() == (published_dir() / path.name).read_bytes(), path.stem


def test_table_2_is_the_one_that_was_handed_out(shared):
    csv = shared / "reference" / "published_portability.csv"
    table = read("portability").drop("source")
    assert table.height == 68
    assert table.equals(pl.read_csv(csv, schema_overrides=table.schema))


@pytest.mark.parametrize("name", PRINTED)
def test_every_row_has_its_source_and_every_column_a_description(name):
    table = read(name)
    assert not table.is_empty() and table["source"].null_count() == 0
    described = (published_dir() / "README.md").read_text()
    assert f"`{name}.parquet`" in described
    assert [column for column in table.columns if column not in described] == []


@pytest.mark.parametrize("benchmark", ["bird", "spider", "kaggledbqa"])
def test_printed_pgr_is_the_reciprocal_of_equation_4_on_em(benchmark):
    """HES-SQL, table 3: what stands under PGR is 1 / PGR, and on exact match in place of execution accuracy."""
    table = read("ablation").filter(benchmark=benchmark)
    em = dict(table.select("model", "exact_set_match").rows())
    printed = dict(table.select("model", "pgr").drop_nulls().rows())
    assert len(printed) == 5
    for model, value in printed.items():
        recovered = pgr(em[model], em["Baseline"], em["HES-SQL"]).value
        assert 1 / recovered == pytest.approx(value, abs=6e-5), model


def test_printed_shares_and_gaps_are_those_of_their_parts():
    human = read("sides")
    assert human["sided"].sum() == 103
    assert (100 * human["sided"] / 103).round(1).to_list() == human["share"].to_list()
    engines = ["sqlite", "postgres", "mysql", "clickhouse"]
    ea, ours, gap = (
        read("roundtrip").filter(pl.col("source").str.ends_with("4"), metric=m) for m in ("bird_ex", "df_match", "gap")
    )
    for engine in engines:
        assert ours[engine][0] - ea[engine][0] == pytest.approx(gap[engine][0])


def test_fine_tuning_is_the_same_in_table_2():
    after = read("fine_tuning").select("target", "after").rows()
    tuned = read("portability").filter(regime="fine-tuned", benchmark="bird-dev")
    assert sorted(after) == sorted(tuned.select("target", "sqlite").rows())
    before = read("portability").filter(regime="prompted", benchmark="bird-dev", model="Ministral 3-8B")
    assert sorted(read("fine_tuning").select("target", "before").rows()) == sorted(
        before.select("target", "sqlite").rows()
    )


def test_printed_portability_fits_the_printed_accuracies():
    """Interval arithmetic: every number is known to half a unit of its last printed digit."""
    engines = ["sqlite", "postgres", "mysql", "clickhouse"]
    half = 0.05 + 1e-9
    for row in read("portability").to_dicts():
        values = [row[engine] for engine in engines]
        low = 100 * (min(values) - half) / (max(values) + half)
        high = 100 * (min(values) + half) / (max(values) - half)
        assert low - half <= row["portability_printed"] <= high + half, row["model"]


def test_published_claims():
    table = portability().filter(pl.col("benchmark") == "bird-dev")
    sql, plan = (table.filter(pl.col("target") == target) for target in ("sql", "plan"))
    recomputed = pl.col("lower_bound") / pl.col("best")
    for rows, low, high in ((sql, 0.688, 0.868), (plan, 0.958, 0.991)):
        assert rows.select(recomputed.min()).item() == pytest.approx(low, abs=5.1e-4)
        assert rows.select(recomputed.max()).item() == pytest.approx(high, abs=5.1e-4)
    assert (sql["portability"].min(), sql["portability"].max()) == pytest.approx((0.687, 0.869))
    assert plan["portability"].min() == pytest.approx(0.959)
    assert (-sql["delta_worst"].max(), -sql["delta_worst"].min()) == pytest.approx((0.082, 0.170))
    assert -plan["delta_worst"].min() == pytest.approx(0.023)


def test_published_table_has_the_study_tables_shape():
    table = portability()
    assert table.select(SCHEMA.names()).schema == SCHEMA
    assert table["portability"].null_count() == 0
    assert set(table["n"]) == set(N_QUESTIONS.values())
    assert table.filter(pl.col("weights") == "closed")["params_b"].null_count() == 12
    assert set(table.select("target", "mode").unique().rows()) == {("sql", "native"), ("plan", "compiled")}


BROKEN = {
    "absent": (None, "no such file"),
    "other table": ("a,b\n1,2\n", "other columns"),
    "words for numbers": ("model,params_b\nx,many\n", "not a CSV|other columns"),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
def test_a_wrong_transcription_is_refused(tmp_path, text, words):
    for path in PAPERS.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    csv = tmp_path / "ranking.csv"
    csv.unlink() if text is None else csv.write_text(text)
    with pytest.raises(ResultsError, match=words):
        write_published(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
