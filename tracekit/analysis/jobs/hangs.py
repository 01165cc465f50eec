"""Which rank hung a training job, from what each rank had enqueued, started and completed.

The rules, of which the first with evidence decides (after PyTorch's Flight Recorder analysis, NVIDIA's resiliency
extension and the wait-for graph of deadlock detection):

    desync         the members of a group disagree on what its next collective is
    device_stuck   a rank has a collective pending that every other member has completed
    host_stuck     a rank that others wait for has nothing pending, or left no dump
    wait_for       ranks wait in a circle for each other
    transport      all members entered, none completed: a link between them, not a rank
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracekit.analysis.jobs.hang_evidence import ABSENT, COMPLETED, LACKING, PENDING, ROOTED, Evidence, hang_evidence
from tracekit.analysis.jobs.wait_graph import distances, ends_of_waiting
from tracekit.analysis.worded import in_words

Rule = Literal["desync", "device_stuck", "host_stuck", "wait_for", "transport", "none"]
Confidence = Literal["high", "medium", "low"]

_SAME_ON_ALL = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "barrier")
"""Collectives whose members must pass the same sizes; the others may pass different ones."""

_CALL = {"operation": pl.String, "elements": pl.String, "types": pl.String}

CULPRIT_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "rank": pl.Int64,
    "class": pl.String,
    "manner": pl.String,
    "reason": pl.String,
    "group": pl.String,
    "sequence": pl.Int64,
    **_CALL,
    "other_calls": pl.List(pl.Struct(_CALL)),
    "completed": pl.Int64,
    "circle": pl.List(pl.Int64),
}
RANK_SCHEMA = {
    "rank": pl.Int64,
    "has_dump": pl.Boolean,
    "role": pl.String,
    "manner": pl.String,
    "distance": pl.Int64,
    "group": pl.String,
    "sequence": pl.Int64,
    "operation": pl.String,
    "created_ns": pl.Int64,
}
EVIDENCE_SCHEMA = {
    "rank": pl.Int64,
    "group": pl.String,
    "sequence": pl.Int64,
    "operation": pl.String,
    "state": pl.String,
    "created_ns": pl.Int64,
}


@dataclass(frozen=True, eq=False)
class Hang:
    """Why a job hung.

    culprits: `rank`, `class` (culprit_device, culprit_host, culprit_software), `manner` and `reason`; empty where no
        rank is to blame. The reason is `called_differently` (what it called, and in `other_calls` the others),
        `pending` (which `completed` other members have completed), `never_entered`, `no_dump` (all of the collective
        named by `operation`, `group` and, where it is none of two ranks, `sequence`), or `circle` (of these ranks).
    links: `group` and `ranks` whose members all entered what none of them completed.
    rule: which rule decided. confidence: high where each culprit is shown by what its own dump holds and nothing else
        fits; medium where it is shown by absence or shared blame; low where several explanations are as good.
    evidence: the collectives that show it: `rank`, `group`, `sequence`, `operation`, `state`, `created_ns`.
    ranks: every rank with its `role` (initiating, cascade, unaffected, unknown), `manner`, the number of waits to the
        nearest culprit, and the first collective it waited in.
    blast_radius: ranks blocked by the culprits, directly or through others.
    onset_ns: when the first collective that shows it was enqueued. declared_ns: when the first time-out expired.
    alternatives: `ranks`, `reason` (no_dump, in_every_stuck_group): who else could be to blame.
    """

    culprits: pl.DataFrame
    links: pl.DataFrame
    rule: Rule
    confidence: Confidence
    evidence: pl.DataFrame
    ranks: pl.DataFrame
    blast_radius: int
    onset_ns: int | None
    declared_ns: int | None
    alternatives: pl.DataFrame

    @property
    def summary(self) -> str:
        """Who hung the job, in sentences."""
        return in_words(self)


@dataclass(frozen=True)
class _Verdict:
    """What a rule found: culprits (rows of CULPRIT_SCHEMA), the operations that show it."""

    rule: Rule
    confidence: Confidence
    culprits: tuple[dict[str, Any], ...] = ()
    operations: tuple[str, ...] = ()
    links: tuple[tuple[str, list[int]], ...] = ()
    alternatives: tuple[tuple[list[int], str], ...] = ()


def explain_hang(groups: pl.DataFrame, entries: pl.DataFrame, *, dumped: pl.Series) -> Hang:
    """Find who hung a job in the dumps of its ranks.

    `groups` and `entries` have the columns of `tracekit.importers.flight_recorder`; `dumped` holds the ranks of which
    there is a dump. A time-out is never a cause: it only ends the waiting.
    """
    evidence = hang_evidence(groups, entries, dumped=dumped)
    waits = _waits(evidence)
    rules = (_desync(evidence), _device_stuck(evidence), _host_stuck(evidence, waits), _wait_for(evidence, waits))
    verdict = next((each for each in rules if each is not None), None) or _transport(evidence)
    blamed = {culprit["rank"] for culprit in verdict.culprits}
    blocked = distances(_blocking(evidence), blamed)
    ranks = _roles(evidence, blamed, blocked, verdict)
    shown = evidence.operations.filter(pl.col("operation_key").is_in(verdict.operations))
    onset = (shown if shown.height else evidence.operations)["created_ns"].drop_nulls()
    return Hang(
        culprits=pl.DataFrame(list(verdict.culprits), schema=CULPRIT_SCHEMA).sort("rank"),
        links=pl.DataFrame(verdict.links, schema={"group": pl.String, "ranks": pl.List(pl.Int64)}, orient="row"),
        rule=verdict.rule,
        confidence=verdict.confidence,
        evidence=_shown(evidence, verdict.operations),
        ranks=ranks,
        blast_radius=ranks.filter(pl.col("role") == "cascade").height,
        onset_ns=int(onset.min()) if len(onset) else None,  # type: ignore[arg-type]
        declared_ns=_declared(evidence.operations),
        alternatives=_alternatives(evidence, verdict, blamed),
    )


def _alternatives(evidence: Evidence, verdict: _Verdict, blamed: set[int]) -> pl.DataFrame:
    """Who else could be to blame: what the rule tells, and ranks without a dump."""
    absent = [rank for rank, has_dump in evidence.ranks.iter_rows() if not has_dump and rank not in blamed]
    rows = [*verdict.alternatives, *([(absent, "no_dump")] if absent and verdict.rule != "none" else [])]
    return pl.DataFrame(rows, schema={"ranks": pl.List(pl.Int64), "reason": pl.String}, orient="row")


def _declared(operations: pl.DataFrame) -> int | None:
    times = operations.select(pl.col("created_ns") + pl.col("timeout_ms") * 1_000_000).to_series().drop_nulls()
    return int(times.min()) if len(times) else None  # type: ignore[arg-type]


def _counts(evidence: Evidence) -> pl.DataFrame:
    """How many members of each operation are in each state."""
    states = [(pl.col("state") == state).sum().alias(state) for state in (PENDING, COMPLETED, LACKING, ABSENT)]
    return evidence.operations.join(evidence.states.group_by("operation_key").agg(states), on="operation_key")


def _of(evidence: Evidence, operations: pl.DataFrame, state: str) -> pl.DataFrame:
    """Members of operations in a state, with the operation's columns."""
    return evidence.states.filter(pl.col("state") == state).join(operations, on="operation_key")


def _desync(evidence: Evidence) -> _Verdict | None:
    """Rule 2: the first collective whose members disagree; the minority is suspect, in a tie all are."""
    calls = _calls(evidence)
    disagreeing = calls.group_by("group_key", "sequence").agg(
        pl.col("call").n_unique().alias("calls"), pl.col("created_ns").min()
    ).filter(pl.col("calls") > 1)  # fmt: skip
    if disagreeing.is_empty():
        return None
    first = disagreeing.sort("created_ns", "group_key", "sequence").head(1)
    members = calls.join(first.select("group_key", "sequence"), on=["group_key", "sequence"])
    camps = members.group_by("call").agg(pl.col("rank").sort(), size=pl.len()).sort("size", "call")
    is_tie = bool((camps["size"] == camps["size"].max()).sum() > 1)
    suspects = members if is_tie else members.filter(pl.col("call") != camps["call"][-1])
    kind = _disagreement(members)
    key = f"{first['group_key'][0]}#{first['sequence'][0]}"
    culprits = tuple(
        _collective(row)
        | {"class": "culprit_software", "manner": f"desync_{kind}", "reason": "called_differently"}
        | {"elements": row["elements"], "types": row["types"], "other_calls": _others(members, row)}
        for row in suspects.iter_rows(named=True)
    )
    return _Verdict("desync", "low" if is_tie else "high", culprits, (key,))


def _calls(evidence: Evidence) -> pl.DataFrame:
    """What each member called the collectives that are pending somewhere; sizes only where all must pass the same."""
    asked = evidence.pending.filter(~pl.col("is_p2p")).select("group_key", "sequence").unique()
    entries = evidence.entries.filter(~pl.col("is_p2p")).join(asked, on=["group_key", "sequence"])
    has_sizes = pl.col("operation").is_in(_SAME_ON_ALL)
    elements = pl.when(has_sizes).then(pl.col("input_elements").cast(pl.String))
    call = pl.concat_str("operation", pl.col("input_types").fill_null(""), elements.fill_null(""), separator="|")
    return entries.select(
        "rank", "group", "group_key", "sequence", "operation", "created_ns", "is_p2p",
        elements=elements, types="input_types", call=call,
    )  # fmt: skip


def _disagreement(members: pl.DataFrame) -> str:
    for column, name in (("operation", "type"), ("types", "dtype")):
        if members[column].n_unique() > 1:
            return name
    return "size"


def _others(members: pl.DataFrame, row: dict[str, Any]) -> list[dict[str, Any]]:
    """What the other members called instead."""
    return members.filter(pl.col("call") != row["call"]).select(*_CALL).unique().sort(*_CALL).to_dicts()


def _collective(row: dict[str, Any]) -> dict[str, Any]:
    """The rank, and which collective its blame is shown by; sends and receives have no number."""
    sequence = None if row["is_p2p"] else row["sequence"]
    return {"rank": row["rank"], "group": row["group"], "sequence": sequence, "operation": row["operation"]}


def _device_stuck(evidence: Evidence) -> _Verdict | None:
    """Rule 3: a rank has pending what other members have completed, to which it must have contributed.

    Needed is a collective of which no more members are pending than completed; once that is there, a rank counts too
    that is pending in the larger part, as where the dumps of healthy members are missing.
    """
    counts = _counts(evidence).filter(
        ~pl.col("is_p2p"), ~pl.col("operation").is_in(ROOTED), pl.col(COMPLETED) > 0, pl.col(LACKING) == 0
    )
    if counts.filter(pl.col(PENDING) <= pl.col(COMPLETED)).is_empty():
        return None
    found = _of(evidence, counts, PENDING).sort(pl.col(PENDING) > 1, "created_ns")
    first = found.unique("rank", keep="first", maintain_order=True)
    told = {"class": "culprit_device", "manner": "implicit_hang", "reason": "pending"}
    culprits = tuple(_collective(row) | told | {"completed": row[COMPLETED]} for row in first.iter_rows(named=True))
    confidence: Confidence = "high" if (first[PENDING] == 1).all() else "medium"
    return _Verdict("device_stuck", confidence, culprits, tuple(first["operation_key"]))


def _waits(evidence: Evidence) -> dict[int | str, list[int | str]]:
    """Ranks wait for operations they have pending, operations for members that have not entered them.

    A member without a dump is waited for only where no other member explains the waiting.
    """
    counts = _counts(evidence)
    edges: dict[int | str, list[int | str]] = {rank: [] for rank in evidence.ranks["rank"]}
    edges |= {key: [] for key in counts["operation_key"]}
    for key, rank in evidence.states.filter(pl.col("state") == PENDING).select("operation_key", "rank").iter_rows():
        edges[rank].append(key)
    explained = counts.filter(pl.col(LACKING) == 0, pl.col(COMPLETED) == 0)
    missing = pl.concat([
        evidence.states.filter(pl.col("state") == LACKING),
        evidence.states.filter(pl.col("state") == ABSENT).join(explained, on="operation_key", how="semi"),
    ])  # fmt: skip
    for key, rank in missing.select("operation_key", "rank").iter_rows():
        edges[key].append(rank)
    return edges


def _waited_for(waits: dict[int | str, list[int | str]]) -> set[int | str]:
    return {each for following in waits.values() for each in following}


def _host_stuck(evidence: Evidence, waits: dict[int | str, list[int | str]]) -> _Verdict | None:
    """Rule 4: a rank that others wait for has nothing pending; where there is none, one that left no dump.

    A rank without a dump could be waiting as well, so it is blamed only where no dump shows who is.
    """
    waited_for = _waited_for(waits)
    idle = {rank: has_dump for rank, has_dump in evidence.ranks.iter_rows() if not waits[rank] and rank in waited_for}
    shown = {rank for rank, has_dump in idle.items() if has_dump}
    blamed = shown or set(idle)
    if not blamed:
        return None
    missing = pl.concat([_of(evidence, evidence.operations, state) for state in (LACKING, ABSENT)])
    by_clarity = missing.filter(pl.col("rank").is_in(blamed)).sort("is_p2p", "created_ns")
    first = by_clarity.unique("rank", keep="first", maintain_order=True)
    told = {"class": "culprit_host", "manner": "implicit_hang", "reason": "never_entered" if shown else "no_dump"}
    culprits = tuple(_collective(row) | told for row in first.iter_rows(named=True))
    return _Verdict("host_stuck", "high" if shown else "medium", culprits, tuple(first["operation_key"]))


def _wait_for(evidence: Evidence, waits: dict[int | str, list[int | str]]) -> _Verdict | None:
    """Rule 5: where the waiting ends: ranks that wait in a circle for each other to enter."""
    circles = [sorted(each for each in nodes if isinstance(each, int)) for nodes in ends_of_waiting(waits)]
    circles = [ranks for ranks in circles if len(ranks) > 1]
    if not circles:
        return None
    told = {"class": "culprit_software", "manner": "implicit_hang", "reason": "circle"}
    culprits = tuple({"rank": rank, "circle": ranks} | told for ranks in circles for rank in ranks)
    blamed = evidence.states.filter(pl.col("rank").is_in([culprit["rank"] for culprit in culprits]))
    keys = blamed.filter(pl.col("state") == LACKING)["operation_key"].unique().sort()
    return _Verdict("wait_for", "medium", culprits, tuple(keys))


def _transport(evidence: Evidence) -> _Verdict:
    """Rule 6: everybody entered and nobody completed: a link between the members, not one of them.

    What a rank enqueued behind something else that is stuck says nothing, so what is the first thing pending on every
    member counts where there is any.
    """
    counts = _counts(evidence).filter((pl.col(LACKING) == 0) & (pl.col(ABSENT) == 0) & (pl.col(COMPLETED) == 0))
    if counts.is_empty():
        return _Verdict("none", "low")
    first = _first_pending(evidence).group_by("operation_key").agg(first_count=pl.len())
    stuck = counts.join(first, on="operation_key").filter(pl.col("first_count") == pl.col(PENDING))
    chosen = stuck.select(counts.columns) if stuck.height else counts
    stuck = chosen.sort("created_ns").unique("group", keep="first", maintain_order=True)
    sides = _of(evidence, stuck, PENDING).group_by("operation_key").agg(pl.col("rank").sort())
    links = stuck.join(sides, on="operation_key", maintain_order="left").select("group", ranks="rank")
    common = set.intersection(*(set(ranks) for ranks in links["ranks"])) if links.height > 1 else set()
    alternatives = ((sorted(common), "in_every_stuck_group"),) if common else ()
    confidence: Confidence = "medium" if links.height == 1 else "low"
    return _Verdict(
        "transport", confidence, operations=tuple(stuck["operation_key"]), links=tuple(links.iter_rows()),
        alternatives=alternatives,
    )  # fmt: skip


def _first_pending(evidence: Evidence) -> pl.DataFrame:
    """The oldest pending entry of each rank."""
    by_age = evidence.pending.sort("created_ns", "record_id")
    return by_age.unique("rank", keep="first", maintain_order=True)


def _blocking(evidence: Evidence) -> dict[int | str, list[int | str]]:
    """Ranks wait for what they have pending, and that for every other member that has not completed it."""
    edges: dict[int | str, list[int | str]] = {rank: [] for rank in evidence.ranks["rank"]}
    edges |= {key: [] for key in evidence.operations["operation_key"]}
    for key, rank, state in evidence.states.select("operation_key", "rank", "state").iter_rows():
        if state == PENDING:
            edges[rank].append(key)
        if state != COMPLETED:
            edges[key].append(rank)
    return edges


def _roles(
    evidence: Evidence, blamed: set[int], blocked: dict[int | str, int], verdict: _Verdict
) -> pl.DataFrame:  # fmt: skip
    first = _first_pending(evidence).select("rank", "group", "sequence", "operation", "created_ns")
    manners = {culprit["rank"]: culprit["manner"] for culprit in verdict.culprits}
    rows = evidence.ranks.join(first, on="rank", how="left").with_columns(
        # A wait leads from a rank to an operation and from there to a rank.
        distance=pl.Series([_waits_between(blocked.get(rank)) for rank in evidence.ranks["rank"]], dtype=pl.Int64),
    )
    is_blocked = pl.col("group").is_not_null() & (pl.col("distance").is_not_null() | pl.lit(not blamed))
    role = (
        pl.when(pl.col("rank").is_in(list(blamed)))
        .then(pl.lit("initiating"))
        .when(is_blocked)
        .then(pl.lit("cascade"))
        .when(pl.col("has_dump") & pl.col("group").is_null())
        .then(pl.lit("unaffected"))
        .otherwise(pl.lit("unknown"))
    )
    manner = pl.when(is_blocked).then(pl.lit("blocked_in_collective"))
    given = pl.col("rank").replace_strict(manners, default=None, return_dtype=pl.String) if manners else pl.lit(None)
    return rows.with_columns(role=role, manner=pl.coalesce(given, manner)).select(
        pl.col(name).cast(kind) for name, kind in RANK_SCHEMA.items()
    )


def _waits_between(steps: int | None) -> int | None:
    return None if steps is None else steps // 2


def _shown(evidence: Evidence, operations: tuple[str, ...]) -> pl.DataFrame:
    """What every member did with the operations that show who is to blame."""
    shown = evidence.operations.filter(pl.col("operation_key").is_in(operations))
    return (
        evidence.states.join(shown, on="operation_key")
        .sort("created_ns", "group", "sequence", "rank")
        .select(pl.col(name).cast(kind) for name, kind in EVIDENCE_SCHEMA.items())
    )
