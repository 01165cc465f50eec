"""A what-if of requests as a text: the conclusion, quantiles before and after, and what they rest on."""

from __future__ import annotations

import polars as pl

from tracekit.analysis import RequestWhatIf
from tracekit.output import table
from tracekit.report.answers import text_for
from tracekit.wording import duration_text, interval_text, share_text


@text_for(RequestWhatIf)
def request_whatif_text(answer: RequestWhatIf) -> str:
    """The summary, the effects, the assumptions."""
    if answer.effects.is_empty():
        return answer.summary
    assumed = "\n".join(f"- {assumption}" for assumption in answer.assumptions)
    return f"{answer.summary}\n\n{table(_effect_table(answer))}\n\nAssumed:\n{assumed}"


def _effect_table(answer: RequestWhatIf) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "metric": f"{row['metric']} p{100 * row['quantile']:g}",
                "before": duration_text(row["before_ns"]),
                "replayed as it was": duration_text(row["replayed_ns"]),
                "after": duration_text(row["after_ns"]),
                "bound": interval_text(row["low_ns"], row["high_ns"]),
                "change": share_text(row["after_ns"] / row["before_ns"] - 1) if row["before_ns"] else "",
            }
            for row in answer.effects.iter_rows(named=True)
        ]
    )
