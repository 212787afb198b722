"""How well the rules read questions: the hand labels beside what `question_rules` says of the same questions.

In: benchmarks as downloaded, whose texts the labels' keys find; the bundled one is always there. Out: three tables, by half
of the labels and with the bundled benchmark apart, since its questions were written for this package: balanced accuracy of
each axis, shares of the classes, and every miss.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from workbench.benchmarks import read_benchmark
from workbench.errors import ConfigError, ResultsError
from workbench.labels import HALVES, question_classes, question_key
from workbench.metrics import wilson_interval
from workbench.question_class import AXES, QuestionClass
from workbench.question_rules import classify_by_rules
from workbench.rates import balanced_accuracy

GROUPS = ("bundled", "downloaded", "all")
CLASSES = ("not_ordered", "ordered_fixed", "ordered_not_fixed")


def classifier(benchmarks: Iterable[str | Path] = (), half: str | None = None) -> dict[str, pl.DataFrame]:
    """Tables by name: accuracy, shares, misses. half: only that one of the labels; "held" is for measuring, not for looking at.

    Labels whose question is in none of the benchmarks are left out, and counted as `absent`.
    """
    labelled = labelled_questions(benchmarks, half)
    return {"accuracy": accuracy(labelled), "shares": shares(labelled), "misses": misses(labelled)}


def labelled_questions(benchmarks: Iterable[str | Path] = (), half: str | None = None) -> pl.DataFrame:
    """The hand labels with their question and what the rules say of it: rules_is_ordered, rules_is_row_count_fixed.

    question is null where no benchmark holds it. group: bundled | downloaded.
    """
    if half not in (None, *HALVES):
        raise ConfigError(f"there is no half {half!r}", hint=f"available: {', '.join(HALVES)}")
    labels = question_classes()
    labels = labels if half is None else labels.filter(half=half)
    wanted = set(labels["key"])
    texts = {key: text for key, text in _texts(benchmarks) if key in wanted}
    said = {key: classify_by_rules(text) for key, text in texts.items()}
    columns = {
        "question": pl.Series([texts.get(key) for key in labels["key"]], dtype=pl.String),
        **{
            f"rules_{axis}": pl.Series(
                [said[key][place] if key in said else None for key in labels["key"]], dtype=pl.Boolean
            )
            for place, axis in enumerate(AXES)
        },
    }
    is_bundled = pl.col("benchmark").str.starts_with("bundled")
    group = pl.when(is_bundled).then(pl.lit("bundled")).otherwise(pl.lit("downloaded"))
    return labels.with_columns(**columns, group=group)


def _texts(benchmarks: Iterable[str | Path]) -> Iterator[tuple[str, str]]:
    read = [read_benchmark("bundled"), read_benchmark("bundled", split="train"), *map(read_benchmark, benchmarks)]
    for benchmark in read:
        for db_id, question, gold in benchmark.questions.select("db_id", "question", "gold_sql").iter_rows():
            yield question_key(db_id, question, gold or ""), question


def accuracy(labelled: pl.DataFrame) -> pl.DataFrame:
    """A row for each half, group and axis: the confusion counts, and recall of either answer with Wilson's 95 % interval.

    balanced: their mean; low, high: Newcombe's, from Wilson's two; cluster_low, cluster_high: bootstrap over databases.
    All in percent.
    """
    rows = []
    for half, group, part in _parts(labelled):
        present = part.drop_nulls("question")
        for axis in AXES if present.height else ():
            truth, said = present[axis].to_list(), present[f"rules_{axis}"].to_list()
            pairs = list(zip(truth, said, strict=True))
            counts = [pairs.count(pair) for pair in ((True, True), (True, False), (False, False), (False, True))]
            yes, no = sum(counts[:2]), sum(counts[2:])
            if not yes or not no:
                raise ResultsError(f"only one answer to {axis}", where=f"{half}, {group}", hint="name more benchmarks")
            found = balanced_accuracy(truth, said, present["db_id"].to_list())
            numbers = {
                "balanced": found.share,
                "low": found.low,
                "high": found.high,
                "cluster_low": found.cluster_low,
                "cluster_high": found.cluster_high,
                "yes_recall": counts[0] / yes,
                **dict(zip(("yes_low", "yes_high"), wilson_interval(counts[0], yes), strict=True)),
                "no_recall": counts[2] / no,
                **dict(zip(("no_low", "no_high"), wilson_interval(counts[2], no), strict=True)),
            }
            rows.append(
                {"half": half, "group": group, "axis": axis, "n": len(pairs), "absent": part.height - present.height}
                | dict(zip(("yes_as_yes", "yes_as_no", "no_as_no", "no_as_yes"), counts, strict=True))
                | {name: None if value is None else round(100 * value, 1) for name, value in numbers.items()}
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def shares(labelled: pl.DataFrame) -> pl.DataFrame:
    """How many questions the labels and the rules put into each class, and in percent."""
    rows = []
    for half, group, part in _parts(labelled.drop_nulls("question")):
        for source, prefix in (("hand", ""), ("rules", "rules_")):
            axes = part.select(f"{prefix}{axis}" for axis in AXES).iter_rows()
            names = [QuestionClass(*pair, source).name for pair in axes]
            for name in CLASSES:
                n = names.count(name)
                rows.append(
                    {"half": half, "group": group, "source": source, "question_class": name, "n": n}
                    | {"percent": round(100 * n / len(names), 1)}
                )
    return pl.DataFrame(rows)


def misses(labelled: pl.DataFrame) -> pl.DataFrame:
    """Every question and axis where the rules differ from the label, with the labeller's note."""
    columns = ("half", "group", "benchmark", "db_id")
    found = [
        labelled.filter(pl.col(axis) != pl.col(f"rules_{axis}")).select(
            *columns, axis=pl.lit(axis), hand=axis, rules=f"rules_{axis}", key="key", question="question", note="note"
        )
        for axis in AXES
    ]
    return pl.concat(found).sort(*columns, "axis", "key")


def _parts(labelled: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    for half in HALVES:
        for group in GROUPS:
            part = labelled.filter(pl.col("half") == half, (pl.col("group") == group) | (group == "all"))
            if part.height:
                yield half, group, part
