"""LiteLLM in front of a provider that sends no spans: what a gateway alone can tell.

`litellm` is the second kind of its spans: the call is a client span with `time_to_first_chunk`.
`litellm_v1` is the first kind: `raw_gen_ai_request` is the call; `router`, `litellm_request` and `self`
enclose or repeat it, and no span tells when the first token came.
"""

from __future__ import annotations

from dataclasses import replace

from generators.serving.dialects.common import (
    LITELLM_NAMES,
    MODEL_NAME,
    Sketch,
    chat_group,
    check_groups,
    engine_resources,
    finished,
    root_group,
    sketch,
)
from generators.serving.simulation import Run
from generators.spans import INTERNAL, Column, Emission, Optional, SpanGroup

V1_NAMES = ("auth", "redis", "redis", "guardrail", "queue", "router", "self")


def emission(run: Run, *, seed: int) -> Emission:
    """The run as the second kind of LiteLLM's spans, without any below the call."""
    plan = sketch(run, seed=seed, shows_stages=False)
    groups = [*check_groups(plan, LITELLM_NAMES), _call(plan), root_group(plan)]
    return finished(plan, groups, engine_resources(run, "provider"))


def _call(plan: Sketch) -> SpanGroup:
    """The call with the time to its first chunk as an attribute, in seconds."""
    group = chat_group(plan)
    event = group.events[0]
    chunk_s = (event.time_ns - group.start_ns) / 1e9
    more: dict[str, Column | Optional] = {
        "gen_ai.provider.name": "openai",
        "server.address": "api.provider.example",
        "gen_ai.response.time_to_first_chunk": Optional(chunk_s, event.present),
    }
    return replace(group, attributes={**group.attributes, **more}, events=())


def emission_v1(run: Run, *, seed: int) -> Emission:
    """The run as the first kind of LiteLLM's spans."""
    plan = sketch(run, seed=seed, shows_stages=False)
    root = replace(root_group(plan), name="Received Proxy Server Request")
    checks = [group for group in check_groups(plan, V1_NAMES) if group.name != "queue"]
    return finished(plan, [*_quota_named(checks), *_enclosing(plan), root], engine_resources(run, "provider"))


def _quota_named(checks: list[SpanGroup]) -> list[SpanGroup]:
    """The quota check is `proxy_pre_call`; the response cache is redis."""
    named = list(checks)
    named[1] = replace(named[1], name="proxy_pre_call")
    return named


def _enclosing(plan: Sketch) -> list[SpanGroup]:
    """`router` around `litellm_request` around the call, and `self`, which repeats it beside them."""
    call = chat_group(plan)
    router, request, repeated = (plan.ids(f"litellm.{name}", len(call)) for name in ("router", "request", "self"))
    usage = {key: value for key, value in call.attributes.items() if key.startswith("gen_ai.")}
    raw = replace(
        call, name="raw_gen_ai_request", kind=INTERNAL, parent_id=request, events=(),
        attributes={"llm.openai.model": MODEL_NAME},
    )  # fmt: skip
    outside = replace(raw, name="router", span_id=router, parent_id=call.parent_id, status=None, attributes={})
    return [
        raw,
        replace(raw, name="litellm_request", span_id=request, parent_id=router, attributes=usage),
        outside,
        replace(outside, name="self", span_id=repeated),
    ]
