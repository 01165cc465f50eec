"""A second serving world, to ask the tail questions in a world that the analysis was not made beside.

It shares no code with `generators/` and chooses otherwise: requests of two models, heavy tailed in size, reach engines
of a few slots by tenant or to the less busy of two, and wait there by size (the shortest prompt first) and not in
order; decoding gets slower with the number that decode; a moderation service is called by few. The same draws without
the incident give the truth. Spans follow tracekit's own convention (`stages`) or are those of plain HTTP services
(`http`).
"""

from __future__ import annotations

import heapq
import json
import zlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

START_NS = 1_780_000_000_000_000_000
MODELS = ("granite", "mistral")
TENANTS = ("acme", "birch", "cobalt", "delta", "ember", "fjord")
ENGINES = 6
STAGES = (
    "gw.auth", "gw.ratelimit", "gw.guardrail", "fe.preprocess", "net.dispatch",
    "eng.queue", "eng.prefill", "eng.decode", "out.stream",
)  # fmt: skip
HTTP_NAMES = dict(
    zip(
        STAGES,
        (
            "sso:POST /verify", "edge-gw:quota", "moderation:POST /screen", "tokens:POST /encode",
            "edge:edge-gw->engine", "engine:admit", "engine:read prompt", "engine:write answer", "edge-gw:deliver",
        ),
        strict=True,
    )
)  # fmt: skip
"""What the stages are called where plain HTTP spans tell them."""

QUEUE, PREFILL, DECODE = (STAGES.index(name) for name in ("eng.queue", "eng.prefill", "eng.decode"))
_MEAN_MS = {"gw.auth": 6.0, "gw.ratelimit": 1.5, "gw.guardrail": 25.0, "net.dispatch": 3.0, "out.stream": 9.0}
_MODERATED = 0.05


@dataclass(frozen=True)
class Incident:
    """What happens from the beginning of the window on.

    `stage`: struck by `size` times its mean (added) or its own time (`is_factor`); None strikes nothing. `among`: the
    struck ones: `all`, `some` (a part of them at random, `share`), `engine`, `tenant`, `model`. `load`: factor of the
    arrivals. `mix`: share of the second model, where it changes.
    """

    stage: str | None = None
    size: float = 0.0
    is_factor: bool = False
    among: str = "all"
    share: float = 1.0
    load: float = 1.0
    mix: float | None = None


@dataclass(frozen=True)
class Setting:
    """One run: how long before and in the incident, how many arrive a second, how far the load swings."""

    seed: int
    window_s: float
    baseline_times: float
    rate_per_s: float
    incident: Incident
    swing: float = 0.3
    convention: str = "stages"
    after_s: float = 0.0
    slots: int = 2

    @property
    def change_s(self) -> float:
        """When the incident begins."""
        return self.window_s * self.baseline_times

    @property
    def end_s(self) -> float:
        """When it ends; health follows for `after_s`."""
        return self.change_s + self.window_s

    def conditions(self) -> tuple[str, str]:
        """The time of the incident and the time before it, over the view `units`."""
        first, change, end = (START_NS + round(1e9 * moment) for moment in (0.0, self.change_s, self.end_s))
        return (f"start_ns >= {change} AND start_ns < {end}", f"start_ns >= {first} AND start_ns < {change}")


@dataclass(frozen=True)
class Lived:
    """Requests with the time of their stages (int64[N, S] nanoseconds), with the incident and without it.

    `struck_value`: which engine, tenant or model the incident strikes, None where it is none of them.
    """

    setting: Setting
    arrival_ns: np.ndarray
    tenant: np.ndarray
    model: np.ndarray
    engine: np.ndarray
    input_tokens: np.ndarray
    output_tokens: np.ndarray
    stage_ns: np.ndarray
    healthy_ns: np.ndarray
    struck_value: str | None

    def name(self, stage: str) -> str:
        """What the store calls a stage."""
        return HTTP_NAMES[stage] if self.setting.convention == "http" else stage

    def values(self, stage_ns: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """A metric of all requests and the stages it holds (columns of STAGES)."""
        parts = stage_ns[:, : PREFILL + 1] if metric == "ttft" else stage_ns
        return parts.sum(axis=1), parts

    def effect_ns(self, metric: str, quantile: float) -> dict[str, float]:
        """By stage, what the incident did to the mean of the requests at or above the quantile of the window."""
        inside = self.arrival_ns >= START_NS + round(1e9 * self.setting.change_s)
        inside &= self.arrival_ns < START_NS + round(1e9 * self.setting.end_s)
        means = []
        for stage_ns in (self.stage_ns, self.healthy_ns):
            values, parts = self.values(stage_ns[inside], metric)
            rank = max(int(np.ceil(quantile * len(values) - 1e-9)), 1)
            slow = values >= np.sort(values)[rank - 1]
            means.append(parts[slow].mean(axis=0))
        return {self.name(stage): float(ns) for stage, ns in zip(STAGES, means[0] - means[1], strict=False)}


def lived(setting: Setting) -> Lived:
    """Play a setting."""
    random = np.random.default_rng(setting.seed)
    arrival_s = _arrivals(setting, random)
    count = len(arrival_s)
    is_late = (arrival_s >= setting.change_s) & (arrival_s < setting.end_s)
    incident = setting.incident
    chosen, second = random.random(count), np.full(count, 0.35)
    if incident.mix is not None:
        second = np.where(is_late, incident.mix, second)
    model = (chosen < second).astype(np.int64)
    tenant = random.choice(len(TENANTS), count, p=1 / np.arange(1, 7) / (1 / np.arange(1, 7)).sum())
    input_tokens = np.clip(120 * (1 + random.pareto(1.9, count)), 20, 12_000).astype(np.int64)
    output_tokens = np.clip(random.lognormal(4.2, 0.7, count), 2, 1500).astype(np.int64)
    own_ms = _own_times(random, input_tokens, output_tokens, model)
    pick = random.integers(0, ENGINES, (count, 2))
    pick[:, 0] = np.where(random.random(count) < 0.4, (tenant * 5) % ENGINES, pick[:, 0])
    # One engine for all draws of luck: the healthy run goes to the same ones.
    engine = _routed(arrival_s, own_ms[:, PREFILL] + own_ms[:, DECODE], pick)
    struck_ms, value = _struck(setting, random, own_ms, is_late, (engine, tenant, model))
    runs = [_queued(arrival_s, ms, engine, input_tokens, setting.slots) for ms in (struck_ms, own_ms)]
    stage_ns, healthy_ns = (np.rint(1e6 * ms).astype(np.int64) for ms in runs)
    arrival_ns = START_NS + np.rint(1e9 * arrival_s).astype(np.int64)
    return Lived(
        setting, arrival_ns, tenant, model, engine, input_tokens, output_tokens, stage_ns, healthy_ns, value
    )  # fmt: skip


def _arrivals(setting: Setting, random: np.random.Generator) -> np.ndarray:
    """Poisson arrivals whose rate wanders (a sum of three waves of random length), thinned from the highest rate."""
    whole_s = setting.end_s + setting.after_s
    highest = setting.rate_per_s * (1 + 1.5 * setting.swing) * max(setting.incident.load, 1.0)
    moments = np.sort(random.uniform(0, whole_s, random.poisson(highest * whole_s)))
    lengths, phases = random.uniform(15, 60, 3), random.uniform(0, 2 * np.pi, 3)
    waves = np.sin(2 * np.pi * moments[:, None] / lengths + phases).sum(axis=1) / 2
    is_late = (moments >= setting.change_s) & (moments < setting.end_s)
    rate = setting.rate_per_s * (1 + setting.swing * waves) * np.where(is_late, setting.incident.load, 1.0)
    return moments[random.random(len(moments)) < rate / highest]


def _own_times(
    random: np.random.Generator, input_tokens: np.ndarray, output_tokens: np.ndarray, model: np.ndarray
) -> np.ndarray:
    """Time of every stage alone, without waiting: float64[N, S] milliseconds."""
    count, slower = len(model), np.where(model == 1, 1.8, 1.0)
    shape = {name: random.gamma(3.0, 1 / 3, count) for name in STAGES}
    ms = {name: mean * shape[name] for name, mean in _MEAN_MS.items()}
    ms["gw.guardrail"] = np.where(random.random(count) < _MODERATED, ms["gw.guardrail"], 0.0)
    ms["fe.preprocess"] = 1.0 + 0.012 * input_tokens * shape["fe.preprocess"]
    ms["eng.queue"] = np.zeros(count)
    ms["eng.prefill"] = slower * (14 + 0.09 * input_tokens) * random.lognormal(0, 0.15, count)
    ms["eng.decode"] = slower * 2.2 * output_tokens * random.lognormal(0, 0.1, count)
    return np.stack([ms[name] for name in STAGES], axis=1)


def _routed(arrival_s: np.ndarray, work_ms: np.ndarray, pick: np.ndarray) -> np.ndarray:
    """The engine of each request: of two candidates the one with less work that was promised to it."""
    promised, engine = np.zeros(ENGINES), np.empty(len(arrival_s), dtype=np.int64)
    last = 0.0
    for number, moment in enumerate(arrival_s):
        promised = np.maximum(promised - 4000 * (moment - last), 0.0)
        last = moment
        one, other = pick[number]
        engine[number] = one if promised[one] <= promised[other] else other
        promised[engine[number]] += work_ms[number]
    return engine


def _struck(
    setting: Setting,
    random: np.random.Generator,
    own_ms: np.ndarray,
    is_late: np.ndarray,
    places: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[np.ndarray, str | None]:
    """Times with the incident, and whom it strikes where that is an engine, a tenant or a model."""
    incident, engine_tenant_model = setting.incident, dict(zip(("engine", "tenant", "model"), places, strict=True))
    lot, luck, amount = random.random(len(is_late)), random.integers(0, 1 << 30), random.gamma(4.0, 0.25, len(is_late))
    if incident.stage is None:
        return own_ms, None
    column, value, among = STAGES.index(incident.stage), None, is_late
    if incident.among == "some":
        among = is_late & (lot < incident.share)
    elif incident.among != "all":
        held = engine_tenant_model[incident.among]
        number = int(luck) % (2 if incident.among == "model" else 3)
        among = is_late & (held == number)
        value = {"engine": f"engine-{number}", "tenant": TENANTS[number], "model": MODELS[number % 2]}[incident.among]
    happens = among & (own_ms[:, column] > 0)
    mean_ms = own_ms[own_ms[:, column] > 0, column].mean()
    added = incident.size * (own_ms[:, column] if incident.is_factor else mean_ms * amount)
    struck = own_ms.copy()
    struck[happens, column] += added[happens]
    return struck, value


def _queued(
    arrival_s: np.ndarray, own_ms: np.ndarray, engine: np.ndarray, input_tokens: np.ndarray, slots: int
) -> np.ndarray:
    """Times with waiting: each engine takes the shortest prompt first, and decodes slower the more it holds."""
    ms = own_ms.copy()
    before_ms = own_ms[:, :QUEUE].sum(axis=1)
    ready_s = arrival_s + before_ms / 1000
    for number in range(ENGINES):
        mine = np.flatnonzero(engine == number)
        mine = mine[np.argsort(ready_s[mine], kind="stable")]
        _serve(mine, ready_s, ms, input_tokens, slots)
    return ms


def _serve(mine: np.ndarray, ready_s: np.ndarray, ms: np.ndarray, input_tokens: np.ndarray, slots: int) -> None:
    """Serve the requests of one engine in order of events; writes waiting and decoding times."""
    waiting: list[tuple[int, int]] = []
    running: list[float] = []
    position = 0
    while position < len(mine) or waiting:
        free_s = running[0] if len(running) >= slots else -np.inf
        next_s = ready_s[mine[position]] if position < len(mine) else np.inf
        if not waiting or (next_s <= free_s):
            if not waiting and position >= len(mine):
                break
            heapq.heappush(waiting, (int(input_tokens[mine[position]]), int(mine[position])))
            position += 1
            if len(running) >= slots and running[0] > next_s:
                continue
        _, request = heapq.heappop(waiting)
        begin_s = max(ready_s[request], free_s)
        while running and running[0] <= begin_s:
            heapq.heappop(running)
        ms[request, QUEUE] = 1000 * (begin_s - ready_s[request])
        ms[request, DECODE] *= 1 + 0.08 * len(running)
        heapq.heappush(running, begin_s + (ms[request, PREFILL] + ms[request, DECODE]) / 1000)


def write_spans(world: Lived, path: Path) -> Path:
    """The spans of a run as OTLP JSON, one document a line."""
    tell = _staged_spans if world.setting.convention == "stages" else _http_spans
    by_resource: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for number in range(len(world.arrival_ns)):
        for service, host, span in tell(world, number):
            by_resource[service, host].append(span)
    with path.open("w", encoding="utf-8") as file:
        for (service, host), spans in sorted(by_resource.items(), key=lambda item: item[0]):
            resource = {"attributes": _attributes({"service.name": service, "host.name": host})}
            scoped = [{"scope": {"name": "world"}, "spans": spans}]
            file.write(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scoped}]}) + "\n")
    return path


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]


def _span(world: Lived, number: int, part: int, parent: int | None, name: str, kind: int, times: tuple[int, int],
          attributes: dict[str, Any]) -> dict[str, Any]:  # fmt: skip
    seed = world.setting.seed
    span = {
        "traceId": f"{seed + 1:08x}{zlib.crc32(str(number).encode()):08x}{number + 1:016x}",
        "spanId": f"{number + 1:08x}{part + 1:08x}",
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(times[0]),
        "endTimeUnixNano": str(times[1]),
        "attributes": _attributes(attributes),
    }
    return span if parent is None else span | {"parentSpanId": f"{number + 1:08x}{parent + 1:08x}"}


def _edges(world: Lived, number: int) -> list[int]:
    """Begin of every stage and the end of the last."""
    ends = int(world.arrival_ns[number]) + np.concatenate([[0], np.cumsum(world.stage_ns[number])])
    return [int(moment) for moment in ends]


def _described(world: Lived, number: int) -> dict[str, Any]:
    return {
        "gen_ai.request.model": MODELS[world.model[number]],
        "gen_ai.usage.input_tokens": int(world.input_tokens[number]),
        "gen_ai.usage.output_tokens": int(world.output_tokens[number]),
        "app.tenant": TENANTS[world.tenant[number]],
    }


def _staged_spans(world: Lived, number: int) -> list[tuple[str, str, dict[str, Any]]]:
    edges, host = _edges(world, number), f"engine-{world.engine[number]}"
    root = _span(world, number, 0, None, "POST /answer", 2, (edges[0], edges[-1]), _described(world, number))
    root["events"] = [{"name": "gen_ai.first_token", "timeUnixNano": str(edges[PREFILL + 1])}]
    spans = [("edge-gw", f"gw-{number % 2}", root)]
    for part, stage in enumerate(STAGES):
        if edges[part + 1] > edges[part]:
            on_engine = stage.startswith("eng.")
            place = ("engine", host) if on_engine else ("edge-gw", f"gw-{number % 2}")
            times = (edges[part], edges[part + 1])
            spans.append((*place, _span(world, number, part + 1, 0, stage, 1, times, {"tracekit.stage": stage})))
    return spans


_REMOTE = {
    "gw.auth": ("sso", "POST /verify"),
    "gw.guardrail": ("moderation", "POST /screen"),
    "fe.preprocess": ("tokens", "POST /encode"),
}


def _http_spans(world: Lived, number: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Server and client spans of a gateway, its helpers and an engine; the way to the engine is in the client span."""
    edges, gateway = _edges(world, number), ("edge-gw", f"gw-{number % 2}")
    http = {"http.request.method": "POST", "url.path": "/answer"}
    root = _span(world, number, 0, None, "POST /answer", 2, (edges[0], edges[-1]), http | _described(world, number))
    spans = [(*gateway, root)]
    for part, stage in enumerate(STAGES):
        begin, end = edges[part], edges[part + 1]
        if end == begin or stage in ("net.dispatch", "eng.queue", "eng.prefill", "eng.decode"):
            continue
        name = HTTP_NAMES[stage].split(":")[1]
        if stage in _REMOTE:
            service, _ = _REMOTE[stage]
            called = {"http.request.method": "POST", "server.address": service}
            spans.append((*gateway, _span(world, number, 20 + part, 0, "POST", 3, (begin, end), called)))
            served = _span(world, number, part + 1, 20 + part, name, 2, (begin, end), {"http.request.method": "POST"})
            spans.append((service, f"{service}-{number % 3}", served))
        else:
            spans.append((*gateway, _span(world, number, part + 1, 0, name, 1, (begin, end), {})))
    return spans + _engine_spans(world, number, edges, gateway)


def _engine_spans(
    world: Lived, number: int, edges: list[int], gateway: tuple[str, str]
) -> list[tuple[str, str, dict[str, Any]]]:
    sent, done = edges[STAGES.index("net.dispatch")], edges[DECODE + 1]
    place = ("engine", f"engine-{world.engine[number]}")
    called = {"http.request.method": "POST", "server.address": "engine"}
    spans = [
        (*gateway, _span(world, number, 30, 0, "POST", 3, (sent, done), called)),
        (*place, _span(world, number, 31, 30, "POST /generate", 2, (edges[QUEUE], done), {})),
    ]
    for part in (QUEUE, PREFILL, DECODE):
        name, times = HTTP_NAMES[STAGES[part]].split(":")[1], (edges[part], edges[part + 1])
        if times[1] > times[0]:
            spans.append((*place, _span(world, number, part + 1, 31, name, 1, times, {})))
    return spans
