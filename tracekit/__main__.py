"""`python -m tracekit` is the command `tracekit`."""

import sys

from tracekit.stopping import exit_on_signals


def main() -> None:
    """Run the command line; a server minds signals before anything else is imported."""
    if sys.argv[1:2] == ["serve"]:
        exit_on_signals()
    from tracekit.cli import main as run

    run()


if __name__ == "__main__":
    main()
