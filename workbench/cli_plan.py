"""`workbench plan`: SQL to plans, plans to SQL, and looking at them.

A PLAN or SQL is the text itself, the name of a file that holds it, or - for standard input.
"""

import json
import re
import sys
from pathlib import Path

import click

from workbench.cli_options import (
    check_distinct,
    chosen_engines,
    databases_option,
    print_table,
    read_benchmark_or_warn,
)
from workbench.errors import ConfigError

schema_option = click.option(
    "--schema", required=True, metavar="PATH", help="An SQLite file, a tables.json, a benchmark folder, or `bundled`."
)
db_option = click.option("--db", metavar="NAME", help="Which database of it; not needed where there is one.")
dialect_option = click.option(
    "--dialect", default="sqlite", show_default=True, metavar="NAME", help="Whose SQL to write."
)


@click.group()
def plan() -> None:
    """Convert, show and check query plans."""


def _text(given: str) -> str:
    """What an argument stands for: standard input, a file's contents, or itself."""
    if given == "-":
        return sys.stdin.read()
    try:
        is_file = Path(given).is_file()
    except (OSError, ValueError):  # a text too long for a name, or with a NUL
        is_file = False
    if not is_file:
        if re.fullmatch(r"[^\s\[{]\S*(\.(json|sql|txt)|/\S+)", given):  # no text of a plan or a query looks so
            raise ConfigError("there is no such file", where=f"{given:.200}")
        return given
    try:
        return Path(given).read_text("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ConfigError("is not UTF-8 text", where=given) from fault


def _schema(path: str, db: str | None):
    from workbench.schema_source import SchemaSource

    return SchemaSource(path)(db)


def _plan(given: str, schema):
    """The plan that a text states: as compact JSON, as RelJson, or as SQL to convert."""
    from workbench.plan import Plan
    from workbench.sql_to_plan import sql_to_plan

    text = _text(given)
    if text.lstrip()[:1] not in ("[", "{"):
        return sql_to_plan(text, schema)
    is_reljson = text.lstrip().startswith("{") and '"relOp"' in text
    return Plan.from_reljson(text, schema) if is_reljson else Plan.from_json(text, schema)


@plan.command("from-sql")
@click.argument("sql")
@schema_option
@db_option
@click.option("--reljson", "is_reljson", is_flag=True, help="Write Apache Calcite's form instead of the compact one.")
def from_sql(sql: str, schema: str, db: str | None, is_reljson: bool) -> None:
    """Print the plan of a query that is written for SQLite, as JSON on one line."""
    from workbench.sql_to_plan import sql_to_plan

    made = sql_to_plan(_text(sql), _schema(schema, db))
    click.echo(made.to_reljson() if is_reljson else made.to_json())


@plan.command("to-sql")
@click.argument("plan", metavar="PLAN|SQL")
@schema_option
@db_option
@dialect_option
@click.option("--pretty", "is_pretty", is_flag=True, help="On several lines.")
def to_sql(plan: str, schema: str, db: str | None, dialect: str, is_pretty: bool) -> None:
    """Print a plan as an engine's SQL."""
    from workbench.plan_to_sql import plan_to_sql

    click.echo(plan_to_sql(_plan(plan, _schema(schema, db)), dialect, is_pretty))


@plan.command()
@click.argument("plan", metavar="PLAN|SQL")
@schema_option
@db_option
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Draw the tree into a file instead.")
@click.option(
    "--draw",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw JSON, tree and the SQL of four dialects, linked, into FILE.pdf, .png and .csv instead.",
)
def show(plan: str, schema: str, db: str | None, svg: Path | None, draw: Path | None) -> None:
    """Print a plan as an indented tree, the last operator first."""
    found = _plan(plan, _schema(schema, db))
    if draw is not None:
        from workbench.draw_plan import plan_figure
        from workbench.house import save_figure

        figure = plan_figure(found)
        for path in save_figure(
            figure, figure.numbers, draw.parent, draw.name.removesuffix(".pdf").removesuffix(".png")
        ):
            click.echo(path)
        return
    if svg is None:
        click.echo(found.to_text())
        return
    from workbench.results import write_whole

    write_whole(svg, found.to_svg().encode())
    click.echo(svg)


@plan.command()
@click.argument("plan")
@schema_option
@db_option
@click.option("--json", "is_json", is_flag=True, help="Print JSON, also of a fault.")
def check(plan: str, schema: str, db: str | None, is_json: bool) -> None:
    """Say which columns a plan gives, or what is wrong with it and where; a fault ends with exit code 2."""
    from workbench.errors import PlanError
    from workbench.plan import Plan

    try:
        found = Plan.from_json(_text(plan), _schema(schema, db))
    except PlanError as fault:
        if not is_json:
            raise ConfigError(f"{fault.kind}: {fault}") from fault
        click.echo(json.dumps({"kind": fault.kind, "where": fault.where, "what": fault.what, "hint": fault.hint}))
        sys.exit(2)
    columns = [{"column": one.text, "type": one.type} for one in found.fields]
    if is_json:
        click.echo(json.dumps({"kind": None, "columns": columns}, ensure_ascii=False))
    else:
        click.echo(", ".join(f"{one['column']} {one['type']}" for one in columns))


@plan.command("schema")
@click.option("--gbnf", "is_gbnf", is_flag=True, help="As a grammar for llama.cpp instead.")
def schema_(is_gbnf: bool) -> None:
    """Print the JSON Schema of plans, for constrained decoding."""
    if is_gbnf:
        from workbench.plan_gbnf import plan_grammar

        click.echo(plan_grammar(), nl=False)
        return
    from workbench.plan_schema import plan_schema

    click.echo(json.dumps(plan_schema(), indent=1))


@plan.command()
@click.argument("queries", type=click.Path(path_type=Path))
@click.option("--schema", required=True, metavar="PATH", help="An SQLite file, a tables.json or a benchmark folder.")
@click.option("--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The parquet file.")
@click.option("--dialects", metavar="NAMES", help="Comma-separated; also write each plan's SQL for these.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; as many as there are processors by default.")
def convert(queries: Path, schema: str, output: Path, dialects: str | None, workers: int | None) -> None:
    """Convert a file of queries (JSON, JSONL, CSV, parquet, or lines) into a parquet file of plans.

    What cannot be converted is a row with its status and message.
    """
    import polars as pl

    from workbench.dialects import get_dialect
    from workbench.plan_convert import convert as convert_

    names = [name.strip() for name in (dialects or "").split(",") if name.strip()]
    check_distinct(names, "dialect")
    for name in names:
        get_dialect(name)
    counts = convert_(queries, output, schema, tuple(names), workers)
    print_table(pl.DataFrame(counts.most_common(), schema=["status", "queries"], orient="row"))


@plan.command()
@click.argument("benchmarks", nargs=-1, required=True, metavar="BENCHMARK ...")
@databases_option
@click.option("--engines", metavar="NAMES", help="Comma-separated; all that plans can be written for by default.")
@click.option("--run", "run", default="roundtrip", show_default=True, metavar="RUN", help="Where rows are stored.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="Time limit of one statement.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def roundtrip(
    benchmarks: tuple[str, ...],
    databases: str | None,
    engines: str | None,
    run: str,
    seconds: float | None,
    is_json: bool,
) -> None:
    """Run every gold query of benchmarks on SQLite and, through its plan, on each engine; print how many agree.

    sqlglot's own transpiling runs beside, plain and with names and texts repaired. Golds to which SQLite itself has
    several answers are listed and left out. Failures are stored with both statements and both results.
    """
    from workbench.backends.base import Limits
    from workbench.plan_roundtrip import ambiguous_golds, fidelity
    from workbench.plan_roundtrip import roundtrip as roundtrip_

    limits = Limits(seconds=seconds) if seconds else None
    chosen = [read_benchmark_or_warn(path, databases) for path in benchmarks]
    rows = roundtrip_(chosen, chosen_engines(engines), run, limits)
    print_table(fidelity(rows), is_json)
    if not is_json:
        print_table(ambiguous_golds(rows))
