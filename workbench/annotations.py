"""A person judges, blind, pairs on which DF-Match and BIRD's rule disagree; each verdict is stored as it is given.

In: a scored run. Out: the table `annotations`, one part an annotator. Plans paper, appendix F: the annotator sees the
question, the gold and the prediction with both results, and says correct, unsure or incorrect, with flags and a note; never
which metric said what, which model wrote it, nor whether as SQL or as a plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from workbench import show_pair
from workbench.disagreements import EVERYBODY, FLAGS, TABLE, VERDICTS, disagreements, read_annotations
from workbench.errors import ResultsError
from workbench.portability import HOME
from workbench.results import Run, content_hash, dtypes, part_name

PAPER_SIZE = 103  # plans paper, table 3


@dataclass(frozen=True)
class Session:
    """One annotator's way through a sample; in a notebook it shows the first pair that is not judged yet.

    pairs: the sample in its order, columns of `disagreements` without the verdicts. What was judged is read from the run each time.
    """

    run: Run
    annotator: str
    pairs: pl.DataFrame

    def judged(self) -> set[str]:
        return set(_own(self.run, self.annotator)["pair"]) & set(self.pairs["pair"])

    def _shown(self) -> show_pair.Shown:
        judged = self.judged()
        rest = self.pairs.filter(~pl.col("pair").is_in(judged))
        progress = f"{len(judged)} of {self.pairs.height} judged by {self.annotator}"
        if rest.is_empty():
            return show_pair.message(f"{progress}: all. Next: workbench study agreement --run {self.run.name}")
        return show_pair.shown_pair(self.run, rest.row(0, named=True), progress)

    def __repr__(self) -> str:
        return self._shown().text

    def _repr_html_(self) -> str:
        return self._shown().html


def annotation_session(
    run: Run | str | Path, annotator: str, size: int | None = PAPER_SIZE, seed: int = 0, engine: str = HOME
) -> Session:
    """Begin to annotate, or go on. The sample is the same for all annotators of a seed, so that they can be compared.

    size: pairs in the sample, None for all. engine: whose verdicts are looked at; on SQLite, which everything can be
    written for, nothing tells a model's dialects apart. ResultsError: no scores, no disagreements, a name that is none.
    """
    run = Run.open(run)
    if not annotator.strip() or not annotator.isprintable() or len(annotator) > 100 or annotator == EVERYBODY:
        raise ResultsError(f"{annotator!a:.120} cannot be an annotator's name", hint="e.g. your initials")
    if size is not None and size < 1:
        raise ResultsError(f"a sample of {size} pairs", where=run.path, hint="1 or more, None for all")
    every = disagreements(run)
    found = every.filter(engine=engine)
    if found.is_empty():
        there = ", ".join(sorted(every["engine"].unique())) or "no engine"
        raise ResultsError(f"has no disagreements on {engine}", where=run.path, hint=f"there are some on: {there}")
    drawn = [content_hash(seed, pair) for pair in found["pair"]]
    pairs = found.with_columns(drawn=pl.Series(drawn)).sort("drawn").drop("drawn", "df_match", "bird_ex")
    return Session(run, annotator, pairs if size is None else pairs.head(size))


def annotate(
    session: Session,
    pair: str | None = None,
    verdict: str | None = None,
    flag: str | Sequence[str] = (),
    note: str = "",
) -> Session:
    """Store a verdict on a pair at once, in place of the annotator's last one on it; the session then shows the next.

    pair: the id that is shown with it, so that a cell that runs twice says the same again. verdict: one of VERDICTS.
    flag: of FLAGS, one or several, each with a note. Without pair and verdict nothing is stored. ResultsError for words
    that are none of these, and while another process writes the run.
    """
    if pair is None and verdict is None:
        return session
    flags = [flag] if isinstance(flag, str) else list(flag)
    row = next(session.pairs.filter(pair=pair or "").iter_rows(named=True), None)
    if row is None:
        raise ResultsError(f"there is no pair {pair!a:.60} in the sample", hint="the id stands above the question")
    if verdict not in VERDICTS:
        raise ResultsError(f"{verdict!a:.60} is no verdict", where=pair, hint=f"one of: {', '.join(VERDICTS)}")
    for each in flags:
        if each not in FLAGS:
            raise ResultsError(f"{each!a:.60} is no flag", where=pair, hint=f"of: {', '.join(FLAGS)}")
    if flags and not note.strip():
        raise ResultsError("a flag needs a note that says why", where=pair)
    made = {name: row[name] for name in ("pair", "engine", "question_id", "db_id")}
    made |= {"annotator": session.annotator, "verdict": verdict, "note": _storable(note)}
    made |= {each: each in flags for each in FLAGS} | {"annotated": datetime.now(UTC).isoformat(timespec="seconds")}
    run = session.run
    with run.locked():
        before = _own(run, session.annotator)
        kept = before.filter(pl.col("pair") != pair)
        after = pl.concat([kept, pl.DataFrame([made | {"run": run.name}], schema=dtypes(TABLE))])
        run.write_part(TABLE, _part(session.annotator), after)
    return session


def _own(run: Run, annotator: str) -> pl.DataFrame:
    part = _part(annotator)
    return read_annotations(run, part) if part in run.parts(TABLE) else pl.DataFrame(schema=dtypes(TABLE))


def _part(annotator: str) -> str:
    return part_name("by", annotator)


def _storable(note: str) -> str:
    return note.encode("utf-8", "backslashreplace").decode()
