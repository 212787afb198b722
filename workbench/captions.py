"""The words on figures and tables: names of metrics, engines and benchmarks, titles, and the notes below a picture.

In: rows of a study table as dicts, with `panel` null where a row could not be drawn. Out: one line of plain text each.
"""

from collections import Counter

CLOUD = 3  # models that make a cloud, which is shaded
METRICS = {"bird_ex": "BIRD execution accuracy", "df_match": "DF-Match"}
BENCHMARKS = {
    "bird-dev": "BIRD dev",
    "spider-dev": "Spider dev",
    "bird-minidev": "BIRD mini-dev",
    "kaggledbqa": "KaggleDBQA",
    "bundled": "the bundled benchmark",
}
ENGINES = {
    "sqlite": "SQLite",
    "postgres": "PostgreSQL",
    "mysql": "MySQL",
    "clickhouse": "ClickHouse",
    "duckdb": "DuckDB",
}


def name_of(row: dict) -> str:
    """A model's name on one line, cut to what fits beside a panel."""
    name = " ".join(row["model"].split())
    return name if len(name) <= 24 else name[:23] + "…"


def commonest_regime(rows: list[dict]) -> str | None:
    """The regime most rows have: clouds are drawn around its models only."""
    regimes = [row["regime"] for row in rows if row["regime"]]
    return max(sorted(set(regimes)), key=regimes.count, default=None)


def portability_title(rows: list[dict]) -> str:
    simulated = [bool(row["is_simulated"]) for row in rows]
    start = "SIMULATED predictions: p" if all(simulated) else "Partly SIMULATED: p" if any(simulated) else "P"
    benchmark = rows[0]["benchmark"]
    published = ", as published" if all(row.get("source") for row in rows) else ""
    return f"{start}ortability on {BENCHMARKS.get(benchmark, benchmark)}{published}"[:200]


def portability_notes(rows: list[dict]) -> str:
    """What a reader must know to read the numbers: metric, engines, n, bars, shades, what could not be drawn and why."""
    drawn = [row for row in rows if row["panel"]] or rows
    notes = []
    for metric, engines in sorted({(row["metric"], row["engines"]) for row in drawn}):
        words = ", ".join(ENGINES.get(name, name) for name in engines.split(", "))
        notes.append(f"{METRICS.get(metric, metric)} over {words or 'no engine of the set'}.")
    counts = sorted({row["n"] for row in drawn if row["n"] is not None})
    if counts:
        notes.append(
            f"n = {counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "") + " questions per engine."
        )
    lost = sum(row["not_judged"] or 0 for row in drawn)
    notes += [f"{lost} results without a verdict left out."] if lost else []
    notes += [f"Bars: {kind}." for kind in sorted({row["interval"] for row in drawn if row["interval"]})]
    common = commonest_regime(drawn)
    groups = Counter((row["panel"], row["target"], row["mode"]) for row in drawn if row["regime"] == common)
    if common and all(row["regime"] == common for row in drawn):
        notes.append(f"All {common}.")
    elif common and max(groups.values()) >= CLOUD:
        notes.append(f"Shades: hulls of {common} models.")
    for field, start in (("params_note", "Sizes: "), ("source", "From: ")):
        notes += [f"{start}{text}." for text in sorted({row.get(field) for row in drawn} - {None})]
    if any(row["is_simulated"] for row in drawn) and not all(row["is_simulated"] for row in drawn):
        notes.append(f"Simulated: {_list({name_of(row) for row in drawn if row['is_simulated']})}.")
    reasons: dict[str, set] = {}
    for row in rows:
        if not row["panel"]:
            reasons.setdefault(row["reason"] or "open weights without a stated size", set()).add(name_of(row))
    notes += [f"Not drawn: {_list(names)} ({reason})." for reason, names in sorted(reasons.items())]
    return " ".join(notes)


def _list(names: set[str], most: int = 8) -> str:
    names = sorted(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
