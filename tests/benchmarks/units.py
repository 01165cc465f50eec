"""Speed of units and unit stages: `python -m tests.benchmarks.units --traces 100000 --mix genai`.

Fills a store with traces of ten spans of ten attributes, then times one whole `update_units`. The mix `genai`
is a gateway in front of vLLM (authentication, rate limit, guardrail, route, a call with its HTTP client, the
engine's span, two small spans of the gateway); `generic` is a web shop: five services that call each other.
All times and counts follow from the number of the trace, so two runs have the same spans.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

from tracekit.stages import update_units
from tracekit.store import Database

SPANS = {
    # position, parent, name, kind, service, start and end in thousandths of the trace, attributes
    "genai": """
        (0, NULL, 'POST /v1/chat/completions', 2, 1, 0, 1000, 'http'),
        (1, 0, 'auth /v1/chat/completions', 1, 1, 2, 12, 'plain'),
        (2, 0, 'redis.get rate_limits', 3, 1, 13, 20, 'plain'),
        (3, 0, 'execute_guardrail input', 1, 1, 21, 50, 'plain'),
        (4, 0, 'route large', 1, 1, 51, 58, 'plain'),
        (5, 0, 'chat large', 3, 1, 60, 980, 'genai'),
        (6, 5, 'POST', 3, 1, 62, 975, 'http'),
        (7, 6, 'llm_request', 2, 2, 70, 970, 'vllm'),
        (8, 0, 'postgres.insert spend', 3, 1, 982, 995, 'plain'),
        (9, 0, 'execute_guardrail output', 1, 1, 960, 981, 'plain')
    """,
    "generic": """
        (0, NULL, 'GET /checkout', 2, 1, 0, 1000, 'http'),
        (1, 0, 'cart.Get', 3, 1, 20, 200, 'plain'),
        (2, 1, 'cart.Get', 2, 2, 25, 190, 'plain'),
        (3, 2, 'redis.get', 3, 2, 40, 170, 'plain'),
        (4, 0, 'catalog.List', 3, 1, 150, 500, 'plain'),
        (5, 4, 'catalog.List', 2, 3, 160, 480, 'plain'),
        (6, 5, 'postgres.select', 3, 3, 200, 450, 'plain'),
        (7, 0, 'payment.Charge', 3, 1, 520, 950, 'plain'),
        (8, 7, 'payment.Charge', 2, 4, 530, 940, 'plain'),
        (9, 8, 'bank.Transfer', 3, 4, 560, 900, 'plain')
    """,
}

PATHS = {"genai": "/v1/chat/completions", "generic": "/checkout"}

ATTRIBUTES = """
    CASE shape
        WHEN 'http' THEN json_object(
            'http.request.method', 'POST', 'url.path', '{path}', 'http.response.status_code',
            CASE WHEN trace_no % 50 = 0 AND position = 0 THEN 500 ELSE 200 END,
            'server.address', 'gw.example',
            'server.port', 8000, 'network.peer.address', '10.0.0.' || trace_no % 200,
            'user_agent.original', 'client/1.' || trace_no % 9, 'tenant', 't' || trace_no % 40,
            'scenario', 'load', 'request.size', trace_no % 5000)
        WHEN 'genai' THEN json_object(
            'gen_ai.operation.name', 'chat', 'gen_ai.request.model', 'large', 'gen_ai.provider.name', 'vllm',
            'gen_ai.request.max_tokens', 512, 'gen_ai.request.temperature', 0.7,
            'gen_ai.usage.input_tokens', 20 + trace_no % 2000,
            'gen_ai.usage.output_tokens', 2 + trace_no % 300,
            'gen_ai.response.time_to_first_chunk', duration_ns * 0.4 / 1e9, 'server.address', 'vllm',
            'server.port', 8001)
        WHEN 'vllm' THEN json_object(
            'gen_ai.latency.time_to_first_token', duration_ns * 0.37 / 1e9,
            'gen_ai.latency.e2e', duration_ns * 0.895 / 1e9,
            'gen_ai.latency.time_in_queue', duration_ns * 0.1 / 1e9,
            'gen_ai.latency.time_in_model_prefill', duration_ns * 0.25 / 1e9,
            'gen_ai.latency.time_in_model_decode', duration_ns * 0.52 / 1e9,
            'gen_ai.latency.time_in_model_inference', duration_ns * 0.77 / 1e9,
            'gen_ai.usage.prompt_tokens', 20 + trace_no % 2000,
            'gen_ai.usage.completion_tokens', 2 + trace_no % 300,
            'gen_ai.request.id', 'cmpl-' || trace_no, 'gen_ai.request.n', 1)
        ELSE json_object(
            'component', 'c' || position, 'thread.id', trace_no % 64, 'code.function', 'handle',
            'code.lineno', 10 * position, 'region', 'r' || trace_no % 5, 'cached', trace_no % 3 = 0,
            'rows', trace_no % 100, 'peer', 'p' || trace_no % 7, 'tenant', 't' || trace_no % 40, 'attempt', 1)
    END
"""

FILL = """
    INSERT INTO base.spans
    SELECT
        md5(trace_no::VARCHAR)::UUID,
        hash(trace_no, position),
        CASE WHEN parent >= 0 THEN hash(trace_no, parent) END,
        start_ns + duration_ns * from_thousandth // 1000,
        start_ns + duration_ns * until_thousandth // 1000,
        name, kind, 0, NULL, service, 1, {attributes}::JSON::VARIANT, NULL, 0, 0, 0, 0, 1
    FROM (
        SELECT
            trace_no,
            1790000000000000000 + trace_no * 1000000 AS start_ns,
            50000000 + hash(trace_no) % 400000000 AS duration_ns
        FROM range({first}, {last}) AS numbers (trace_no)
    ), (VALUES {spans}) AS shapes (
        position, parent, name, kind, service, from_thousandth, until_thousandth, shape
    )
    ORDER BY trace_no
"""


KEYS = """
    INSERT INTO base.span_attribute_keys
    SELECT DISTINCT resource_id, unnest(variant_keys(attributes)) AS key
    FROM base.spans
"""


def fill(database: Database, mix: str, traces: int) -> None:
    """Store the spans of a mix, a hundred thousand traces at a time."""
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.scopes VALUES (1, 1, 'benchmark', NULL, NULL, 0, NULL)")
        for number in range(1, 5):
            row = [number, number, f"service-{number}", f"host-{number}"]
            cursor.execute(
                "INSERT INTO base.resources "
                "VALUES (?, ?, ?, NULL, NULL, ?, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL)",
                row,
            )
    for first in range(0, traces, 100_000):
        with database.transaction() as cursor:
            last = min(first + 100_000, traces)
            attributes = ATTRIBUTES.replace("{path}", PATHS[mix])
            cursor.execute(FILL.format(attributes=attributes, spans=SPANS[mix], first=first, last=last))
    with database.transaction() as cursor:
        cursor.execute(KEYS)


def fill_file(path: Path, mix: str, traces: int) -> None:
    """Make a store with the spans of a mix."""
    with Database.open(path) as database:
        fill(database, mix, traces)


def warm_up() -> None:
    """Load what is compiled: once for each version of tracekit, and not part of the work."""
    with Database.open(None) as database:
        fill(database, "genai", 1)
        update_units(database)


def measure(mix: str, traces: int, folder: Path) -> dict[str, float | int | str]:
    """Fill a store on disk, update its units, and report time, rate and memory of the update."""
    path = folder / f"{mix}.duckdb"
    # In a process of its own, so that its memory is not counted.
    filling = get_context("spawn").Process(target=fill_file, args=(path, mix, traces))
    filling.start()
    filling.join()
    warm_up()
    with Database.open(path) as database:
        start, start_cpu = time.perf_counter(), time.process_time()
        update = update_units(database)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
        rows = database.sql("SELECT count(*) FROM base.unit_stages").item()
    return {
        "mix": mix,
        "spans": traces * 10,
        "requests": update.requests,
        "unit_stages": rows,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "spans_per_second": round(traces * 10 / seconds),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main() -> None:
    """Print one JSON line for a run of the given size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--mix", choices=sorted(SPANS), default="genai")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        print(json.dumps(measure(options.mix, options.traces, options.folder or Path(temporary))))


if __name__ == "__main__":
    main()
