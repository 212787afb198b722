"""What the commands share: names of engines, benchmarks with their warnings, tables on the terminal."""

import json
import textwrap
from collections.abc import Sequence

import click

from workbench.errors import ConfigError

json_option = click.option("--json", "is_json", is_flag=True, help="Print JSON.")
databases_option = click.option("--databases", metavar="PATH", help="Where the SQLite databases lie, if elsewhere.")


def chosen_engines(value: str | None, known: Sequence[str] = ()) -> list[str] | None:
    """The engines of a comma-separated option; None where it is not given. known: all names, else the databases'."""
    from workbench.backends import BACKENDS

    if value is None:
        return None
    known = known or list(BACKENDS)
    chosen = [name.strip() for name in value.split(",") if name.strip()]
    for name in chosen:
        if name not in known:
            raise ConfigError(f"there is no engine {name!r}", hint=f"available: {', '.join(known)}")
    check_distinct(chosen, "engine")
    if not chosen:
        raise ConfigError("no engine is named", hint=f"available: {', '.join(known)}")
    return chosen


def check_distinct(names: list[str], kind: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{kind} {twice!r} is named twice")


def print_records(frame, is_json: bool = False) -> None:
    """Each row as a block, a line or an indented paragraph for each value."""
    if is_json:
        return print_table(frame, is_json)
    for number, row in enumerate(frame.iter_rows(named=True)):
        if number:
            click.echo("-" * 80)
        for name, value in row.items():
            text = "-" if value is None else str(value)
            is_long = "\n" in text or len(text) > 90
            click.echo(f"{name}:" + ("\n" + textwrap.indent(text, "    ") if is_long else f" {text}"))


def print_table(frame, is_json: bool = False) -> None:
    if is_json:
        click.echo(json.dumps(json.loads(frame.write_json()), ensure_ascii=False))
        return
    import polars as pl

    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=1000,
        fmt_str_lengths=160,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="MARKDOWN",
    ):
        click.echo(frame)


def read_benchmark_or_warn(path: str, databases: str | None = None):
    """A benchmark; what is wrong with single questions of it is said on standard error."""
    from workbench.benchmarks import read_benchmark

    for given in (path, databases):
        if given is not None and (not given.strip() or not given.isprintable()):
            raise ConfigError(f"{given!a} is no path", hint="a folder, or `bundled`")
    benchmark = read_benchmark(path, databases=databases)
    for problem in benchmark.problems:
        click.echo(f"workbench: warning: {problem.where}: {problem.what}", err=True)
    return benchmark


def model_of(name: str, base_url: str | None, settings: tuple[str, ...], where: str, **about: object):
    """A model as a configuration would describe it."""
    from workbench.config import ModelConfig, checked, with_settings

    about |= {"name": name, "provider": "openai" if base_url else "simulated"}
    about |= {"base_url": base_url} if base_url else {}
    return checked(ModelConfig, with_settings(about, settings), where)
