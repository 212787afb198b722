"""`python -m workbench.bundled`: builds the benchmark and prints where; --export writes it to a folder, --stats prints
the README's figures."""

import argparse
import sys

from workbench.bundled import build, export
from workbench.errors import WorkbenchError


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workbench.bundled", description="The benchmark that ships.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--export", metavar="DIR", help="write it in BIRD's dev layout to a new or empty folder")
    choice.add_argument("--stats", action="store_true", help="print its figures as Markdown")
    options = parser.parse_args(arguments)
    try:
        if options.stats:
            from workbench.bundled.stats import stats

            print(stats(build()))
        else:
            print(export(options.export) if options.export else build())
    except WorkbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
