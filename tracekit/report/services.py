"""A tail answer by service, and by caller and callee."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from tracekit.analysis import TailAnswer
from tracekit.output import Output, table
from tracekit.report.answers import answer_output, flush_right
from tracekit.wording import duration_text, services_sentence

By = Literal["stage", "service", "edge"]


def tail_output(answer: TailAnswer, by: By) -> Output:
    """A tail answer in all formats, its rows by stage, by service or by caller and callee; the object is the same."""
    if by == "stage":
        return answer_output(answer)
    frame = answer.services if by == "service" else answer.edges
    told = f"{answer.summary}\n\n{services_sentence(answer)}"
    lines = [_service_line(row) if by == "service" else _edge_line(row) for row in frame.iter_rows(named=True)]
    if not lines:
        return Output(frame, answer.as_dict(), told)
    rows = pl.DataFrame(lines)
    return Output(frame, answer.as_dict(), f"{told}\n\n{table(flush_right(rows, *rows.columns[-4:]))}")


def _service_line(row: dict[str, Any]) -> dict[str, str]:
    return {
        "service": row["service"],
        "own time": duration_text(row["own_excess_ns"]),
        "of it sure": duration_text(row["own_sure_ns"]),
        "calls to and from it": duration_text(row["edges_excess_ns"]),
        "sure": f"{duration_text(row['edges_sure_ns'])} ({row['grown_edge_count']} of {row['edge_count']})",
    }


def _edge_line(row: dict[str, Any]) -> dict[str, str]:
    return {
        "caller": row["service"],
        "callee": row["callee"],
        "longer by": duration_text(row["excess_ns"]),
        "of it sure": duration_text(row["sure_ns"]),
        "times as long": f"{row['factor']:.2f}",
        "at least": f"{row['factor_low']:.2f}",
    }
