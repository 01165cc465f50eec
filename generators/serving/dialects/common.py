"""What all dialects share: ids, resources, absolute time, and the gateway in front of the engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.seeds import identifiers
from generators.serving import stages, state
from generators.serving.parameters import replicas
from generators.serving.simulation import START_PHASES, Run
from generators.serving.timeline import Attempts, attempts
from generators.serving.workload import NS_PER_S
from generators.spans import (
    CLIENT,
    ERROR,
    INTERNAL,
    SERVER,
    Column,
    Emission,
    EventGroup,
    LinkGroup,
    Optional,
    Scalar,
    SpanGroup,
)

MODEL_NAME = "llama-3.1-8b-instruct"
GATEWAY_SCOPE = "gateway"
CLIENT_SCOPE = "openai"
GATEWAY = 0
"""The gateway's place in the list of resources; replica k stands at k + 1."""

CHECKS = (
    stages.GW_AUTH, stages.GW_RATELIMIT, stages.GW_CACHE, stages.GW_GUARDRAIL, stages.GW_QUEUE,
    stages.GW_ROUTE,
    stages.RETRY,
)  # fmt: skip
PLAIN_NAMES = ("auth", "rate_limit", "cache", "guardrail", "queue", "route", "retry_backoff")
LITELLM_NAMES = (
    "auth /v1/chat/completions", "redis.incr rate_limits", "cache.get llm_response",
    "execute_guardrail content",
    "queue", "route chat", "retry_backoff",
)  # fmt: skip


@dataclass(frozen=True)
class Sketch:
    """A run on its way to spans: absolute time, span ids of roots and attempts, whether stages are named."""

    run: Run
    seed: int
    origin_ns: int
    attempts: Attempts
    root_ids: np.ndarray
    chat_ids: np.ndarray
    shows_stages: bool

    def ids(self, purpose: str, count: int) -> np.ndarray:
        """Span ids for one kind of span."""
        return identifiers(self.seed, f"span_ids.{purpose}", count)

    def stage(self, name: str) -> dict[str, Scalar]:
        """The stage attribute, in the dialect that has one."""
        return {"tracekit.stage": name} if self.shows_stages else {}


def sketch(run: Run, *, seed: int, shows_stages: bool) -> Sketch:
    """Prepare a run for a dialect."""
    table = attempts(run)
    return Sketch(
        run, seed, int(run.values["run.start_unix_s"]) * NS_PER_S, table,
        identifiers(seed, "span_ids.root", run.requests.size), identifiers(seed, "span_ids.chat",
        table.request.size),
        shows_stages,
    )  # fmt: skip


def has_clients(run: Run) -> bool:
    """Whether clients send spans."""
    return bool(run.values["emit.client_spans"])


def root_parents(plan: Sketch) -> np.ndarray:
    """Parents of what is the outermost span at the gateway: the clients' spans, or none."""
    count = plan.run.requests.size
    return plan.ids("client", count) if has_clients(plan.run) else np.zeros(count, np.uint64)


def client_group(plan: Sketch, resource: int) -> SpanGroup:
    """One client span a request: from sending it to the last byte, in the GenAI conventions."""
    requests = plan.run.requests
    count, has_first = requests.size, requests["first_ns"] >= 0
    return SpanGroup(
        f"chat {MODEL_NAME}", CLIENT_SCOPE, CLIENT, np.full(count, resource), np.arange(count), root_parents(plan),
        np.zeros(count, np.uint64), plan.origin_ns + requests["arrival_ns"] - requests["up_ns"],
        plan.origin_ns + requests["close_ns"] + requests["down_ns"],
        status=np.where(requests["status"] >= 400, ERROR, 0).astype(np.uint8),
        attributes={
            **plan.stage("client.net"), "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
            "gen_ai.request.model": MODEL_NAME, "gen_ai.request.stream": True, "server.address": "api.example",
            "error.type": Optional(requests["status"].astype("U").astype(object), requests["status"] >= 400),
        },
        events=(EventGroup("first_token", plan.origin_ns + requests["first_ns"] + requests["down_ns"], has_first),),
    )  # fmt: skip


def finished(plan: Sketch, groups: list[SpanGroup], engine: list[dict[str, Scalar]]) -> Emission:
    """The emission: gateway and engine resources, trace ids, and those groups that have spans.

    Traces beyond those of the requests are the starts of replicas.
    """
    count = plan.run.requests.size + starting_replicas(plan.run).size
    high = identifiers(plan.seed, "trace_ids.high", count)
    resources = [gateway_resource(), *engine]
    if has_clients(plan.run):
        groups = [*groups, client_group(plan, len(resources))]
        resources.append({"service.name": "assistant", "service.instance.id": "client-0", "host.name": "client-0"})
    whole = Emission(tuple(resources), high, identifiers(plan.seed, "trace_ids.low", count), ())
    return whole.with_groups(groups)


def gateway_resource() -> dict[str, Scalar]:
    """The process in front."""
    return {"service.name": "gateway", "service.instance.id": "gateway-0", "host.name": "gateway-0"}


def engine_resources(run: Run, service: str, **more: Scalar) -> list[dict[str, Scalar]]:
    """One process for each replica, on a host of its own."""
    return [
        {"service.name": service, "service.instance.id": f"{service}-{number}",
        "host.name": f"worker-{number}",
         "tracekit.parallel.dp": number, **{key.replace("__", "."): value for key, value in more.items()}}
        for number in range(sum(replicas(run.values)))
    ]  # fmt: skip


def on_gateway(count: int) -> np.ndarray:
    """The resource column of spans that the gateway sends."""
    return np.full(count, GATEWAY, np.int64)


def gateway_groups(plan: Sketch, names: tuple[str, ...]) -> list[SpanGroup]:
    """Root, checks, upstream calls and the time that the client takes to read the rest."""
    return [*check_groups(plan, names), stream_group(plan), chat_group(plan), root_group(plan)]


STARTUP_NAMES = ("pull_image", "load_weights", "compile")
VLLM_STARTUP_NAMES = ("Prepare model", "Load weights", "Capture model")


def starting_replicas(run: Run) -> np.ndarray:
    """Numbers of the replicas that start during the run."""
    if not run.values["fault.cold_start"] or run.first_request > 0:
        return np.zeros(0, np.int64)
    count, struck = sum(replicas(run.values)), int(run.values["fault.replica"])
    return np.arange(count) if struck < 0 else np.array([struck])


def startup_groups(plan: Sketch, names: tuple[str, ...], *, root: str, scope: str) -> list[SpanGroup]:
    """The starts of replicas, a trace each: a root around what a replica does one after the other."""
    starting = starting_replicas(plan.run)
    first_ns = plan.origin_ns + round(float(plan.run.values["fault.start_s"]) * NS_PER_S)
    lengths_ns = [round(float(plan.run.values[name]) * NS_PER_S) for name in START_PHASES]
    bounds_ns = first_ns + np.concatenate([[0], np.cumsum(lengths_ns)])
    root_ids = plan.ids("startup.root", starting.size)

    def group(name: str, ids: np.ndarray, parents: np.ndarray, start_ns: int, end_ns: int) -> SpanGroup:
        """One span of each replica that starts."""
        return SpanGroup(
            name, scope, INTERNAL, starting + 1, plan.run.requests.size + np.arange(starting.size), ids,
            parents, np.full(starting.size, start_ns), np.full(starting.size, end_ns),
            attributes=plan.stage("lifecycle.startup"),
        )  # fmt: skip

    phases = [
        group(name, plan.ids(f"startup.{name}", starting.size), root_ids, start_ns, end_ns)
        for name, start_ns, end_ns in zip(names, bounds_ns.tolist(), bounds_ns[1:].tolist(), strict=False)
    ]
    whole = group(root, root_ids, np.zeros(starting.size, np.uint64), int(bounds_ns[0]), int(bounds_ns[-1]))
    return [*phases, whole]


def sibling_links(plan: Sketch) -> tuple[LinkGroup, ...]:
    """From each request of a call to the first one, which has a trace of its own."""
    fan_out = int(plan.run.values["clients.fan_out"])
    if fan_out == 1:
        return ()
    number = np.arange(plan.run.requests.size)
    first = number // fan_out * fan_out
    attributes: dict[str, Column | Optional] = {"link.kind": "sibling", "call.position": number - first}
    return (LinkGroup(plan.root_ids[first], number != first, first, attributes),)


def root_group(plan: Sketch) -> SpanGroup:
    """One server span a request, from arrival to the close of the response."""
    requests = plan.run.requests
    count = requests.size
    return SpanGroup(
        "POST /v1/chat/completions", GATEWAY_SCOPE, SERVER, on_gateway(count), np.arange(count),
        plan.root_ids,
        root_parents(plan), plan.origin_ns + requests["arrival_ns"],
        plan.origin_ns + requests["close_ns"], is_parent_remote=has_clients(plan.run),
        status=np.where(requests["status"] >= 500, ERROR, 0).astype(np.uint8),
        attributes={
            **plan.stage("gw.ingress"), "http.request.method": "POST", "http.route": "/v1/chat/completions",
            "url.scheme": "https", "http.response.status_code": requests["status"],
            "tenant.id": np.char.add("tenant-", requests["tenant"].astype("U")),
        },
        links=sibling_links(plan),
    )  # fmt: skip


def check_groups(plan: Sketch, names: tuple[str, ...]) -> list[SpanGroup]:
    """Authentication, quota, cache, guardrail, admission queue, routing, pauses before another attempt."""
    intervals = plan.run.intervals
    groups = []
    for stage, name in zip(CHECKS, names, strict=True):
        rows = intervals[intervals["stage"] == stage]
        groups.append(SpanGroup(
            name, GATEWAY_SCOPE, INTERNAL, on_gateway(rows.size), rows["request"], plan.ids(f"check.{stage}",
            rows.size),
            plan.root_ids[rows["request"]], plan.origin_ns + rows["start_ns"],
            plan.origin_ns + rows["end_ns"],
            attributes=plan.stage(stages.NAMES[stage]),
        ))  # fmt: skip
    return groups


def stream_group(plan: Sketch) -> SpanGroup:
    """The rest of the response on its way to a client that reads slowly."""
    intervals, requests = plan.run.intervals, plan.run.requests
    last_ns = requests["last_ns"][intervals["request"]]
    rows = intervals[(intervals["stage"] == stages.OUT_STREAM) & (last_ns >= 0) & (intervals["start_ns"] >= last_ns)]
    return SpanGroup(
        "stream", GATEWAY_SCOPE, INTERNAL, on_gateway(rows.size), rows["request"], plan.ids("stream",
        rows.size),
        plan.root_ids[rows["request"]], plan.origin_ns + rows["start_ns"], plan.origin_ns + rows["end_ns"],
        attributes=plan.stage("out.stream"),
    )  # fmt: skip


def chat_group(plan: Sketch) -> SpanGroup:
    """One client span an attempt, in the GenAI conventions, with the first token as an event."""
    table, requests = plan.attempts, plan.run.requests[plan.attempts.request]
    is_ok = (requests["outcome"] == state.OK) & ~table.is_failed
    has_first = (requests["first_ns"] >= table.start_ns) & (requests["first_ns"] <= table.end_ns)
    return SpanGroup(
        f"chat {MODEL_NAME}", GATEWAY_SCOPE, CLIENT, on_gateway(table.request.size), table.request,
        plan.chat_ids,
        plan.root_ids[table.request], plan.origin_ns + table.start_ns, plan.origin_ns + table.end_ns,
        status=np.where(table.is_failed, ERROR, 0).astype(np.uint8),
        attributes={
            **plan.stage("net.dispatch"), "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "self_hosted",
            "gen_ai.request.model": MODEL_NAME, "gen_ai.request.stream": True,
            "request.attempt": table.attempt,
            "gen_ai.usage.input_tokens": Optional(requests["prompt_tokens"], is_ok),
            "gen_ai.usage.output_tokens": Optional(requests["output_tokens"], is_ok),
            "error.type": Optional(error_types(plan), table.is_failed),
        },
        events=(EventGroup("first_token", plan.origin_ns + requests["first_ns"], has_first), _exception(plan)),
    )  # fmt: skip


def _exception(plan: Sketch) -> EventGroup:
    """What the gateway's client raised at the end of each failed attempt."""
    errors = error_types(plan)
    attributes = {"exception.type": errors, "exception.message": _messages(plan, errors)}
    return EventGroup("exception", plan.origin_ns + plan.attempts.end_ns, plan.attempts.is_failed, attributes)


def _messages(plan: Sketch, errors: np.ndarray) -> np.ndarray:
    attempts = plan.attempts.attempt.tolist()
    told = zip(attempts, errors.tolist(), strict=True)
    return np.array([f"attempt {attempt}: {error}" for attempt, error in told], dtype=object)


def error_types(plan: Sketch) -> np.ndarray:
    """What the gateway saw of each failed attempt: a refusal, a broken connection, an error of the engine,
    or no token in time.
    """
    table, requests = plan.attempts, plan.run.requests[plan.attempts.request]
    is_final = table.attempt == requests["attempt"]
    is_broken = np.where(is_final, requests["status"] == 502, requests["migrations"] > 0)
    is_refused = is_final & (requests["status"] == 503)
    is_error = np.where(is_final, requests["status"] == 500, requests["engine_errors"] > 0)
    names = np.where(is_broken, "connection_error", np.where(is_error, "500", "timeout"))
    return np.where(is_refused, "503", names).astype(object)
