"""What an ingest did, for a terminal and for scripts; apart from the answers, which take their time to import."""

from __future__ import annotations

import polars as pl

from tracekit.foreign import plain
from tracekit.ingest import IngestReport
from tracekit.output import Output


def ingest_output(report: IngestReport) -> Output:
    """Rows: one a file. Object: the documented JSON of `tracekit ingest`."""
    files = [file.as_dict() for file in report.files]
    rows = pl.DataFrame([{name: value for name, value in file.items() if name != "rejects"} for file in files])
    return Output(rows, report.as_dict(), ingest_text(report))


def ingest_text(report: IngestReport) -> str:
    """A line a file, the reasons under it, and the totals."""
    lines = []
    for file in report.files:
        counts = file.counts
        lines.append(
            f"{plain(file.path)}: {counts.spans:,} spans, {counts.metric_points:,} metric points, "
            f"{counts.logs:,} logs, {counts.duplicates:,} duplicates, {counts.rejected:,} rejected"
            + (f" ({file.format})" if file.format else "")
        )
        lines += [f"  {'skipped' if file.is_skipped else 'error'}: {plain(file.error)}"] if file.error else []
        lines += [
            f"  {reject.kind}: {reject.record_count:,} × {reject.reason}"
            + (f" from byte {reject.first_offset}" if reject.first_offset is not None else "")
            + (f": {plain(reject.example)}" if reject.example else "")
            for reject in counts.rejects
        ]
    lines.append(
        f"Total: {report.spans:,} spans, {report.metric_points:,} metric points, {report.logs:,} logs, "
        f"{report.duplicates:,} duplicates, {report.rejected:,} rejected"
    )
    return "\n".join(lines)
