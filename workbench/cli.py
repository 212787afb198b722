"""The `workbench` command: one subcommand a step, each a thin call of the function of the same name.

Exit codes: 0, all that was asked for is done; 1, done but for engines or databases that could not be used, each named on
a line of its own, and the same command tries those again; 2, nothing could be done, and one line on standard error says
why. A traceback means a bug.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path

import click

from workbench.cli_options import (
    chosen_engines,
    databases_option,
    json_option,
    model_of,
    print_records,
    print_table,
    read_benchmark_or_warn,
)
from workbench.cli_plan import plan
from workbench.cli_study import figures, study, tables
from workbench.errors import ConfigError, NotBuiltError, WorkbenchError


class _Group(click.Group):
    """Turns what is not our fault into one line and exit code 2: our own errors, and what the system refuses."""

    def invoke(self, ctx: click.Context) -> object:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a run says it was stopped
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except WorkbenchError as error:
            fault = str(error)
        except BrokenPipeError:  # the reader of our output has seen enough
            _drop_output()
            ctx.exit(0)
        except OSError as error:
            _drop_output()
            fault = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("workbench"):
                raise
            fault = f"this needs {error.name}, an extra that is not installed (pip install 'workbench[all]')"
        else:
            return result
        click.echo(f"workbench: {fault}", err=True)
        ctx.exit(2)


def _drop_output() -> None:
    """What is still buffered for a closed or full output would be tried, and fail, again at the end."""
    with contextlib.suppress(OSError):  # an output that is no file has nothing to drop
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="workbench")
def main() -> None:
    """Measure text-to-SQL across database engines: generate, execute, judge, study, draw."""


TRUST_VARIABLE = "WORKBENCH_TRUST_SQL"  # read where ClickHouse's workers are confined
run_option = click.option("--run", "run", required=True, metavar="RUN", help="A name under results/, or a path.")
benchmark_option = click.option(
    "--benchmark", required=True, metavar="PATH", help="A benchmark folder as downloaded, or `bundled`."
)
trust_option = click.option(
    "--trust-sql",
    is_flag=True,
    help="Run predicted SQL also where its process cannot be confined.",
    callback=lambda ctx, option, value: os.environ.update({TRUST_VARIABLE: "1"}) if value else None,
    expose_value=False,
)


@main.command()
@click.argument("action", type=click.Choice(["start", "stop", "status"]), default="status")
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@json_option
def engines(action: str, names: tuple[str, ...], is_json: bool) -> None:
    """List the engines, or start and stop embedded servers that outlive a command."""
    from workbench.engines import NAMES, engine_status, start_engines, stop_engines

    chosen = chosen_engines(",".join(names), NAMES) if names else None
    if action == "stop":
        print_table(stop_engines(chosen), is_json)
        return
    failed = start_engines(chosen) if action == "start" else {}
    found = engine_status([name for name in chosen or NAMES if name not in failed])
    print_table(found, is_json)
    for reason in failed.values():
        click.echo(f"workbench: {reason}", err=True)
    listed = found if chosen else found.drop_nulls("found")  # what nobody has asked for may be absent
    if failed or listed["problem"].is_not_null().any():
        sys.exit(1)


@main.command()
@click.option(
    "--benchmark", default="bundled", show_default=True, metavar="PATH", help="A benchmark folder as downloaded."
)
@databases_option
@click.option("--engines", metavar="NAMES", help="Comma-separated; all by default.")
@click.option("--synthesize", is_flag=True, help="Make up small databases where the benchmark has none.")
@click.option(
    "--export", "layout", type=click.Choice(["bird"]), help="Write the bundled benchmark as BIRD is, and no more."
)
@click.option("--to", "folder", default="bird", show_default=True, metavar="DIR", help="Where --export writes.")
def prepare(
    benchmark: str, databases: str | None, engines: str | None, synthesize: bool, layout: str | None, folder: str
) -> None:
    """Read a benchmark and copy its databases into the engines, exactly."""
    from workbench.backends import BACKENDS
    from workbench.migrate import prepare as prepare_

    if layout:
        from workbench.bundled import export

        if benchmark != "bundled":
            raise ConfigError("only the bundled benchmark can be exported", where="--benchmark", hint="leave it out")
        click.echo(export(folder))
        return
    if synthesize:
        from workbench.synthesize import synthesize as synthesize_

        folder, coverage = synthesize_(read_benchmark_or_warn(benchmark, databases))
        for db_id, found in coverage.items():
            click.echo(f"{db_id}: made up; {found.informative} of {found.queries} gold queries find something in it")
        click.echo(f"made-up databases: --databases {folder}")
        databases = str(folder)
    done = prepare_(read_benchmark_or_warn(benchmark, databases), chosen_engines(engines) or list(BACKENDS))
    click.echo(done)
    if done.unavailable or done.failed:
        sys.exit(1)


@main.command("import")
@benchmark_option
@run_option
@click.option(
    "--predictions", "files", required=True, multiple=True, metavar="FILE", help="May be given several times."
)
@click.argument("more", nargs=-1, metavar="[FILE ...]")
@click.option("--model", metavar="NAME", help="Taken from the file's name if not given.")
@click.option("--engine", metavar="ENGINE", help="The dialect it is written in; from the file's name, else sqlite.")
@click.option("--params-b", type=float, help="Total parameters in billions; from the model's name if not given.")
@click.option("--weights", type=click.Choice(["open", "closed"]), help="Whether the model's weights are open.")
@databases_option
def import_(
    benchmark: str,
    run: str,
    files: tuple[str, ...],
    more: tuple[str, ...],
    model: str | None,
    engine: str | None,
    params_b: float | None,
    weights: str | None,
    databases: str | None,
) -> None:
    """Bring prediction files into a run: BIRD JSON, Spider text, mini-dev JSON, CSV, JSONL."""
    from workbench.import_predictions import import_predictions

    every = [*files, *more]
    done = import_predictions(
        run,
        read_benchmark_or_warn(benchmark, databases),
        every,
        model=model,
        engine=engine,
        params_b=params_b,
        weights=weights,
    )
    for problem in done.problems:
        click.echo(f"workbench: warning: {problem}", err=True)
    click.echo(f"{len(every)} files imported: {', '.join(done.models)}")


@main.command()
@benchmark_option
@run_option
@click.option("--model", "name", required=True, metavar="NAME", help="The model's name.")
@click.option("--target", type=click.Choice(["sql", "plan"]), default="sql", show_default=True, help="What to ask for.")
@click.option("--engines", metavar="NAMES", help="Dialects to ask SQL for; sqlite by default.")
@click.option(
    "--base-url", metavar="URL", help="An endpoint that speaks OpenAI's protocol; `embedded` is the one here."
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other key of a model in a config file."
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N questions.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of what is random.")
def generate(
    benchmark: str,
    run: str,
    name: str,
    target: str,
    engines: str | None,
    base_url: str | None,
    settings: tuple[str, ...],
    limit: int | None,
    seed: int,
) -> None:
    """Ask a model every question of a benchmark.

    --set takes what a configuration's `models` take, values as YAML: --set sampling.max_tokens=512 --set limits.concurrency=32
    """
    from workbench.generate import generate as generate_

    model = model_of(name, base_url, settings, "--model", targets=[target])
    done = generate_(
        run, read_benchmark_or_warn(benchmark), [model], chosen_engines(engines) or ["sqlite"], limit=limit, seed=seed
    )
    click.echo(done)
    if not done.is_whole:
        sys.exit(1)


@main.command()
@run_option
@click.option("--engines", metavar="NAMES", help="Comma-separated; those the predictions were written for by default.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), help="Time limit of one statement, 30 by default."
)
@click.option("--repeats", type=click.IntRange(min=1), help="Also time every right pair this often, one at a time.")
@click.option("--instances", type=click.IntRange(min=1), help="Also judge on N made-up instances (test suite).")
@trust_option
@click.option("--explain", metavar="ID", help="Show every verdict on one question instead.")
@json_option
def score(
    run: str,
    engines: str | None,
    seconds: float | None,
    repeats: int | None,
    instances: int | None,
    explain: str | None,
    is_json: bool,
) -> None:
    """Execute and judge what a run holds; prints accuracy per model and engine."""
    from workbench.backends.base import Limits
    from workbench.explain import explain as explain_
    from workbench.results import Run
    from workbench.score import score as score_
    from workbench.study import accuracy

    if explain is not None:
        print_records(explain_(run, explain), is_json)
        return
    chosen = chosen_engines(engines)
    limits = Limits(seconds=seconds) if seconds else None
    done = score_(run, chosen, limits, instances or 0)
    click.echo(done, err=True)
    if repeats:
        from workbench.timing import time_pairs

        click.echo(f"{time_pairs(run, chosen, repeats, limits).height} right pairs timed", err=True)
    print_table(accuracy(Run.open(run)), is_json)
    if not done.is_whole:
        sys.exit(1)


@main.command("run")
@click.argument("config", type=click.Path(path_type=Path))
@trust_option
def run_(config: Path) -> None:
    """Run the notebooks for a configuration, from preparing databases to figures."""
    from workbench.config import read_config
    from workbench.results import Run
    from workbench.run_notebooks import run_config
    from workbench.score import is_whole

    given = read_config(config)
    for path in run_config(given):
        click.echo(path)
    if not is_whole(Run.open(given.run)):
        click.echo("workbench: not all could be judged; the same command tries the rest again", err=True)
        sys.exit(1)


def _not_built(name: str, help_text: str) -> None:
    @main.command(name, help=f"{help_text} (not built yet)", context_settings={"ignore_unknown_options": True})
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def command(words: tuple[str, ...]) -> None:
        raise NotBuiltError(f"`workbench {name}` is not built yet", hint="see README for what is")


for command in (plan, study, figures, tables):
    main.add_command(command)
_not_built("inspect", "Look at single questions of a run.")
_not_built("train", "Fine-tune a model.")

if __name__ == "__main__":
    sys.exit(main())
