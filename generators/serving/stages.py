"""Canonical stage codes as small integers for the simulation, and the layers in which they lie."""

from __future__ import annotations

NAMES = (
    "gw.ingress", "gw.auth", "gw.ratelimit", "gw.cache", "gw.guardrail", "gw.queue", "gw.route",
    "net.dispatch",
    "fe.preprocess", "fe.dispatch", "eng.grammar", "eng.queue", "eng.prefill", "kv.bootstrap", "kv.transfer",
    "eng.decode_wait", "eng.decode", "eng.preempt_wait", "eng.recompute", "out.detok", "out.stream", "retry",
)  # fmt: skip
(
    GW_INGRESS, GW_AUTH, GW_RATELIMIT, GW_CACHE, GW_GUARDRAIL, GW_QUEUE, GW_ROUTE, NET_DISPATCH,
    FE_PREPROCESS, FE_DISPATCH, ENG_GRAMMAR, ENG_QUEUE, ENG_PREFILL, KV_BOOTSTRAP, KV_TRANSFER,
    ENG_DECODE_WAIT, ENG_DECODE, ENG_PREEMPT_WAIT, ENG_RECOMPUTE, OUT_DETOK, OUT_STREAM, RETRY,
) = range(len(NAMES))  # fmt: skip
COUNT = len(NAMES)

CODES = {name: code for code, name in enumerate(NAMES)}

OWNERS = {"gw.guardrail": "application", "client.net": "client"}
"""Who can do something about a stage, where it is not the platform."""


def owner_of(stage: str) -> str:
    """Owner of a stage: client, application or platform."""
    return OWNERS.get(stage, "platform")


DRAWN = (
    GW_INGRESS, GW_AUTH, GW_RATELIMIT, GW_CACHE, GW_GUARDRAIL, GW_ROUTE, NET_DISPATCH, FE_PREPROCESS,
    FE_DISPATCH,
    ENG_GRAMMAR, KV_BOOTSTRAP, OUT_DETOK, OUT_STREAM,
)  # fmt: skip
"""Stages whose duration is drawn for each request before the simulation starts."""

REPEATED = tuple(range(GW_QUEUE, OUT_DETOK))
"""Stages that a failed attempt spends in vain: in the truth they count as `retry`."""
