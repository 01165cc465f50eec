"""What takes longer call by call, and at which service that lies, in plain sentences."""

from __future__ import annotations

from typing import Any

from tracekit.analysis import CALLS_UNIT_LIMIT, TailAnswer, certain_stages, grown_stages
from tracekit.schema import UNATTRIBUTED
from tracekit.wording.numbers import chance_text, counted, duration_text

_NAMED = 3
_OF_WHOLE = ("excess_explained", "load_or_slowness")


def growth_sentence(answer: TailAnswer) -> str:
    """Stages whose calls take longer in all units, with the least that chance leaves of it.

    Where the whole is slower and stages are certain by what they take of it, those are told.
    """
    tells = ("stage_slower",) if len(certain_stages(answer)) else (*_OF_WHOLE, "stage_slower")
    if answer.verdict not in tells:
        return ""
    told = [_grown_text(row, answer) for row in grown_stages(answer).head(_NAMED).iter_rows(named=True)]
    return " ".join((*told, *_looked_at(answer))) if told else ""


def _looked_at(answer: TailAnswer) -> list[str]:
    """How many units were compared call by call, where that is not all."""
    largest = max(answer.count, answer.baseline_selection_count)
    if largest <= CALLS_UNIT_LIMIT:
        return []
    return [f"Call by call, about {CALLS_UNIT_LIMIT:,} of up to {counted(largest, answer.unit)} a side were compared."]


def _grown_text(row: dict[str, Any], answer: TailAnswer) -> str:
    what = "What no span explains" if row["stage"] == UNATTRIBUTED else f"A call of {row['stage']}"
    return (
        f"{what} takes {row['factor']:.2g} times as long, at least {row['factor_low']:.2g} times: of "
        f"one {answer.unit} to the next and of one time to the next it differs less than that in all but "
        f"{chance_text(row['adjusted_p'])} of cases. That is {duration_text(row['excess_ns'])} of the mean "
        f"{answer.unit}."
    )


def services_sentence(answer: TailAnswer) -> str:
    """At which service the sure growth lies."""
    if answer.comparison == "body":
        return (
            "Services are ranked by what they take longer than at another time or elsewhere: give `--baseline` a "
            "condition. The store itself shows no change."
        )
    if answer.services.is_empty():
        return "No service is known on both sides."
    first = answer.services.row(0, named=True)
    if first["score_ns"] <= 0:
        return f"At none of {len(answer.services)} services does anything take longer than chance makes it."
    edges = counted(first["edge_count"], "kind of call", "kinds of calls")
    parts = [f"{duration_text(first['own_sure_ns'])} in its own time"]
    if first["edge_count"]:
        grown = f"{duration_text(first['edges_sure_ns'])} between it and others"
        parts.append(f"{grown} ({first['grown_edge_count']} of its {edges} have grown)")
    most = (
        f"Most that is longer beyond chance lies at {first['service']}: of the mean {answer.unit} at least "
        f"{' and '.join(parts)}."
    )
    return " ".join((most, *_looked_at(answer)))
