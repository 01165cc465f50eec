"""Who hung a training job, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracekit.analysis import Hang, words_for

_NAMED = 4


@words_for(Hang)
def hang_summary(hang: Hang) -> str:
    """Who is to blame and why, how many ranks were blocked by it, and how many left no dump."""
    total, blocked = hang.ranks.height, hang.blast_radius
    absent = total - int(hang.ranks["has_dump"].sum())
    unknown = f" {absent} of {total} ranks left no dump." if absent else ""
    match hang.rule:
        case "none":
            return f"No rank has a collective pending that explains a hang.{unknown}"
        case "transport":
            rows = hang.links.head(_NAMED).iter_rows()
            links = "; ".join(f"group {group} (ranks {_listed(members)})" for group, members in rows)
            return (
                f"No rank is to blame: all members entered and none completed the collectives of {links}, which points "
                f"to a link between them; {blocked} of {total} ranks are blocked.{unknown}"
            )
    named = hang.culprits.head(_NAMED).iter_rows(named=True)
    said = "; ".join(f"rank {row['rank']} {reason_text(row)}" for row in named)
    more = f"; and {hang.culprits.height - _NAMED} more" if hang.culprits.height > _NAMED else ""
    return f"{said[:1].upper()}{said[1:]}{more}: {blocked} of {total} ranks were blocked by that.{unknown}"


def reason_text(row: dict[str, Any]) -> str:
    """Why a rank is to blame; `row` is one of a hang's culprits."""
    match row["reason"]:
        case "called_differently":
            others = " or ".join(sorted(_call(each) for each in row["other_calls"]))
            return f"called {_call(row)} as collective {row['sequence']} of group {row['group']}, others {others}"
        case "pending":
            count = row["completed"]
            by = "the other member completed" if count == 1 else f"{count} other members completed"
            return f"has {_collective(row)} pending, which {by}"
        case "never_entered":
            return f"has nothing pending and never entered {_collective(row)}"
        case "no_dump":
            return f"left no dump, and only it can be missing from {_collective(row)}"
    return f"waits in a circle with ranks {_listed(row['circle'], without=row['rank'])}"


def _call(call: dict[str, Any]) -> str:
    """What a rank called: the operation, its elements and their types, as far as they are known."""
    elements = f" of {call['elements']} elements" if call["elements"] else ""
    return f"{call['operation']}{elements}{' ' + call['types'] if call['types'] else ''}"


def _collective(row: dict[str, Any]) -> str:
    number = "" if row["sequence"] is None else f" {row['sequence']}"
    return f"{row['operation']}{number} of group {row['group']}"


def _listed(ranks: Sequence[int], *, without: int | None = None) -> str:
    named = [str(rank) for rank in ranks if rank != without]
    return ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")
