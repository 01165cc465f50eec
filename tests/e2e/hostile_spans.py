"""Spans whose every name tries something: images, links, terminal escapes, text that runs backwards, long lines."""

from __future__ import annotations

IMAGE = "![x](http://evil.example/a.png) [here](http://evil.example) <b>b</b>"
ESCAPES = "\x1b]8;;http://evil\x07link\x1b]8;;\x07\x1b[2J\x9b31m\x07"
TURNED = "\u202e% 01\u202c \u2066x \u05d0\u05d1 10 %"
LONG = "n" * 3000
LINES = "first\nTotal: 0 spans\r\n\x00second"
NAMES = (IMAGE, ESCAPES, TURNED, LONG, LINES)


def hostile_requests() -> list[dict[str, object]]:
    """Requests of hostile services, names, models and messages; one in ten of each is slow, some fail."""
    found = []
    for number in range(300):
        name = NAMES[number % len(NAMES)]
        start_ns = 1_700_000_000_000_000_000 + number * 1_000_000_000
        length_ns = 900_000_000 if number % 10 < 2 else 50_000_000
        common = {"traceId": f"{number + 1:032x}", "kind": 2}
        attributes = {"gen_ai.request.model": name, "gen_ai.operation.name": name, "error.type": name, name[:60]: name}
        root = common | {
            "spanId": f"{2 * number + 1:016x}", "name": name, "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(start_ns + length_ns),
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
            "status": {"code": 2, "message": name} if number % 7 == 0 else {},
        }  # fmt: skip
        child = common | {
            "spanId": f"{2 * number + 2:016x}", "parentSpanId": root["spanId"], "name": name, "kind": 3,
            "startTimeUnixNano": str(start_ns + 1_000_000), "endTimeUnixNano": str(start_ns + length_ns - 1_000_000),
        }  # fmt: skip
        resource = {
            "attributes": [{"key": key, "value": {"stringValue": name}} for key in ("service.name", "host.name")]
        }
        found.append({"resource": resource, "scopeSpans": [{"scope": {"name": name}, "spans": [root, child]}]})
    return found


def hostile_steps() -> list[dict[str, object]]:
    """A training job with a hostile name, whose rank 1 is slow in an operation with a hostile name."""
    found = []
    for rank in range(4):
        keys = {"tracekit.job.id": IMAGE, "host.name": TURNED, "service.name": ESCAPES}
        numbers = {"tracekit.rank": rank, "tracekit.world_size": 4, "tracekit.attempt": 0}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in keys.items()]
        attributes += [{"key": key, "value": {"intValue": str(value)}} for key, value in numbers.items()]
        spans = []
        for step in range(60):
            start_ns = 1_700_000_000_000_000_000 + step * 100_000_000
            busy_ns = 70_000_000 if rank == 1 and step > 30 else 30_000_000
            trace, place = f"{10_000 + step:032x}", 10_000 + (step * 4 + rank) * 4
            whose = [{"key": "tracekit.step", "value": {"intValue": str(step)}}]
            parts = (
                ("step", None, 0, 90_000_000, []),
                (LONG, "step.compute", 0, busy_ns, []),
                (LINES, "step.exposed_comm", busy_ns, 90_000_000, [
                    {"key": "tracekit.collective.name", "value": {"stringValue": IMAGE}},
                    {"key": "tracekit.collective.group", "value": {"stringValue": ESCAPES}},
                    {"key": "tracekit.collective.seq", "value": {"intValue": str(step)}},
                ]),
            )  # fmt: skip
            for number, (name, stage, first_ns, last_ns, more) in enumerate(parts):
                stages = [{"key": "tracekit.stage", "value": {"stringValue": stage}}] if stage else []
                spans.append({
                    "traceId": trace, "spanId": f"{place + number:016x}", "name": name,
                    **({"parentSpanId": f"{place:016x}"} if number else {}),
                    "startTimeUnixNano": str(start_ns + first_ns), "endTimeUnixNano": str(start_ns + last_ns),
                    "attributes": [*whose, *stages, *more],
                })  # fmt: skip
        found.append({"resource": {"attributes": attributes}, "scopeSpans": [{"scope": {}, "spans": spans}]})
    return found
