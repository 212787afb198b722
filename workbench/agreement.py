"""DF-Match against BIRD's execution accuracy: how often they agree, and whose side people take where they do not.

In: stored scores, stored annotations, stored round trips. Out: the tables `agreement`, `sides` and `annotators` (plans
paper, table 3), and `metric_gap` (table 4); columns are described in result_columns.py. Shares are fractions of 1, those of
round trips percent, as in `fidelity`. Reads only what is stored.
"""

from itertools import combinations

import polars as pl

from workbench import published
from workbench.disagreements import EVERYBODY, FLAGS, VERDICTS, disagreements, stored_annotations
from workbench.errors import ResultsError
from workbench.metrics import wilson_interval
from workbench.portability import PAPER_ENGINES
from workbench.rates import kappa, mcnemar
from workbench.results import Run, dtypes

METRICS = ("df_match", "bird_ex")
_MODEL = ["model", "params_b", "is_simulated", "target", "dialect"]


def agreement(scores: pl.DataFrame) -> pl.DataFrame:
    """Both verdicts on the same pairs: a row for each model, target, dialect and engine, for each engine, and for all.

    Pairs without one of the verdicts (no engine, a gold that fails) are in not_judged. A failed prediction is wrong under
    both and so counts as agreement; failed says how many there are. kappa is null where every pair has the same verdicts.
    ResultsError where no pair has both.
    """
    if scores.select(pl.all_horizontal(pl.col(METRICS).is_not_null()).any()).item() is not True:
        raise ResultsError("no pair has both verdicts", where="agreement", hint="workbench score first")
    first, second = map(pl.col, METRICS)
    counts = {
        "n": (first.is_not_null() & second.is_not_null()).sum(),
        "both_right": (first & second).sum(),
        "only_df_match": (first & ~second).sum(),
        "only_bird_ex": (~first & second).sum(),
        "both_wrong": (~first & ~second).sum(),
        "failed": (pl.col("outcome") == "prediction_failed").sum(),
        "not_judged": (first.is_null() | second.is_null()).sum(),
    }
    shown = pl.col("run", "benchmark").first()
    simulated = pl.col("is_simulated").any()
    parts = [
        scores.group_by(*_MODEL, "engine").agg(shown, **counts).with_columns(scope=pl.lit("model")),
        scores.group_by("engine").agg(shown, simulated, **counts).with_columns(scope=pl.lit("engine")),
        scores.select(shown, simulated, **counts).with_columns(scope=pl.lit("run")),
    ]
    parts = [part.sort([name for name in (*_MODEL, "engine") if name in part.columns]) for part in parts]
    rows = pl.concat(parts, how="diagonal").to_dicts()
    for row in rows:
        if row["n"]:
            both, df, bird, none = (row[name] for name in ("both_right", "only_df_match", "only_bird_ex", "both_wrong"))
            found = kappa([[both, df], [bird, none]])
            row |= {"same": found.same, "kappa": found.kappa, "kappa_low": found.low, "kappa_high": found.high}
            row["same_low"], row["same_high"] = wilson_interval(both + none, row["n"])
    return _shaped("agreement", rows)


def sides(run: Run) -> pl.DataFrame:
    """Whose side each annotator takes, and all together, with flagged pairs left out and kept.

    A person who calls a prediction correct sides with the metric that accepts it, one who calls it incorrect with the one
    that refuses it; "unsure" takes no side. Together a pair counts once, and not if its annotators contradict each other.
    n: pairs with a side. Tests: McNemar's on the two counts; effect_size: (df_match - bird_ex) / n, the paper's 0.92.
    ResultsError where nothing is annotated.
    """
    stored = _annotations(run)
    known = disagreements(run).select("pair", "df_match")
    rows = []
    names = sorted(stored["annotator"].unique())
    for name in [*names, *([EVERYBODY] if len(names) > 1 else [])]:
        given = stored if name == EVERYBODY else stored.filter(annotator=name)
        pairs = given.group_by("pair", maintain_order=True).agg(
            pl.col("verdict").first(), *(pl.col(flag).any() for flag in FLAGS), several=pl.col("verdict").n_unique() > 1
        )
        current = pairs.join(known, on="pair", maintain_order="left")
        is_flagged, is_unsure = pl.any_horizontal(FLAGS), pl.col("verdict") == "unsure"
        about = {"annotator": name, "annotated": pairs.height, "gone": pairs.height - current.height}
        about |= current.select(
            *(pl.col(flag).sum() for flag in FLAGS),
            unsure=(is_unsure & ~pl.col("several")).sum(),
            contradicted=pl.col("several").sum(),
        ).row(0, named=True)
        for flagged in ("left out", "kept"):
            left = current.filter(~is_unsure & ~pl.col("several") & ((flagged == "kept") | ~is_flagged))
            with_first = left.select(((pl.col("verdict") == "correct") == pl.col("df_match")).sum()).item()
            rows.append(about | {"flagged": flagged} | _sided(with_first, left.height - with_first))
    return _shaped("sides", rows, run)


def annotators(run: Run) -> pl.DataFrame:
    """Of each two annotators: the pairs that both judged, and how far they agree on the three verdicts (Cohen's kappa).

    ResultsError where no two judged the same pair.
    """
    stored = _annotations(run)
    rows = []
    for one, other in combinations(sorted(stored["annotator"].unique()), 2):
        both = stored.filter(annotator=one).join(stored.filter(annotator=other), on="pair", suffix="_other")
        if both.is_empty():
            continue
        counts = [[both.filter(verdict=a, verdict_other=b).height for b in VERDICTS] for a in VERDICTS]
        found = kappa(counts)
        about = {"n": found.n, "same": found.same, "kappa": found.kappa, "kappa_low": found.low}
        rows.append({"annotator": one, "other": other, "kappa_high": found.high} | about)
    if not rows:
        raise ResultsError("no pair was judged by two annotators", where=run.path)
    return _shaped("annotators", rows, run)


def metric_gap(rows: pl.DataFrame) -> pl.DataFrame:
    """Fidelity of round trips under both metrics, per method and engine, in percent, and their gap in points.

    golds: "all", or "one answer" without those to which SQLite itself has several answers. n: golds that were run; a
    refusal, an error and a gold that fails are wrong under both, as in `fidelity`. ResultsError for rows of a version that
    did not judge by both.
    """
    if not set(METRICS) <= set(rows.columns):
        hint = "give `workbench plan roundtrip` again"
        raise ResultsError("round trips without the verdicts of both metrics", where="metric_gap", hint=hint)
    judged = rows.filter(pl.col("outcome") != "not_judged")
    parts = []
    for golds, part in (("all", judged), ("one answer", judged.filter(pl.col("ambiguous").is_null()))):
        first, second = (pl.col(name).fill_null(False) for name in METRICS)
        table = part.group_by("method", "engine", maintain_order=True).agg(
            pl.lit(golds).alias("golds"),
            n=pl.len(),
            run=pl.col("run").first(),
            df_match=(100 * first.mean()).round(2),
            bird_ex=(100 * second.mean()).round(2),
            only_df_match=(first & ~second).sum(),
            only_bird_ex=(second & ~first).sum(),
        )
        parts.append(table.with_columns(gap=(pl.col("df_match") - pl.col("bird_ex")).round(2)))
    return _shaped("metric_gap", pl.concat(parts).to_dicts())


def published_sides() -> pl.DataFrame:
    """Table 3 of the plans paper, with the tests that its counts give."""
    sided = dict(published.read("sides").select("metric", "sided").rows())
    about = {"annotator": "the paper's", "flagged": "left out", "annotated": sum(sided.values())}
    return _shaped("sides", [about | _sided(*(sided[metric] for metric in METRICS))])


def published_gap() -> pl.DataFrame:
    """Table 4 of the plans paper."""
    printed = published.read("roundtrip").filter(pl.col("source").str.ends_with("table 4"))
    rows = [
        {"method": "plan", "engine": engine} | dict(printed.select("metric", engine).rows()) for engine in PAPER_ENGINES
    ]
    return _shaped("metric_gap", rows)


def _sided(with_first: int, with_second: int) -> dict[str, object]:
    row: dict[str, object] = {"n": with_first + with_second, "df_match": with_first, "bird_ex": with_second}
    if not row["n"]:
        return row
    test = mcnemar(with_first, with_second)
    low, high = wilson_interval(with_first, row["n"])
    row |= {"share": with_first / row["n"], "low": low, "high": high}
    row |= {"statistic": test.statistic, "p_corrected": test.p_corrected, "p_exact": test.p_exact}
    return row | {"effect_size": (with_first - with_second) / row["n"]}


def _annotations(run: Run) -> pl.DataFrame:
    stored = stored_annotations(run)
    if stored.is_empty():
        raise ResultsError("has no annotations yet", where=run.path, hint="make some in notebooks/annotate.ipynb")
    return stored


def _shaped(table: str, rows: list[dict], run: Run | None = None) -> pl.DataFrame:
    named = {"run": run.name} if run is not None else {}
    return pl.DataFrame([row | named for row in rows], schema=dtypes(table))
