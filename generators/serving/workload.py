"""What the clients do, drawn before the simulation: arrivals, sizes, patience, and how long fixed stages
take.
"""

from __future__ import annotations

import numpy as np

from generators.parameters import Values
from generators.seeds import lognormal_ns, stream
from generators.serving import stages, state

NS_PER_S = 1_000_000_000


def draw(values: Values, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The requests of a run in order of arrival, and their durations in ns (one row a request, one column a
    stage).

    Each purpose has its own random stream, so no parameter shifts the draws of another purpose.
    """
    arrivals_ns = arrival_times_ns(values, seed=seed)
    requests = np.zeros(arrivals_ns.size, state.REQUEST)
    requests["arrival_ns"] = arrivals_ns
    _blank(requests)
    _draw_sizes(requests, values, seed=seed)
    _draw_clients(requests, values, seed=seed)
    _draw_fault(requests, values, seed=seed)
    return requests, _durations_ns(requests, values, seed=seed)


def arrival_times_ns(values: Values, *, seed: int) -> np.ndarray:
    """Arrival times since the start of the run, ascending (int64 ns).

    A renewal process (gamma or exponential gaps) or an on/off process runs on a clock that a change of load
    speeds up: the times are those at which the integral of the rate reaches the renewals.
    """
    total = _load_integral(values, np.array([float(values["run.duration_s"])]))[0]
    calls_per_s = _calls_per_s(values)
    unit_times = _renewals(values, total * calls_per_s, seed=seed) / calls_per_s
    seconds = _inverse_load(values, unit_times[unit_times < total])
    seconds = np.repeat(seconds, int(values["clients.fan_out"]))
    limit = int(values["run.max_requests"]) or seconds.size
    return np.rint(seconds[:limit] * NS_PER_S).astype(np.int64)


def _calls_per_s(values: Values) -> float:
    """Calls a second; each is as many requests at once as the fan-out says."""
    return float(values["clients.rate_per_s"]) / int(values["clients.fan_out"])


def _renewals(values: Values, expected: float, *, seed: int) -> np.ndarray:
    """Points of a unit-rate process that reach beyond `expected`."""
    generator, process = stream(seed, "arrivals"), values["clients.arrivals"]
    cv = float(values["clients.arrival_cv"]) if process == "gamma" else 1.0
    count = int(expected + 10 * (cv + 1) * np.sqrt(expected) + 100)
    points = np.cumsum(generator.gamma(1 / cv**2, cv**2, count))
    return _in_on_periods(points, values, seed=seed) if process == "on_off" else points


def _in_on_periods(points: np.ndarray, values: Values, *, seed: int) -> np.ndarray:
    """Stretch a unit-rate process so that all of its points fall into on periods of exponential length."""
    share, rate = float(values["clients.on_share"]), _calls_per_s(values)
    cycle = float(values["clients.cycle_s"]) * rate
    cycles = int(points[-1] / cycle * 2 + 50)
    generator = stream(seed, "on_off")
    on, off = generator.exponential(cycle * share, cycles), generator.exponential(cycle * (1 - share), cycles)
    on_ends, active = np.cumsum(on), points * share
    period = np.minimum(np.searchsorted(on_ends, active), cycles - 1)
    return active + np.concatenate([[0.0], np.cumsum(off)])[period]


def _change(values: Values) -> tuple[float, float, float]:
    start, duration = float(values["change.start_s"]), float(values["change.duration_s"])
    return start, start + duration, float(values["change.load_factor"])


def _load_integral(values: Values, seconds: np.ndarray) -> np.ndarray:
    """Integral of the load factor from the start to each instant."""
    start, end, factor = _change(values)
    return seconds + (factor - 1) * np.clip(seconds - start, 0, end - start)


def _inverse_load(values: Values, integral: np.ndarray) -> np.ndarray:
    """The instants at which the integral of the load factor has these values."""
    start, end, factor = _change(values)
    knots = np.array([0.0, start, end, end + max(float(values["run.duration_s"]), 1.0) * 2])
    return np.interp(integral, _load_integral(values, knots), knots) if factor > 0 else _skip(integral, start, end)


def _skip(integral: np.ndarray, start: float, end: float) -> np.ndarray:
    return integral + (end - start) * (integral >= start)


def _blank(requests: np.ndarray) -> None:
    for field in ("replica", "decode_replica", "next", "cached_tokens", "cancelled_by"):
        requests[field] = state.NONE
    for field in state.INSTANTS:
        requests[field] = state.NONE
    requests["since_ns"] = requests["arrival_ns"]


def _draw_sizes(requests: np.ndarray, values: Values, *, seed: int) -> None:
    """Prompt, output and cached tokens; input and output are independent, as measured."""
    count = requests.size
    is_long = stream(seed, "long").random(count) < _long_share(requests["arrival_ns"], values)
    prompt = np.where(
        is_long,
        _tokens(values, "requests.long", "input", count, seed),
        _tokens(values, "requests.input", "input", count, seed),
    )
    requests["prompt_tokens"] = prompt
    requests["output_tokens"] = _tokens(values, "requests.output", "output", count, seed)
    hit = float(values["requests.prefix_hit_share"])
    # A beta distribution of low concentration: most prompts share almost nothing or almost everything.
    share = stream(seed, "prefix").beta(2 * hit, 2 * (1 - hit), count) if hit > 0 else np.zeros(count)
    block = int(values["engine.block_tokens"])
    requests["hit_tokens"] = np.minimum((share * prompt).astype(np.int64), prompt - 1) // block * block


def _long_share(arrival_ns: np.ndarray, values: Values) -> np.ndarray:
    start, end, _ = _change(values)
    seconds, changed = arrival_ns / NS_PER_S, float(values["change.long_share"])
    usual = float(values["requests.long_share"])
    return np.where((seconds >= start) & (seconds < end) & (changed >= 0), changed, usual)


def _tokens(values: Values, family: str, purpose: str, count: int, seed: int) -> np.ndarray:
    mean, sd = float(values[f"{family}_log_mean"]), float(values[f"{family}_log_sd"])
    # Short and long prompts use the same normal draws, so a change of mix changes no other request.
    normal = stream(seed, f"tokens.{purpose}").standard_normal(count)
    longest = int(values[f"{family}_max_tokens"])
    return np.clip(np.rint(np.exp(mean + sd * normal)), 1, longest).astype(np.int64)


def _draw_clients(requests: np.ndarray, values: Values, *, seed: int) -> None:
    """Tenant, patience, reading speed, luck with the router and the response cache."""
    count = requests.size
    requests["tenant"] = stream(seed, "tenants").integers(0, int(values["clients.tenants"]), count)
    leaves = stream(seed, "aborts").random(count) < float(values["clients.abort_share"])
    requests["patience_ns"] = leaves * _patience_ns(values, "clients.patience_median_s", count, seed)
    requests["read_ns"] = _per_token_ns(float(values["clients.read_tokens_per_s"]))
    _draw_client_network(requests, values, seed=seed)
    requests["route_draw"] = stream(seed, "route").random(count)
    requests["route_draw_2"] = stream(seed, "route.second").random(count)
    requests["is_cache_hit"] = stream(seed, "cache").random(count) < float(values["gateway.cache_hit_share"])


def _draw_client_network(requests: np.ndarray, values: Values, *, seed: int) -> None:
    """The way from the client to the gateway and back, each half of a round trip of its own."""
    half_ms, sigma = float(values["clients.round_trip_ms"]) / 2, float(values["clients.round_trip_sigma"])
    for way in ("up_ns", "down_ns"):
        requests[way] = lognormal_ns(stream(seed, f"client.{way}"), requests.size, median_ms=half_ms, sigma=sigma)


def _patience_ns(values: Values, median: str, count: int, seed: int) -> np.ndarray:
    sigma = float(values["clients.patience_sigma"])
    return lognormal_ns(stream(seed, "patience"), count, median_ms=float(values[median]) * 1e3, sigma=sigma)


def _per_token_ns(tokens_per_s: float) -> int:
    return round(NS_PER_S / tokens_per_s) if tokens_per_s > 0 else 0


def _draw_fault(requests: np.ndarray, values: Values, *, seed: int) -> None:
    """Which requests the fault would strike and how hard; used only while it is on."""
    count = requests.size
    struck = stream(seed, "fault.delay_share").random(count) < float(values["fault.delay_share"])
    sigma = float(values["fault.delay_sigma"])
    delay = lognormal_ns(stream(seed, "fault.delay"), count, median_ms=float(values["fault.delay_ms"]), sigma=sigma)
    requests["delay_ns"] = struck * delay
    requests["error_draw"] = stream(seed, "fault.errors").random(count)
    requests["pin_draw"] = stream(seed, "fault.pin").random(count)
    leaves = stream(seed, "fault.aborts").random(count) < float(values["fault.abort_share"])
    requests["fault_patience_ns"] = leaves * _patience_ns(values, "fault.abort_patience_median_s", count, seed)
    slow = stream(seed, "fault.readers").random(count) < float(values["fault.slow_reader_share"])
    requests["fault_read_ns"] = slow * _per_token_ns(float(values["fault.slow_reader_tokens_per_s"]))


def _durations_ns(requests: np.ndarray, values: Values, *, seed: int) -> np.ndarray:
    """Durations of the stages that no contention decides."""
    durations = np.zeros((requests.size, stages.COUNT), np.int64)
    for stage, (median, sigma) in _medians(values).items():
        generator = stream(seed, f"duration.{stages.NAMES[stage]}")
        durations[:, stage] = lognormal_ns(generator, requests.size, median_ms=median, sigma=sigma)
    tokenise = requests["prompt_tokens"] * float(values["frontend.tokenise_us_per_token"]) * 1e3
    durations[:, stages.FE_PREPROCESS] += np.rint(tokenise).astype(np.int64)
    structured = stream(seed, "grammar").random(requests.size) < float(values["requests.grammar_share"])
    durations[:, stages.ENG_GRAMMAR] *= structured
    return durations


def _medians(values: Values) -> dict[int, tuple[float, float]]:
    """Median in ms and sigma of every stage of drawn duration."""
    gateway, network = float(values["gateway.sigma"]), float(values["network.sigma"])
    names = {
        stages.GW_INGRESS: ("gateway.ingress_median_ms", gateway), stages.GW_AUTH: ("gateway.auth_median_ms",
        gateway),
        stages.GW_RATELIMIT: ("gateway.ratelimit_median_ms", gateway),
        stages.GW_CACHE: ("gateway.cache_median_ms", gateway),
        stages.GW_GUARDRAIL: ("gateway.guardrail_median_ms", gateway),
        stages.GW_ROUTE: ("gateway.route_median_ms", gateway),
        stages.NET_DISPATCH: ("network.dispatch_median_ms", network),
        stages.OUT_STREAM: ("network.return_median_ms", network),
        stages.FE_PREPROCESS: ("frontend.template_ms", 0.1),
        stages.FE_DISPATCH: ("frontend.dispatch_median_ms", 0.3),
        stages.OUT_DETOK: ("frontend.detok_median_ms", 0.4),
        stages.ENG_GRAMMAR: ("requests.grammar_median_ms", 0.5),
        stages.KV_BOOTSTRAP: ("disagg.bootstrap_median_ms", 0.3),
    }  # fmt: skip
    return {stage: (float(values[name]), sigma) for stage, (name, sigma) in names.items()}
