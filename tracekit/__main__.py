"""`python -m tracekit` is the command `tracekit`."""

from tracekit.cli import main

main()
