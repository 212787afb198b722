"""The words on figures and tables: names of metrics, engines and benchmarks, titles, and the notes below a picture.

In: rows of a study table as dicts, with `panel` null where a row could not be drawn. Out: one line of plain text each.
"""

from collections import Counter

DASH = "\N{EN DASH}"  # between the ends of an interval, and where there is no number
CLOUD = 3  # models that make a cloud, which is shaded
METRICS = {
    "bird_ex": "BIRD execution accuracy",
    "df_match": "DF-Match",
    "exact_set_match": "exact set match",
    "gap": "DF-Match minus BIRD",
}
BENCHMARKS = {
    "bird": "BIRD",
    "spider": "Spider",
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
CATEGORIES = {  # labels.CATEGORIES
    "schema_linking": "Schema linking",
    "filtering_logic": "Filtering / logic",
    "aggregation_grouping": "Aggregation / grouping",
    "ordering_ranking": "Ordering / ranking",
    "dialect_syntax": "Dialect syntax",
    "other": "Other",
}


def name_of(row: dict) -> str:
    """A model's name on one line, cut to what fits beside a panel."""
    name = " ".join(row["model"].split())
    return name if len(name) <= 24 else name[:23] + "…"


def commonest_regime(rows: list[dict]) -> str | None:
    """The regime most rows have: clouds are drawn around its models only."""
    regimes = [row["regime"] for row in rows if row["regime"]]
    return max(sorted(set(regimes)), key=regimes.count, default=None)


def title(rows: list[dict], what: str) -> str:
    """What is shown of which benchmark, simulated or published data said first and last. what begins in lower case."""
    simulated = [bool(row["is_simulated"]) for row in rows]
    start = "SIMULATED predictions: " if all(simulated) else "Partly SIMULATED: " if any(simulated) else ""
    benchmark = rows[0]["benchmark"]
    published = ", as published" if all(row.get("source") for row in rows) else ""
    words = f"{what} on {BENCHMARKS.get(benchmark, benchmark)}{published}"
    return (start + words if start else words[0].upper() + words[1:])[:200]


def simulated_note(rows: list[dict]) -> list[str]:
    """Which models are simulated, where some are and some are not."""
    names = {name_of(row) for row in rows if row["is_simulated"]}
    return [f"Simulated: {listed(names)}."] if names and not all(row["is_simulated"] for row in rows) else []


def counts(values: list[int]) -> str:
    """ "564" or "15 to 81"."""
    low, high = min(values), max(values)
    return f"{low:,}" + (f" to {high:,}" if high > low else "")


def portability_notes(rows: list[dict]) -> str:
    """What a reader must know to read the numbers: metric, engines, n, bars, shades, what could not be drawn and why."""
    drawn = [row for row in rows if row["panel"]] or rows
    notes = measured(drawn)
    common = commonest_regime(drawn)
    groups = Counter((row["panel"], row["target"], row["mode"]) for row in drawn if row["regime"] == common)
    if common and all(row["regime"] == common for row in drawn):
        notes.append(f"All {common}.")
    elif common and max(groups.values()) >= CLOUD:
        notes.append(f"Shades: hulls of {common} models.")
    return " ".join(notes + origins(drawn) + simulated_note(drawn) + not_drawn(rows))


def measured(drawn: list[dict]) -> list[str]:
    """Metric and engines, n, what bars are."""
    notes = []
    for metric, engines in sorted({(row["metric"], row["engines"]) for row in drawn}):
        words = ", ".join(ENGINES.get(name, name) for name in engines.split(", "))
        notes.append(f"{METRICS.get(metric, metric)} over {words or 'no engine of the set'}.")
    judged = [row["n"] for row in drawn if row["n"] is not None]
    notes += [f"n = {counts(judged)} questions per engine."] if judged else []
    lost = sum(row["not_judged"] or 0 for row in drawn)
    notes += [f"{lost} results without a verdict left out."] if lost else []
    return notes + [f"Bars: {kind}." for kind in sorted({row["interval"] for row in drawn if row["interval"]})]


def origins(drawn: list[dict]) -> list[str]:
    """Where sizes and numbers are from, where they are not measured."""
    said = [("Sizes: ", "params_note"), ("From: ", "source")]
    return [f"{start}{text}." for start, field in said for text in sorted({row.get(field) for row in drawn} - {None})]


def not_drawn(rows: list[dict]) -> list[str]:
    reasons: dict[str, set] = {}
    for row in rows:
        if not row["panel"]:
            reasons.setdefault(row["reason"] or "open weights without a stated size", set()).add(name_of(row))
    return [f"Not drawn: {listed(names)} ({reason})." for reason, names in sorted(reasons.items())]


def listed(names: set[str], most: int = 8) -> str:
    names = sorted(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
