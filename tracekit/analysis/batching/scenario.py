"""Requests as they were, and as they would be under a change: time to first token, per output token, end to end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from tracekit.analysis.batching.change import ServingChange
from tracekit.analysis.batching.engine_times import EngineTimes, engine_times
from tracekit.analysis.batching.normal import excess_ns
from tracekit.analysis.batching.replay import AS_IT_WAS, EngineReplay, Replayed, Setting
from tracekit.partition import Array
from tracekit.schema import ServingStage, parts_of

PACES = (0.98, 0.99, 1.0, 1.01, 1.02)
"""Steps take a little less or more: what the answer hangs on such trifles is part of its bound."""

_LOTS_APART = 7919

COMPUTED = (ServingStage.ENG_PREFILL, ServingStage.ENG_DECODE, ServingStage.ENG_RECOMPUTE, ServingStage.ENG_STALL)
"""Stages that are normal when the steps of engines are."""

_FROM_QUEUE_ON = (
    ServingStage.ENG_QUEUE,
    ServingStage.ENG_PREFILL,
    ServingStage.ENG_DECODE_WAIT,
    ServingStage.ENG_DECODE,
    ServingStage.ENG_RECOMPUTE,
    ServingStage.OUT_DETOK,
    ServingStage.OUT_STREAM,
)


@dataclass(frozen=True)
class Times:
    """Times of the same requests, ns (float64): to the first token, per token after it (NaN for one token), whole."""

    ttft: Array
    tpot: Array
    e2e: Array


@dataclass(frozen=True)
class Scenario:
    """The requests of a frame of `queries/whatif/requests.sql` under a change.

    is_normal: by row of the frame, who was served normally; None where nobody says.
    """

    requests: pl.DataFrame
    change: ServingChange
    is_normal: Array | None = None

    @cached_property
    def engines(self) -> EngineTimes:
        """The requests in their engines."""
        return engine_times(self.requests)

    @cached_property
    def replay(self) -> EngineReplay:
        """The engines as they were learnt."""
        return EngineReplay.learnt(self.engines)

    @property
    def needs_engines(self) -> bool:
        """Whether the change cannot be told without a replay of the engines."""
        return self.change.moves_engines or self.change.stage in COMPUTED

    @cached_property
    def asked(self) -> Array:
        """Rows of the requests that the question is about and that ended well with tokens."""
        chosen = self.requests["is_asked"] & self.requests["is_served"]
        return np.flatnonzero(chosen.to_numpy())

    def before(self) -> Times:
        """The asked requests as they were."""
        return self._times(np.zeros(len(self.requests)), self._decode_ns.astype(float), np.zeros(len(self.requests)))

    def replayed(self) -> Times:
        """The asked requests as the replay has them without any change."""
        return self._moved(self.replay.as_it_was, AS_IT_WAS)

    def after(self) -> Iterator[Times]:
        """The asked requests under the change, once for each of `PACES`."""
        if not self.uses_engines:
            yield self._without_engines()
            return
        for number, pace in enumerate(PACES):
            setting = replace(self._setting, pace=pace, lot=_LOTS_APART * number)
            yield self._moved(self.replay.run(setting), setting)

    @cached_property
    def uses_engines(self) -> bool:
        """Whether engines are replayed: where the change or its stage lies before or in them and spans show them."""
        return self.needs_engines or (self.engines.count > 0 and self.change.stage != ServingStage.ENG_QUEUE)

    @cached_property
    def _setting(self) -> Setting:
        later = -self._excess["ttft"] if self._is_before_engines else np.zeros(len(self.requests), np.int64)
        return Setting(
            added=self.change.added,
            seats=self.change.seats,
            is_apart=self.change.is_apart,
            usual_speed=self.change.stage in COMPUTED,
            later_ns=later[self.engines.row],
        )

    @property
    def _is_before_engines(self) -> bool:
        stage = self.change.stage
        return stage is not None and not any(part in _FROM_QUEUE_ON for part in parts_of(stage))

    @cached_property
    def _excess(self) -> dict[str, Array]:
        """By window, how much of the changed stage's time is above the normal (int64, by row)."""
        tokens = self._column("input_tokens")
        names = ("ttft", "decode", "after")
        if self.change.stage is None or self.change.stage in COMPUTED:
            return {name: np.zeros(len(self.requests), np.int64) for name in names}
        return {name: excess_ns(self._column(f"changed_{name}_ns"), tokens, self.is_normal) for name in names}

    @cached_property
    def _decode_ns(self) -> Array:
        return self._column("last_token_ns") - self._column("first_token_ns")

    def _column(self, name: str) -> Array:
        return self.requests[name].fill_null(0).to_numpy().astype(np.int64)

    def _moved(self, found: Replayed, setting: Setting) -> Times:
        """Requests with the times of a replay; those of no engine as they were."""
        rows, engines = self.engines.row, self.engines
        shift = np.zeros(len(self.requests))
        decode = self._decode_ns.astype(float)
        out_ns = self._column("decode_out_ns")[rows] - self._column("first_out_ns")[rows]
        shift[rows] = found.first_ns - engines.first_ns
        decode[rows] = np.maximum(found.last_ns - found.first_ns + out_ns, 0)
        is_changed = setting is not AS_IT_WAS
        if is_changed and not self._is_before_engines:
            shift -= self._excess["ttft"]
        if is_changed:
            decode = np.maximum(decode - self._excess["decode"], 0)
        return self._times(shift, decode, -self._excess["after"] * float(is_changed))

    def _without_engines(self) -> Times:
        decode = np.maximum(self._decode_ns - self._excess["decode"], 0).astype(float)
        return self._times(-self._excess["ttft"].astype(float), decode, -self._excess["after"].astype(float))

    def _times(self, shift: Array, decode: Array, after_shift: Array) -> Times:
        """Times of the asked requests, from changes of the time to the first token and after the last one."""
        rows = self.asked
        ttft = (self._column("first_token_ns") - self._column("start_ns"))[rows] + shift[rows]
        rest = (self._column("end_ns") - self._column("last_token_ns"))[rows] + after_shift[rows]
        gaps = (self._column("output_tokens") - 1)[rows].astype(float)
        tpot = np.where(gaps > 0, decode[rows] / np.maximum(gaps, 1), np.nan)
        return Times(ttft.astype(float), tpot, ttft + decode[rows] + rest)
