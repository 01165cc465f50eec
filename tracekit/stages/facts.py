"""What the spans of a request tell about it: when its tokens came, how many, which model, how it ended."""

from __future__ import annotations

import polars as pl

from tracekit.partition import Partition

_BAD = ["aborted", "rejected", "invalid", "failed"]


def request_facts(facts: pl.DataFrame, outcomes: pl.DataFrame, division: Partition) -> pl.DataFrame:
    """One row a key, in order, with what is known about its request.

    `facts` are those of the mappings, `outcomes` what root spans say (`row`, `outcome`), `division` the
    partition whose rows both refer to. Every layer that a request passes may tell the same fact; one is
    taken: the first token from the outermost layer that saw it, the last token and the token counts from the
    engine, else from the call. Where several calls of one layer compete there is no single first or last
    token.

    Columns: `key`, `root_row`, `start_ns`, `end_ns`, `first_token_ns`, `last_token_ns`, `input_tokens`,
    `output_tokens`, `model`, `outcome`, `vantage`, `conflicts` (a list of names), `has_several_calls`. Times
    are on the clock of the root; a token time outside the request is a conflict and not used.
    """
    keys = pl.DataFrame(
        {
            "key": range(division.key_count),
            "root_row": division.root_row,
            "start_ns": division.root_start_ns,
            "end_ns": division.root_end_ns,
        },
        schema_overrides={"key": pl.Int64},
    ).join(outcomes.rename({"row": "root_row", "outcome": "root_outcome"}), on="root_row", how="left")
    if facts.is_empty():
        return _without_facts(keys)
    told = _on_root_clock(facts, division)
    joined = (
        keys.join(_first_tokens(told), on="key", how="left")
        .join(_engines(told), on="key", how="left")
        .join(_facing(told), on="key", how="left")
        .join(_conflicts(told), on="key", how="left")
    )
    return _checked(_decided(joined.sort("key")))


def _conflicts(told: pl.DataFrame) -> pl.DataFrame:
    """Names of the values that were not used, as a list a key."""
    named = told.filter(pl.col("conflicts").is_not_null()).select("key", pl.col("conflicts").str.split(","))
    return named.explode("conflicts").group_by("key", maintain_order=True).agg("conflicts")


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
        conflicts=pl.lit([], dtype=pl.List(pl.String)),
        has_several_calls=pl.lit(False),
    )


def _on_root_clock(facts: pl.DataFrame, division: Partition) -> pl.DataFrame:
    row = facts["row"].to_numpy()
    return facts.with_columns(
        pl.col("first_token_ns", "last_token_ns") + pl.Series(division.shift_ns[row]),
        pl.Series("key", division.key[row]),
        pl.Series("depth", division.depth[row]),
        pl.Series("tiebreak", division.tiebreak[row]),
    ).sort("key", "depth", "tiebreak")


def _first_tokens(told: pl.DataFrame) -> pl.DataFrame:
    """The first token as the outermost layer saw it; none where several spans of that layer saw one."""
    seen = told.filter(pl.col("first_token_ns").is_not_null())
    outermost = seen.filter(pl.col("depth") == pl.col("depth").first().over("key"))
    return outermost.group_by("key").agg(
        first_token_ns=pl.when(pl.len() == 1).then(pl.col("first_token_ns").first()),
        seen_from=pl.col("vantage").first(),
        has_several_calls=pl.len() > 1,
    )


def _engines(told: pl.DataFrame) -> pl.DataFrame:
    engines = told.filter(pl.col("vantage") == "engine")
    return engines.group_by("key").agg(
        engine_count=pl.len(),
        engine_last_ns=pl.when(pl.len() == 1).then(pl.col("last_token_ns").first()),
        engine_model=pl.col("model").drop_nulls().first(),
        engine_outcome=pl.col("outcome").drop_nulls().first(),
        engine_input_tokens=_sum_of_known("input_tokens"),
        engine_output_tokens=_sum_of_known("output_tokens"),
    )


def _sum_of_known(column: str) -> pl.Expr:
    return pl.when(pl.col(column).is_not_null().any()).then(pl.col(column).sum())


def _facing(told: pl.DataFrame) -> pl.DataFrame:
    """The layers before the engine: where calls nest, the outermost one that counts tokens counts them."""
    facing = told.filter(pl.col("vantage") != "engine")
    counting = pl.col("depth") == pl.col("depth").filter(pl.col("output_tokens").is_not_null()).min()
    return facing.group_by("key").agg(
        facing_from=pl.col("vantage").first(),
        facing_last_ns=pl.when(pl.col("last_token_ns").count() == 1).then(
            pl.col("last_token_ns").drop_nulls().first()
        ),
        facing_model=pl.col("model").drop_nulls().first(),
        facing_outcome=pl.when(pl.col("outcome").count() == 1).then(pl.col("outcome").drop_nulls().first()),
        facing_input_tokens=pl.col("input_tokens").filter(counting).sum(),
        facing_output_tokens=pl.when(pl.col("output_tokens").count() > 0).then(
            pl.col("output_tokens").filter(counting).sum()
        ),
    )


def _decided(joined: pl.DataFrame) -> pl.DataFrame:
    """One value of each fact from the layers that tell it."""
    call_outcome = pl.col("facing_outcome")
    is_call = pl.col("engine_count").is_not_null() | pl.col("facing_from").is_not_null()
    return joined.with_columns(
        outcome=pl.when(pl.col("root_outcome").is_in(_BAD))
        .then("root_outcome")
        .when(call_outcome.is_in(_BAD))
        .then(call_outcome)
        .otherwise(
            pl.coalesce(
                "root_outcome",
                call_outcome,
                "engine_outcome",
                pl.when(is_call).then(pl.lit("unknown")).otherwise(pl.lit("ok")),
            )
        ),
        vantage=pl.coalesce(
            "seen_from",
            "facing_from",
            pl.when(pl.col("engine_count").is_not_null()).then(pl.lit("engine")),
            pl.lit("service"),
        ),
        model=pl.coalesce("facing_model", "engine_model"),
        input_tokens=pl.coalesce("engine_input_tokens", "facing_input_tokens"),
        output_tokens=pl.coalesce("engine_output_tokens", "facing_output_tokens"),
        has_several_calls=pl.col("has_several_calls").fill_null(False)
        | (pl.col("engine_count") > 1).fill_null(False),
        conflicts=pl.col("conflicts").fill_null(pl.lit([], dtype=pl.List(pl.String))),
    ).with_columns(
        last_token_ns=pl.coalesce("engine_last_ns", pl.when(pl.col("outcome") == "ok").then("facing_last_ns"))
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
        conflicts=pl.concat_list(
            "conflicts",
            pl.when(~usable & first.is_not_null()).then(pl.lit("first_token")),
            pl.when(usable & last.is_not_null() & ~pl.col("last_fits")).then(pl.lit("last_token")),
        ).list.drop_nulls(),
        has_several_calls="has_several_calls",
    )
