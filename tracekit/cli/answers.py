"""Commands that answer questions: tail, stragglers, quality, report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tracekit import output, report
from tracekit.cli.options import database_option, output_options, where_option
from tracekit.cli.stores import opened
from tracekit.errors import UsageError
from tracekit.foreign import plain
from tracekit.schema import ANY_OUTCOME, METRICS, OUTCOMES, Metric

CHECK_FAILED_EXIT_CODE = 3


@click.command()
@click.option(
    "--metric",
    required=True,
    type=click.Choice(list(METRICS)),
    help="Which duration to explain.",
)
@click.option(
    "--quantile", default=None, type=click.FloatRange(0, 1, max_open=True),
    help="Slow means at or above this quantile; 0 compares all units with all. "
    "Default: the highest of 0.99, 0.95, 0.9 and 0.5 that leaves at least 10 units on both sides, else 0.",
)  # fmt: skip
@where_option
@click.option(
    "--baseline",
    metavar="SQL|auto|body",
    default="auto",
    show_default=True,
    help="What to compare with: the time before the store changed (auto; the middle where it did not), "
    "the middle (p40 to p60) of the same units (body), or a condition for others.",
)
@click.option(
    "--outcome", default=OUTCOMES[0], show_default=True, type=click.Choice([*OUTCOMES, ANY_OUTCOME]),
    help="Which outcome the units have; `any` for all.",
)  # fmt: skip
@click.option(
    "--by", default="stage", show_default=True, type=click.Choice(["stage", "service", "edge"]),
    help="What a row is: a stage, a service (ranked by what is longer there beyond chance), or a caller and callee.",
)  # fmt: skip
@database_option
@output_options
def tail(
    metric: Metric, quantile: float | None, where: str | None, baseline: str, outcome: str,
    by: report.By, database: Path, output_format: str, output_path: Path | None,
) -> None:  # fmt: skip
    """Which stage made the slow ones slow: the tail against a baseline, split exactly by stage.

    \b
    Examples:
      tracekit tail --metric ttft
      tracekit tail --metric e2e --quantile 0.95 --where "model = 'llama-3-70b'"
      tracekit tail --metric ttft --where "attributes['scenario'] = 'overload'" \\
                    --baseline "attributes['scenario'] = 'steady'"
      tracekit tail --metric e2e --by service
    """
    with opened(database, read_only=True) as store:
        answer = store.tail(metric, quantile=quantile, where=where, baseline=baseline, outcome=outcome)
    output.write(report.tail_output(answer, by), output_format=output_format, path=output_path)


@click.command()
@click.option("--job", metavar="JOB", help="Only this job (default: all).")
@database_option
@output_options
def stragglers(job: str | None, database: Path, output_format: str, output_path: Path | None) -> None:
    """Which rank made the others wait, in which stage and steps."""
    with opened(database, read_only=True) as store:
        answer = store.stragglers(job=job)
    output.write(report.answer_output(answer), output_format=output_format, path=output_path)


@click.command()
@click.option("--strict", is_flag=True, help="Exit with 3 unless the verdict is good.")
@database_option
@output_options
def quality(*, strict: bool, database: Path, output_format: str, output_path: Path | None) -> None:
    """What the data can bear: completeness, rejects, duplicates, skew, conflicts, and a verdict."""
    with opened(database, read_only=True) as store:
        answer = store.quality()
    output.write(report.answer_output(answer), output_format=output_format, path=output_path)
    if strict and answer.verdict != "good":
        sys.exit(CHECK_FAILED_EXIT_CODE)


@click.command("report")
@database_option
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write one page with the charts, which opens offline, in place of the text.",
)
@output_options
def report_command(database: Path, html_path: Path | None, output_format: str, output_path: Path | None) -> None:
    """The whole picture: what is in the store, how good it is, and the headlines of every question.

    \b
    Examples:
      tracekit report
      tracekit report --html incident.html
    """
    if html_path is not None:
        report.check_drawable()
    with opened(database, read_only=True) as store:
        told = store.report(html=html_path is not None)
    if html_path is None:
        output.write(told, output_format=output_format, path=output_path)
        return
    _write_page(html_path, report.page(str(told.html), title=f"tracekit: {database.name}"))


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error}") from error
    click.echo(f"The report is {plain(str(path))}; any browser opens it, without a network.", err=True)


COMMANDS = (tail, stragglers, quality, report_command)
