"""Every parameter of the serving model with its default and where the default comes from.

Sources: Azure 2023 and Mooncake traces (lengths, arrivals, prefix reuse), vLLM's defaults (engine
limits), a roofline of an 8B model on one H100 (step times), arithmetic on bytes and bandwidth (KV
transfer). `assumption` marks the rest. `fault.*` is neutral by default: a counterfactual is the same run
with these at their defaults. `change.*` moves load or mix without any fault.
"""

from __future__ import annotations

from generators.parameters import Parameter, Values, resolve
from tracekit.errors import UsageError

ASSUMPTION = "assumption"
AZURE = "Azure 2023 conversation trace"
MOONCAKE = "Mooncake conversation trace"
VLLM = "vLLM default"
ROOFLINE = "roofline of an 8B model on one H100"

DELAYED_STAGES = (
    "gw.ingress", "gw.auth", "gw.ratelimit", "gw.cache", "gw.guardrail", "gw.route", "net.dispatch",
    "fe.preprocess",
    "fe.dispatch", "eng.grammar", "kv.bootstrap", "out.detok", "out.stream",
)  # fmt: skip
ROUTERS = ("round_robin", "least_requests", "random", "two_choices", "tenant_hash")
DIALECTS = ("tracekit", "vllm", "sglang", "dynamo", "triton", "litellm", "litellm_v1")

RUN = (
    Parameter("run.duration_s", 180.0, "requests arrive during this time", ASSUMPTION, 0.1, 1e7),
    Parameter("run.start_unix_s", 1767225600, "when the run starts, seconds since the epoch", ASSUMPTION, 1, 4e9),
    Parameter("run.max_requests", 0, "stop after so many arrivals; 0: no limit", ASSUMPTION),
)
CLIENTS = (
    Parameter("clients.rate_per_s", 14.0, "mean arrival rate", "about 0.6 of two replicas", 1e-6, 1e6),
    Parameter("clients.arrivals", "gamma", "gaps between arrivals", AZURE, choices=("gamma", "poisson", "on_off")),
    Parameter("clients.arrival_cv", 1.1, "coefficient of variation of gamma gaps", AZURE, 0.01, 50),
    Parameter("clients.on_share", 0.2, "on_off: share of time in which requests arrive", ASSUMPTION, 0.01, 1),
    Parameter("clients.cycle_s", 20.0, "on_off: mean length of an on and an off period together", ASSUMPTION, 0.01),
    Parameter("clients.tenants", 4, "tenants, equally active", ASSUMPTION, 1, 10000),
    Parameter("clients.abort_share", 0.0, "share of clients that leave when their patience ends", ASSUMPTION, 0, 1),
    Parameter("clients.patience_median_s", 8.0, "patience of those clients, log-normal", ASSUMPTION, 1e-3),
    Parameter("clients.patience_sigma", 0.6, "sigma of their patience", ASSUMPTION, 0, 5),
    Parameter("clients.read_tokens_per_s", 0.0, "how fast clients read; 0: as fast as tokens come", ASSUMPTION),
    Parameter("clients.fan_out", 1, "requests that a call sends at once and needs all of", ASSUMPTION, 1, 64),
    Parameter("clients.round_trip_ms", 20.0, "round trip between client and gateway, median", "estimate"),
    Parameter("clients.round_trip_sigma", 0.5, "sigma of it", "estimate", 0, 3),
    Parameter("clients.cancel_ms", 2.0, "until the others are cancelled when one of them fails", ASSUMPTION),
)
CHANGE = (
    Parameter("change.start_s", 90.0, "start of a change of load or mix", ASSUMPTION),
    Parameter("change.duration_s", 60.0, "its length", ASSUMPTION),
    Parameter("change.load_factor", 1.0, "arrival rate in that time, as a multiple", ASSUMPTION, 0, 100),
    Parameter("change.long_share", -1.0, "share of long prompts in that time; -1: unchanged", ASSUMPTION, -1, 1),
)
REQUESTS = (
    Parameter("requests.input_log_mean", 6.63, "log-normal prompt tokens: mean of the logarithm", AZURE, 0, 15),
    Parameter("requests.input_log_sd", 0.99, "standard deviation of the logarithm", AZURE, 0, 5),
    Parameter("requests.input_max_tokens", 14000, "longest prompt", AZURE, 1, 2**20),
    Parameter("requests.output_log_mean", 5.02, "log-normal output tokens: mean of the logarithm", AZURE, 0, 12),
    Parameter("requests.output_log_sd", 0.86, "standard deviation of the logarithm", AZURE, 0, 5),
    Parameter("requests.output_max_tokens", 1000, "longest output", AZURE, 1, 2**20),
    Parameter("requests.long_share", 0.0, "share of long-context requests", ASSUMPTION, 0, 1),
    Parameter("requests.long_log_mean", 8.74, "long context, prompt tokens: mean of the logarithm", MOONCAKE, 0, 15),
    Parameter("requests.long_log_sd", 1.2, "standard deviation of the logarithm", MOONCAKE, 0, 5),
    Parameter(
        "requests.long_max_tokens",
        32000,
        "longest long-context prompt (the trace's own is 128k)",
        ASSUMPTION,
        1,
    ),
    Parameter(
        "requests.prefix_hit_share",
        0.37,
        "mean share of a prompt found in the prefix cache",
        MOONCAKE,
        0,
        0.99,
    ),
    Parameter("requests.grammar_share", 0.0, "share of requests with structured output", ASSUMPTION, 0, 1),
    Parameter("requests.grammar_median_ms", 40.0, "compilation of their grammar", ASSUMPTION),
)
GATEWAY = (
    Parameter("gateway.ingress_median_ms", 0.3, "parse, TLS, body", ASSUMPTION),
    Parameter("gateway.auth_median_ms", 2.0, "authentication (1 to 5 ms)", "estimate"),
    Parameter("gateway.ratelimit_median_ms", 0.4, "quota check", ASSUMPTION),
    Parameter("gateway.cache_median_ms", 0.5, "response-cache lookup", ASSUMPTION),
    Parameter("gateway.cache_hit_share", 0.0, "share answered from the response cache", ASSUMPTION, 0, 1),
    Parameter("gateway.guardrail_median_ms", 0.0, "guardrail before the model; 0: none", ASSUMPTION),
    Parameter("gateway.route_median_ms", 1.0, "choice of a replica (0.5 to 3 ms)", "estimate"),
    Parameter("gateway.sigma", 0.4, "sigma of these log-normal durations", ASSUMPTION, 0, 3),
    Parameter(
        "gateway.max_inflight",
        0,
        "requests behind the gateway at once, the others queue; 0: no limit",
        ASSUMPTION,
    ),
    Parameter("gateway.quota_per_s", 0.0, "requests per second and tenant; above it 429; 0: no quota", ASSUMPTION),
    Parameter("gateway.quota_burst", 20.0, "size of the quota's token bucket", ASSUMPTION, 1),
    Parameter("gateway.router", "least_requests", "how a replica is chosen", ASSUMPTION, choices=ROUTERS),
    Parameter("gateway.attempt_timeout_s", 0.0, "an attempt without first token is given up; 0: never", ASSUMPTION),
    Parameter("gateway.max_attempts", 1, "attempts in all after time-outs and errors", ASSUMPTION, 1, 20),
    Parameter("gateway.retry_backoff_ms", 50.0, "pause before the next attempt", ASSUMPTION),
    Parameter("gateway.max_migrations", 0, "moves to another replica after a crash", ASSUMPTION, 0, 10),
)
NETWORK = (
    Parameter("network.dispatch_median_ms", 0.3, "gateway to frontend", ASSUMPTION),
    Parameter("network.return_median_ms", 1.0, "frontend back to the gateway, per token", ASSUMPTION),
    Parameter("network.sigma", 0.3, "sigma of both", ASSUMPTION, 0, 3),
)
FRONTEND = (
    Parameter("frontend.template_ms", 0.3, "chat template, per request", ASSUMPTION),
    Parameter("frontend.tokenise_us_per_token", 1.0, "tokeniser, one process a replica", "estimate"),
    Parameter("frontend.dispatch_median_ms", 0.2, "hand-over to the scheduler", ASSUMPTION),
    Parameter("frontend.detok_median_ms", 0.05, "detokenisation of one step (20 to 100 us)", "estimate"),
)
ENGINE = (
    Parameter("engine.replicas", 2, "replicas that prefill and decode", ASSUMPTION, 1, 512),
    Parameter("engine.step_base_ms", 5.0, "a step's time without any token", ROOFLINE, 1e-3),
    Parameter("engine.prefill_tokens_per_s", 30000.0, "prefill throughput inside a step", ROOFLINE, 1),
    Parameter("engine.step_us_per_sequence", 10.0, "a step's time per decoding sequence", ROOFLINE),
    Parameter("engine.step_ns_per_context_token", 40.0, "a step's time per token of decoding context", ROOFLINE),
    Parameter("engine.max_num_seqs", 256, "sequences in a batch", VLLM, 1, 4096),
    Parameter("engine.max_num_batched_tokens", 8192, "tokens in a step", VLLM, 1, 2**20),
    Parameter("engine.block_tokens", 16, "tokens in a KV block", VLLM, 1, 4096),
    Parameter("engine.kv_tokens", 400000, "tokens that the KV cache holds (8B on 80 GB)", ROOFLINE, 16),
    Parameter("engine.chunked_prefill", True, "mix chunks of prompts into decode steps", VLLM),
    Parameter("engine.max_queue", 0, "requests waiting in an engine, above it 503; 0: no limit", VLLM),
    Parameter("engine.spec_tokens", 0, "draft tokens a step of speculative decoding; 0: off", VLLM, 0, 16),
    Parameter("engine.spec_acceptance", 0.7, "share of draft tokens accepted", ASSUMPTION, 0, 1),
    Parameter("engine.spec_draft_ms", 1.0, "a step's extra time for drafting", ASSUMPTION),
)
DISAGGREGATION = (
    Parameter("disagg.prefill_replicas", 0, "replicas that only prefill; 0: no disaggregation", ASSUMPTION, 0, 256),
    Parameter("disagg.decode_replicas", 0, "replicas that only decode", ASSUMPTION, 0, 256),
    Parameter("disagg.kv_bytes_per_token", 131072, "KV bytes per token (8B, GQA, bf16)", "arithmetic", 1),
    Parameter("disagg.link_gb_per_s", 12.0, "bandwidth out of a prefill replica", "arithmetic", 1e-3),
    Parameter("disagg.bootstrap_median_ms", 2.0, "handshake and allocation before a transfer", ASSUMPTION),
)
FAULT = (
    Parameter("fault.start_s", 90.0, "start of the fault", ASSUMPTION),
    Parameter("fault.duration_s", 60.0, "its length", ASSUMPTION),
    Parameter("fault.replica", 1, "the replica concerned; -1: all", ASSUMPTION, -1, 511),
    Parameter("fault.delay_stage", "gw.auth", "stage that gets an extra delay", ASSUMPTION, choices=DELAYED_STAGES),
    Parameter("fault.delay_ms", 0.0, "median of the extra delay; 0: none", ASSUMPTION),
    Parameter("fault.delay_sigma", 0.3, "sigma of the extra delay", ASSUMPTION, 0, 3),
    Parameter("fault.delay_share", 1.0, "share of requests delayed", ASSUMPTION, 0, 1),
    Parameter("fault.step_factor", 1.0, "engine steps take so many times as long", ASSUMPTION, 1, 1000),
    Parameter("fault.router_share", 0.0, "share of requests pinned to the replica", ASSUMPTION, 0, 1),
    Parameter("fault.max_num_seqs", 0, "cap of sequences in a batch; 0: none", ASSUMPTION),
    Parameter("fault.kv_factor", 1.0, "share of the KV cache that is usable", ASSUMPTION, 0.001, 1),
    Parameter("fault.chunking_off", False, "whole prompts are prefilled before any decode", ASSUMPTION),
    Parameter("fault.cold_prefix", False, "the prefix cache finds nothing", ASSUMPTION),
    Parameter("fault.link_factor", 1.0, "KV transfers take so many times as long", ASSUMPTION, 1, 10000),
    Parameter("fault.quota_factor", 1.0, "share of the quota that is left", ASSUMPTION, 0, 1),
    Parameter("fault.max_queue", 0, "engine queue limit; 0: none", ASSUMPTION),
    Parameter("fault.slow_reader_share", 0.0, "share of clients that read slowly", ASSUMPTION, 0, 1),
    Parameter("fault.slow_reader_tokens_per_s", 8.0, "how fast those read", ASSUMPTION, 0.01),
    Parameter("fault.abort_share", 0.0, "share of clients that leave early", ASSUMPTION, 0, 1),
    Parameter("fault.abort_patience_median_s", 1.5, "their patience", ASSUMPTION, 1e-3),
    Parameter("fault.attempt_timeout_s", 0.0, "the gateway's time-out becomes this; 0: unchanged", ASSUMPTION),
    Parameter("fault.crash", False, "the replica dies and comes back at the end", ASSUMPTION),
    Parameter("fault.cold_start", False, "new replicas take over and have to start first", ASSUMPTION),
    Parameter("fault.image_s", 20.0, "cold start: pull of the image", ASSUMPTION),
    Parameter("fault.weights_s", 15.0, "cold start: load of the weights", ASSUMPTION),
    Parameter("fault.compile_s", 10.0, "cold start: compilation and capture of graphs", ASSUMPTION),
    Parameter("fault.error_share", 0.0, "share of attempts that the engine fails (500)", ASSUMPTION, 0, 1),
    Parameter("fault.detect_ms", 500.0, "until the gateway notices a dead replica", ASSUMPTION),
    Parameter("fault.spec_acceptance", -1.0, "acceptance of draft tokens; -1: unchanged", ASSUMPTION, -1, 1),
)
EMIT = (
    Parameter("emit.client_spans", False, "clients send a span around their call", ASSUMPTION),
    Parameter("emit.dialect", "tracekit", "whose spans the engine emits", ASSUMPTION, choices=DIALECTS),
    Parameter(
        "emit.metrics_interval_s",
        10.0,
        "time between two readings of the counters",
        "OpenTelemetry SDK",
        0.001,
    ),
)

MODEL = (
    *RUN,
    *CLIENTS,
    *CHANGE,
    *REQUESTS,
    *GATEWAY,
    *NETWORK,
    *FRONTEND,
    *ENGINE,
    *DISAGGREGATION,
    *FAULT,
    *EMIT,
)


def check(values: Values, *, where: str) -> None:
    """Refuse configurations that cannot run. Raises `UsageError` that names the parameters at odds."""
    for wrong, message in _conflicts(values):
        if wrong:
            raise UsageError(f"{where}: {message}")


def replicas(values: Values) -> tuple[int, int, int]:
    """How many replicas do both phases, only prefill, only decode."""
    prefill, decode = int(values["disagg.prefill_replicas"]), int(values["disagg.decode_replicas"])
    return (0, prefill, decode) if prefill else (int(values["engine.replicas"]), 0, 0)


def without_fault(values: Values) -> Values:
    """The counterfactual: the same values with every `fault.*` back at its neutral default."""
    neutral = resolve(FAULT, {}, where="fault")
    return values | neutral


SHAPES = {
    "fault.start_s", "fault.duration_s", "fault.replica", "fault.delay_stage", "fault.delay_sigma",
    "fault.delay_share",
    "fault.slow_reader_tokens_per_s", "fault.abort_patience_median_s", "fault.detect_ms",
    "fault.image_s", "fault.weights_s", "fault.compile_s",
}  # fmt: skip
"""Parameters that shape a fault but do not make one."""


def is_wrong(parameter: Parameter, values: Values) -> bool:
    """Whether this parameter makes a fault in a run with these values."""
    return parameter.name not in SHAPES and values[parameter.name] != parameter.default


def has_fault(values: Values) -> bool:
    """Whether anything goes wrong in a run with these values."""
    return any(is_wrong(parameter, values) for parameter in FAULT)


def _conflicts(values: Values) -> list[tuple[bool, str]]:
    has_long = max(float(values["requests.long_share"]), float(values["change.long_share"])) > 0
    longest = max(int(values["requests.input_max_tokens"]), has_long * int(values["requests.long_max_tokens"]))
    longest += int(values["requests.output_max_tokens"]) + int(values["engine.block_tokens"])
    usable = int(values["engine.kv_tokens"]) * float(values["fault.kv_factor"])
    prefill, decode = int(values["disagg.prefill_replicas"]), int(values["disagg.decode_replicas"])
    return [
        (usable < longest, f"the longest request needs {longest} tokens of KV cache, engine.kv_tokens x "
         f"fault.kv_factor leaves {usable:.0f}; raise them or lower requests.input_max_tokens, "
         ".long_max_tokens, .output_max_tokens"),
        (has_fault(values) and float(values["fault.start_s"]) >= float(values["run.duration_s"]),
         f"the fault starts at {values['fault.start_s']} s, after the run of {values['run.duration_s']} s; "
         "lower fault.start_s"),
        (bool(values["fault.cold_start"]) and int(values["gateway.max_inflight"]) > 0,
         "fault.cold_start keeps requests in the queue that gateway.max_inflight needs: leave one of them out"),
        ((prefill == 0) != (decode == 0),
         "disagg.prefill_replicas and disagg.decode_replicas go together: set both"),
        (int(values["fault.replica"]) >= sum(replicas(values)),
         f"fault.replica {values['fault.replica']} does not exist; "
         f"there are replicas 0 to {sum(replicas(values)) - 1}"),
        (int(values["engine.max_num_batched_tokens"]) < int(values["engine.max_num_seqs"]),
         "engine.max_num_batched_tokens is below engine.max_num_seqs: a full batch could not decode"),
    ]  # fmt: skip
