"""What the spans of a request tell about it: when its tokens came, how many, which model, how it ended."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.partition import Partition

_BAD = ["aborted", "rejected", "invalid", "failed"]
_NOT_WELL = [*_BAD, "unknown"]

_COUNTS = ("input_tokens", "output_tokens")
_MOST_TOKENS = 10**9
"""No request has more: a thousand times the longest context there is."""

_CALLED_OFF_NS = 100_000_000
"""How long after the answer of another a call that was called off for it may end."""


def request_facts(
    facts: pl.DataFrame, outcomes: pl.DataFrame, partition: Partition, alternatives: pl.DataFrame
) -> pl.DataFrame:
    """One row a key, in order, with what is known about its request.

    `facts` are those of the mappings, `outcomes` what root spans say (`row`, `outcome`), `partition` the
    partition whose rows both refer to. `alternatives`: rows of traces of one kind beside each other, any of which
    may have served the request (`row`, `kind_no`, `trace_no_of_kind`): it has the tokens of one of them. Every
    layer that a request passes may tell the same fact; one is taken: the first token from the outermost layer that
    saw it, the last token and the token counts from the engine, else from the call. Where several calls of one
    layer compete there is no single first or last token.

    Columns: `key`, `root_row`, `start_ns`, `end_ns`, `first_token_ns`, `last_token_ns`, `input_tokens`,
    `output_tokens`, `model`, `outcome`, `vantage` (the layer that saw the first token, else as `seen_from`),
    `seen_from` (the outermost layer), `conflicts` (names, comma-separated; null for none), `has_several_calls`. Times
    are on the clock of the root; a token time outside the request is a conflict and not used.
    """
    keys = pl.DataFrame(
        {
            "key": range(partition.key_count),
            "root_row": partition.root_row,
            "start_ns": partition.root_start_ns,
            "end_ns": partition.root_end_ns,
        },
        schema_overrides={"key": pl.Int64},
    ).join(outcomes.rename({"row": "root_row", "outcome": "root_outcome"}), on="root_row", how="left")
    if facts.is_empty():
        return _without_facts(keys)
    placed = _with_counts_of_one(_with_likely_counts(_on_root_clock(facts, partition)), alternatives)
    joined = (
        keys.join(_first_tokens(placed), on="key", how="left")
        .join(_engines(placed), on="key", how="left")
        .join(_facing(placed), on="key", how="left")
        .join(_call_outcomes(placed), on="key", how="left")
        .join(_conflicts(placed), on="key", how="left")
    )
    return _checked(_decided(joined.sort("key")))


def _conflicts(facts: pl.DataFrame) -> pl.DataFrame:
    """Names of the values that were not used, comma-separated."""
    named = facts.filter(pl.col("conflicts").is_not_null())
    return named.group_by("key", maintain_order=True).agg(pl.col("conflicts").str.join(","))


def _without_facts(keys: pl.DataFrame) -> pl.DataFrame:
    unknown_ns, unknown_text = pl.lit(None, dtype=pl.Int64), pl.lit(None, dtype=pl.String)
    return keys.sort("key").select(
        "key",
        "root_row",
        "start_ns",
        "end_ns",
        first_token_ns=unknown_ns,
        last_token_ns=unknown_ns,
        input_tokens=unknown_ns,
        output_tokens=unknown_ns,
        model=unknown_text,
        outcome=pl.col("root_outcome").fill_null("ok"),
        vantage=pl.lit("service"),
        seen_from=pl.lit("service"),
        conflicts=unknown_text,
        has_several_calls=pl.lit(False),
    )


def _on_root_clock(facts: pl.DataFrame, partition: Partition) -> pl.DataFrame:
    row = facts["row"].to_numpy()
    return facts.with_columns(
        pl.Series("parent_row", partition.effective_parent[row]),
        pl.Series("start_ns", partition.start_ns[row]),
        pl.Series("end_ns", partition.end_ns[row]),
        pl.col("first_token_ns", "last_token_ns") + pl.Series(partition.shift_ns[row]),
        pl.Series("key", partition.key[row]),
        pl.Series("depth", partition.depth[row]),
        pl.Series("tiebreak", partition.tiebreak[row]),
    ).sort("key", "depth", "tiebreak")


def _with_likely_counts(facts: pl.DataFrame) -> pl.DataFrame:
    """Token counts that can be; others become null and a conflict, before anything is added up."""
    can_be = {name: pl.col(name).is_between(0, _MOST_TOKENS) for name in _COUNTS}
    return facts.with_columns(
        *(pl.when(fits).then(pl.col(name)).alias(name) for name, fits in can_be.items()),
        conflicts=pl.concat_str(
            "conflicts",
            *(pl.when(~fits).then(pl.lit(name)) for name, fits in can_be.items()),
            separator=",",
            ignore_nulls=True,
        ).replace("", None),
    )


def _with_counts_of_one(facts: pl.DataFrame, alternatives: pl.DataFrame) -> pl.DataFrame:
    """Token counts of one trace of each kind that a request has several of beside each other: that with most of them.

    Which of them served it is not known, and the request is flagged so; that several did is not likely.
    """
    if alternatives.is_empty():
        return facts
    beside = facts.join(alternatives, on="row", how="left", maintain_order="left")
    sums = (pl.col(name).fill_null(0).sum() for name in reversed(_COUNTS))
    counted = beside.drop_nulls("kind_no").group_by("kind_no", "trace_no_of_kind").agg(*sums)
    order = [*reversed(_COUNTS), "trace_no_of_kind"]
    chosen = counted.sort(order, descending=[True, True, False]).unique("kind_no", keep="first", maintain_order=True)
    is_counted = pl.col("kind_no").is_null() | pl.col("trace_no_of_kind").is_in(chosen["trace_no_of_kind"].to_list())
    kept = (pl.when(is_counted).then(pl.col(name)).alias(name) for name in _COUNTS)
    return beside.with_columns(*kept).drop("kind_no", "trace_no_of_kind")


def _outermost(facts: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows that know the column and are of the least depth among those of their key."""
    known = facts.filter(pl.col(column).is_not_null())
    key, depth = known["key"].to_numpy(), known["depth"].to_numpy()
    first = np.flatnonzero(np.diff(key, prepend=-1))
    least_depth = np.repeat(depth[first], np.diff(first, append=len(key)))
    return known.filter(pl.Series(depth == least_depth, dtype=pl.Boolean))


def _first_tokens(facts: pl.DataFrame) -> pl.DataFrame:
    """The first token as the outermost layer saw it; none where several spans of that layer saw one."""
    return (
        _outermost(facts, "first_token_ns")
        .group_by("key")
        .agg(
            first_token_ns=_only_one("first_token_ns"),
            token_from=pl.col("vantage").first(),
            has_several_calls=pl.len() > 1,
        )
    )


def _engines(facts: pl.DataFrame) -> pl.DataFrame:
    """Where several generations run, none has the last token: what they made together took no single time.

    Those of one prompt share its id and its tokens.
    """
    engines = facts.filter(pl.col("vantage") == "engine").with_columns(
        is_own_prompt=pl.col("request_id").is_null()
        | pl.struct("key", "request_id", "input_tokens").is_first_distinct()
    )
    generations = pl.col("last_token_ns").count()
    return engines.group_by("key").agg(
        engine_count=pl.len(),
        generation_count=generations,
        engine_last_ns=pl.when(generations == 1).then(pl.col("last_token_ns").max()),
        engine_model=pl.col("model").drop_nulls().first(),
        engine_outcome=pl.col("outcome").drop_nulls().first(),
        engine_input_tokens=_sum_of_known(pl.col("input_tokens").filter("is_own_prompt")),
        engine_output_tokens=_sum_of_known(pl.col("output_tokens")),
    )


def _sum_of_known(values: pl.Expr) -> pl.Expr:
    return pl.when(values.is_not_null().any()).then(values.sum())


def _facing(facts: pl.DataFrame) -> pl.DataFrame:
    """The layers before the engine: where calls nest, the outermost one that counts tokens counts them."""
    facing = facts.filter(pl.col("vantage") != "engine")
    ends = facing.filter(pl.col("last_token_ns").is_not_null()).group_by("key")
    described = facing.group_by("key", maintain_order=True).agg(facing_from=pl.col("vantage").first())
    return (
        described.join(_answering_model(facing), on="key", how="left")
        .join(ends.agg(facing_last_ns=_only_one("last_token_ns")), on="key", how="left")
        .join(_counted(facing, "input_tokens", "facing_input_tokens"), on="key", how="left")
        .join(_counted(facing, "output_tokens", "facing_output_tokens"), on="key", how="left")
    )


def _answering_model(facing: pl.DataFrame) -> pl.DataFrame:
    """The model of the outermost call that did not end badly, else of any: a fallback answers in its own name."""
    known = facing.filter(pl.col("model").is_not_null()).select(
        "key", facing_model="model", is_bad=pl.col("outcome").is_in(_BAD).fill_null(False)
    )
    by_end = known.sort("is_bad", maintain_order=True).drop("is_bad")
    return by_end.unique("key", keep="first", maintain_order=True)


def _only_one(column: str) -> pl.Expr:
    return pl.when(pl.len() == 1).then(pl.col(column).first())


def _counted(facts: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """The sum over the outermost layer that counts."""
    return _outermost(facts, column).group_by("key").agg(pl.col(column).sum().alias(name))


def _call_outcomes(facts: pl.DataFrame) -> pl.DataFrame:
    """How the calls of a key ended together: the last of the bad ends that counts, else of the unknown ones, else ok
    where one is known.

    A bad end does not count where the call was repeated: a later call under the same span did not end badly.
    Nor does it where the call that it was made for says that it ended well, nor where it was called off because
    another one beside it answered (a hedge).
    """
    calls = facts.filter(pl.col("vantage") != "engine")
    is_bad = pl.col("outcome").is_in(_NOT_WELL).fill_null(False)
    held = calls.filter(pl.col("parent_row") >= 0)
    beside = held.filter(~is_bad).group_by("parent_row")
    well = beside.agg(repeated_ns=pl.col("start_ns").max(), won_ns=pl.col("end_ns").max())
    answered = calls.filter(pl.col("outcome") == "ok").select(parent_row="row", is_answered=pl.lit(True))
    bad = calls.filter(is_bad).join(well, on="parent_row", how="left")
    is_repeated = pl.col("repeated_ns") >= pl.col("end_ns")
    counting = bad.join(answered, on="parent_row", how="left").filter(
        ~(is_repeated | _has_lost()).fill_null(False) & pl.col("is_answered").is_null()
    )
    by_weight = counting.sort("key", pl.col("outcome") != "unknown", "start_ns", "tiebreak")
    ended_badly = by_weight.group_by("key").agg(pl.col("outcome").last())
    ended_well = answered.select(row="parent_row").join(calls, on="row").select("key", "outcome")
    return (
        pl.concat([ended_badly, ended_well])
        .unique("key", keep="first", maintain_order=True)
        .rename({"outcome": "call_outcome"})
    )


def _has_lost() -> pl.Expr:
    """Whether a call was called off while or right after another one beside it ended well."""
    overlapped = pl.col("won_ns") > pl.col("start_ns")
    in_time = pl.col("won_ns") + _CALLED_OFF_NS >= pl.col("end_ns")
    return (pl.col("outcome") == "aborted") & overlapped & in_time


def _decided(joined: pl.DataFrame) -> pl.DataFrame:
    """One value of each fact from the layers that tell it.

    Where nobody tells how a request ended and no span failed, it is ok, like that of any service. Only where
    an engine had it and tells of no token is the outcome unknown.
    """
    has_one_stream = pl.col("generation_count").fill_null(0) <= 1
    seen_from = pl.coalesce(
        "facing_from", pl.when(pl.col("engine_count").is_not_null()).then(pl.lit("engine")), pl.lit("service")
    )
    call_outcome = pl.col("call_outcome")
    return joined.with_columns(
        outcome=pl.when(pl.col("root_outcome").is_in(_BAD))
        .then("root_outcome")
        .when(call_outcome.is_in(_NOT_WELL))
        .then(call_outcome)
        .otherwise(
            pl.coalesce(
                "root_outcome",
                call_outcome,
                "engine_outcome",
                pl.when(pl.col("engine_count").is_not_null()).then(pl.lit("unknown")).otherwise(pl.lit("ok")),
            )
        ),
        vantage=pl.coalesce("token_from", seen_from),
        seen_from=seen_from,
        model=pl.coalesce("facing_model", "engine_model"),
        input_tokens=pl.coalesce("engine_input_tokens", "facing_input_tokens"),
        output_tokens=pl.coalesce("engine_output_tokens", "facing_output_tokens"),
        has_several_calls=pl.col("has_several_calls").fill_null(False) | (pl.col("engine_count") > 1).fill_null(False),
    ).with_columns(
        last_token_ns=pl.coalesce(
            "engine_last_ns",
            pl.when((pl.col("outcome") == "ok") & has_one_stream).then("facing_last_ns"),
        )
    )


def _checked(decided: pl.DataFrame) -> pl.DataFrame:
    """Token times inside their request; an engine may write its last token before anybody sees the first."""
    first, last = pl.col("first_token_ns"), pl.col("last_token_ns")
    within = decided.with_columns(
        first_fits=first.is_between("start_ns", "end_ns"), seen_last_ns=pl.max_horizontal(first, last)
    ).with_columns(last_fits=pl.col("seen_last_ns") <= pl.col("end_ns"))
    usable = pl.col("first_fits").fill_null(False)
    return within.select(
        "key",
        "root_row",
        "start_ns",
        "end_ns",
        first_token_ns=pl.when(usable).then(first),
        last_token_ns=pl.when(usable & last.is_not_null() & pl.col("last_fits")).then("seen_last_ns"),
        input_tokens="input_tokens",
        output_tokens="output_tokens",
        model="model",
        outcome="outcome",
        vantage="vantage",
        seen_from="seen_from",
        conflicts=pl.concat_str(
            "conflicts",
            pl.when(~usable & first.is_not_null()).then(pl.lit("first_token")),
            pl.when(usable & last.is_not_null() & ~pl.col("last_fits")).then(pl.lit("last_token")),
            separator=",",
            ignore_nulls=True,
        ).replace("", None),
        has_several_calls="has_several_calls",
    )
