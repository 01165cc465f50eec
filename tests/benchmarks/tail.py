"""How long a tail question takes over many requests.

    python -m tests.benchmarks.tail [--requests N]

The requests are written straight into the tables of units, ten stage rows each, with a load that swings.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

from tracekit.analysis import TailAnswer, tail
from tracekit.store import Database

_UNITS = """
INSERT INTO base.units
WITH requests AS (
    SELECT range AS i, (range * 10000000)::BIGINT AS start_ns, 1 + 0.5 * sin(range / 300.0) AS load,
        (16 + hash(range) % 2000)::BIGINT AS input_tokens,
        (2 + hash(range + 7) % 300)::BIGINT AS output_tokens
    FROM range($requests)
), timed AS (
    SELECT *, (25000000 * load * -ln(1e-9 + (hash(i + 1) % 1000000) / 1e6))::BIGINT AS queue_ns,
        (input_tokens * 60000)::BIGINT AS prefill_ns, (output_tokens * 9000000 * load)::BIGINT AS decode_ns
    FROM requests
)
SELECT i, 'request', uuid(), i, NULL, NULL, NULL, NULL, 'gateway', 'POST /v1/completions',
    'model-' || (i % 3),
    start_ns, start_ns + 9000000 + queue_ns + prefill_ns + decode_ns,
    start_ns + 7000000 + queue_ns + prefill_ns, start_ns + 7000000 + queue_ns + prefill_ns + decode_ns,
    input_tokens, output_tokens, CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'ok' END, 'gateway',
    {'tenant': 't' || (i % 20), 'region': 'r' || (i % 4), 'request_id': i}::VARIANT,
    10, 0, 0, 0, 0, 0, 0, 0, '', 'gateway'
FROM timed
"""
_STAGES = """
INSERT INTO base.unit_stages
SELECT unit_id, part.w, part.s, part.o, part.ns, part.ns, 1
FROM base.units, LATERAL (SELECT unnest([
    {'w': 'ttft', 's': 'gw.auth', 'o': 'auth', 'ns': 1000000},
    {'w': 'ttft', 's': 'gw.ingress', 'o': 'POST', 'ns': 1000000},
    {'w': 'ttft', 's': 'gw.route', 'o': 'route', 'ns': 1000000},
    {'w': 'ttft', 's': 'net.dispatch', 'o': 'chat', 'ns': 1000000},
    {'w': 'ttft', 's': 'fe.preprocess', 'o': 'tokenize', 'ns': 1000000},
    {'w': 'ttft', 's': 'unattributed', 'o': 'llm_request', 'ns': 2000000},
    {'w': 'ttft', 's': 'eng.prefill', 'o': 'llm_request', 'ns': input_tokens * 60000},
    {'w': 'ttft', 's': 'eng.queue', 'o': 'llm_request',
     'ns': first_token_ns - start_ns - 7000000 - input_tokens * 60000},
    {'w': 'decode', 's': 'eng.decode', 'o': 'llm_request', 'ns': last_token_ns - first_token_ns},
    {'w': 'after', 's': 'out.detok', 'o': 'llm_request', 'ns': end_ns - last_token_ns}
]) AS part)
"""


def filled(requests: int) -> Database:
    """A store in memory with that many requests."""
    database = Database.open(None)
    with database.transaction() as cursor:
        cursor.execute(_UNITS, {"requests": requests})
        cursor.execute(_STAGES)
    return database


def timed(label: str, question: Callable[[], TailAnswer]) -> TailAnswer:
    """Ask a question twice and print the times, the verdict and the error of its sum.

    Processor time is printed beside the time on the clock, which others on the machine lengthen.
    """
    figures = []
    for _ in range(2):
        begin, begin_processor = time.perf_counter(), time.process_time()
        answer = question()
        seconds, processor = time.perf_counter() - begin, time.process_time() - begin_processor
        figures.append(f"{seconds:5.2f} s ({processor:5.2f} s of processors)")
    error_ns = int(answer.stages["excess_ns"].sum()) - answer.excess_ns
    print(f"{label:34s} {', again '.join(figures)}, sum error {error_ns} ns, {answer.verdict}")
    return answer


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    requests = parser.parse_args().requests
    with filled(requests) as database:
        print(f"{requests:,} requests, {10 * requests:,} stage rows")
        print(timed("ttft p99 against body", lambda: tail(database, "ttft", baseline="body")).summary)
        timed("ttft, baseline found", lambda: tail(database, "ttft"))
        timed("tpot p99 against body", lambda: tail(database, "tpot", baseline="body"))
        timed("e2e p99 against body", lambda: tail(database, "e2e", baseline="body"))
        half = requests * 10_000_000 // 2
        timed(
            "ttft p99, second half against first",
            lambda: tail(database, "ttft", where=f"start_ns >= {half}", baseline=f"start_ns < {half}"),
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
