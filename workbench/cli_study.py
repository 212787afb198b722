"""`workbench study`, `figures` and `tables`: what is made of stored results, or of the papers' printed figures."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from workbench.cli_options import json_option, model_of, print_table
from workbench.errors import ConfigError, ResultsError


def _results_options(command: Callable) -> Callable:
    for option in (
        click.option("--run", "run", metavar="RUN", help="A name under results/, or a path."),
        click.option("--published", is_flag=True, help="The papers' printed figures."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("name")
@_results_options
@click.option(
    "--benchmark", "benchmarks", metavar="PATH", multiple=True, help="For classifier: texts besides the bundled."
)
@click.option("--half", type=click.Choice(["tune", "held"]), help="For classifier: only this half of the hand labels.")
@click.option("--judge", metavar="MODEL", help="For errors: have this model name the category of each error first.")
@click.option("--base-url", metavar="URL", help="The judge's endpoint, as for generate.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other key of the judge, as for generate."
)
@json_option
def study(
    name: str,
    run: str | None,
    published: bool,
    benchmarks: tuple[str, ...],
    half: str | None,
    judge: str | None,
    base_url: str | None,
    settings: tuple[str, ...],
    is_json: bool,
) -> None:
    """Print a study table, or all of them, and store it with the run; `classifier` is of hand labels and takes no run.

    With --judge, `errors` asks a model first, one request an error at temperature 0, and prints its agreement with the rules.
    """
    from workbench.study import studies
    from workbench.study import study as study_
    from workbench.study_tables import LABEL_STUDIES, TOGETHER

    if name in LABEL_STUDIES and not run and not published:
        from workbench.classifier_study import classifier

        for table in classifier(benchmarks, half).values():
            print_table(table, is_json)
        return
    if benchmarks or half:
        raise ConfigError("--benchmark and --half belong to hand labels", hint=f"for: {', '.join(LABEL_STUDIES)}")
    if (judge or base_url or settings) and (name != "errors" or published or not (judge and run)):
        raise ConfigError(
            "a judge is asked about a run's errors", hint="study errors --run RUN --judge MODEL --base-url URL"
        )
    if judge:
        is_whole = _ask_judge(run, judge, base_url, settings)
        print_table(study_("errors", run), is_json)
        print_table(study_("error_agreement", run), is_json)
        if not is_whole:
            sys.exit(1)
        return
    if name != "all" and name not in TOGETHER:
        print_table(study_(name, run, is_published=published), is_json)
        return
    found = list(studies(run, TOGETHER.get(name), is_published=published))
    if not found:
        study_(name, run, is_published=published)  # says why there is none
    if name in TOGETHER and all(isinstance(table, str) for _, table in found):
        raise ResultsError(found[0][1])
    for each, table in found:
        if isinstance(table, str):
            click.echo(f"{each}: {table}", err=True)
        else:
            print_table(table, is_json)
    if all(isinstance(table, str) for _, table in found):
        sys.exit(2)


def _ask_judge(run: str, name: str, base_url: str | None, settings: tuple[str, ...]) -> bool:
    """Whether every error has an answer now."""
    from workbench.judge_errors import judge_errors
    from workbench.results import Run
    from workbench.study_tables import headline

    opened = Run.open(run)
    done = judge_errors(opened, model_of(name, base_url, settings, "--judge"), headline(opened))
    click.echo(done, err=True)
    return not done.failed


@click.command()
@click.argument("name")
@_results_options
def figures(name: str, run: str | None, published: bool) -> None:
    """Draw a figure, or all of them: pdf, png and the numbers as csv."""
    from workbench.study import all_figures
    from workbench.study import figures as figures_

    if name != "all":
        found = [(name, figures_(name, run, is_published=published))]
    else:
        found = list(all_figures(run, is_published=published))
    _say_files(found)


@click.command()
@click.argument("name")
@_results_options
def tables(name: str, run: str | None, published: bool) -> None:
    """Write a study table, or all of them, for a paper: LaTeX, Markdown and HTML."""
    from workbench.write_tables import tables as tables_

    _say_files(list(tables_(name, run, is_published=published)))


def _say_files(found: list[tuple[str, list[Path] | str]]) -> None:
    """The files that were made, and why others were not; exit code 2 where there is none."""
    for name, made in found:
        if isinstance(made, str):
            click.echo(f"{name}: {made}", err=True)
        else:
            click.echo("\n".join(map(str, made)))
    if all(isinstance(made, str) for _, made in found):
        sys.exit(2)
