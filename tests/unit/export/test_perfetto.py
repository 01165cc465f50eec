"""The trace event format: what a viewer reads is what was stored, to the nanosecond."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tracekit as tk

ROOT = Path(__file__).resolve().parents[3]
TRACE, OTHER = "5b8efff798038103d269b633813fc60c", "0" * 31 + "7"
T0_NS = 1_760_000_000_123_456_789
HOSTILE = 'a "quoted"\n\x1b[31m</script>'


def span(number: int, start_ns: int, end_ns: int, *, trace: str = TRACE, **more: Any) -> dict[str, Any]:
    """A span in OTLP/JSON, times as offsets."""
    times = {"startTimeUnixNano": str(T0_NS + start_ns), "endTimeUnixNano": str(T0_NS + end_ns)}
    return {"traceId": trace, "spanId": f"{number:016x}", "name": f"span {number}", **times, **more}


def sent(service: str, spans: list[dict[str, Any]], host: str = "node-1") -> dict[str, Any]:
    """A batch of spans of a service on a host."""
    pairs = {"service.name": service, "host.name": host}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in pairs.items()]
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": spans}]}]}


def measured(points: list[dict[str, Any]]) -> dict[str, Any]:
    """A gauge of the gateway's host."""
    attributes = [{"key": "service.name", "value": {"stringValue": "gateway"}}]
    gauge = {"name": "queue.depth", "unit": "1", "gauge": {"dataPoints": points}}
    return {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": [{"metrics": [gauge]}]}]}


@pytest.fixture
def store(tmp_path: Path) -> tk.Store:
    """A request over two services with what spans can carry, and a span of another trace that it links to."""
    event = {
        "name": "exception",
        "timeUnixNano": str(T0_NS + 5),
        "attributes": [{"key": "n", "value": {"intValue": "9"}}],
    }
    links = [{"traceId": OTHER, "spanId": f"{9:016x}"}, {"traceId": TRACE, "spanId": f"{1:016x}"}]
    big = [{"key": "bytes", "value": {"intValue": str(2**53 + 1)}}, {"key": "x", "value": {"doubleValue": "NaN"}}]
    child = {"parentSpanId": f"{1:016x}", "attributes": big, "name": HOSTILE, "events": [event], "links": links}
    points = [{"timeUnixNano": str(T0_NS + 3), "asInt": "4"}, {"timeUnixNano": str(T0_NS + 4), "asDouble": "NaN"}]
    lines = [
        sent("gateway", [span(1, 0, 1_000_001)]),
        sent("engine", [span(2, 1, 1_000_000, **child), span(3, 2, 500, parentSpanId=f"{2:016x}")]),
        sent("other", [span(9, -5000, -4000, trace=OTHER)]),
        measured(points),
    ]
    path = tmp_path / "lines.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    opened = tk.Store.open(None)
    opened.ingest(path)
    return opened


def read(made: Any) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """The file as a viewer reads it, decimals as they are written: what it says about itself, and events by phase."""
    file = json.loads(made.text(), parse_float=Decimal)
    phases: dict[str, list[dict[str, Any]]] = {}
    for event in file["traceEvents"]:
        phases.setdefault(event["ph"], []).append(event)
    return file["otherData"], phases


def test_a_span_is_a_slice_with_every_nanosecond(store: tk.Store) -> None:
    """Microseconds since the first, nanoseconds as decimals; the epoch stands beside."""
    about, phases = read(store.perfetto(trace_id=TRACE))
    slices = {event["args"]["span_id"][-1]: event for event in phases["X"]}
    assert about["origin_unix_ns"] == str(T0_NS)
    assert [(slices[key]["ts"], slices[key]["dur"]) for key in "123"] == [
        (Decimal("0.000"), Decimal("1000.001")), (Decimal("0.001"), Decimal("999.999")),
        (Decimal("0.002"), Decimal("0.498")),
    ]  # fmt: skip
    assert slices["2"]["args"]["start_unix_ns"] == str(T0_NS + 1)
    assert slices["2"]["args"]["duration_ns"] == "999999"


def test_all_that_a_span_carries_is_there(store: tk.Store) -> None:
    """Integers beyond doubles, values that JSON has not, and a name that would end a string."""
    _, phases = read(store.perfetto(trace_id=TRACE))
    child = next(event for event in phases["X"] if event["args"]["span_id"].endswith("2"))
    assert child["name"] == HOSTILE
    assert child["args"]["attributes"]["bytes"] == 2**53 + 1
    assert "NaN" in str(child["args"]["attributes"]["x"])
    assert child["args"]["parent_span_id"] == f"{1:016x}"
    event = phases["i"][0]
    assert (event["name"], event["ts"], event["args"]["attributes"]["n"]) == ("exception", Decimal("0.005"), 9)
    assert (event["pid"], event["tid"]) == (child["pid"], child["tid"])


def test_a_process_is_a_service_on_a_host(store: tk.Store) -> None:
    """With its name, and what it said about itself."""
    _, phases = read(store.perfetto(trace_id=TRACE))
    names = {event["args"]["name"] for event in phases["M"] if event["name"] == "process_name"}
    assert names == {"gateway · node-1", "engine · node-1", "gateway"}
    labels = [event["args"]["labels"] for event in phases["M"] if event["name"] == "process_labels"]
    assert any('"service.name":"engine"' in label for label in labels)


def test_links_are_arrows_and_those_to_elsewhere_are_moments(store: tk.Store) -> None:
    """No link is lost; an arrow never points back in time."""
    about, phases = read(store.perfetto(trace_id=TRACE))
    assert about["links"] == 2
    (start,), (finish,) = phases["s"], phases["f"]
    assert start["id"] == finish["id"]
    assert start["ts"] <= finish["ts"]
    assert finish["bp"] == "e"
    elsewhere = [event for event in phases["i"] if event["cat"] == "link"]
    assert [event["args"]["from_span_id"] for event in elsewhere] == [f"{9:016x}"]


def test_counters_are_those_of_the_time_and_what_is_no_number_is_counted(store: tk.Store) -> None:
    """A reading that the format cannot hold is told, not dropped in silence."""
    about, phases = read(store.perfetto(trace_id=TRACE))
    assert [(event["name"], event["args"]["value"]) for event in phases["C"]] == [("queue.depth (1)", 4)]
    assert (about["counter_readings"], about["counter_readings_left_out"]) == (1, 1)


def test_a_range_of_time_takes_what_overlaps_it_as_a_whole(store: tk.Store) -> None:
    """Half-open: a span that starts where the range ends is not in it."""
    found = {
        event["args"]["span_id"][-1] for event in read(store.perfetto(first_ns=T0_NS - 4500, last_ns=T0_NS + 1))[1]["X"]
    }
    assert found == {"9", "1"}


def test_durations_sum_to_those_of_the_store() -> None:
    """A real capture, whole: as many slices as spans, the same time in all, nested in every lane."""
    with tk.Store.open(None) as store:
        store.ingest(ROOT / "sample_traces" / "vllm_gateway")
        about, phases = read(store.perfetto())
        stored = store.sql("SELECT count(*) AS n, sum(end_ns - start_ns) AS ns FROM spans").row(0)
    slices = phases["X"]
    assert (len(slices), sum(event["dur"] for event in slices) * 1000) == stored
    lanes: dict[tuple[int, int], list[tuple[Decimal, Decimal]]] = {}
    for event in slices:
        held = lanes.setdefault((event["pid"], event["tid"]), [])
        start, end = event["ts"], event["ts"] + event["dur"]
        while held and held[-1][1] <= start:
            held.pop()
        assert not held or end <= held[-1][1]
        held.append((start, end))
    assert about["spans"] == len(slices)


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"trace_id": "zz"}, "is no trace id"),
        ({"trace_id": "0" * 31 + "8"}, "there is no trace"),
        ({"step": 3}, "there is no step 3"),
        ({"job": "job-a"}, "name the step too"),
        ({"trace_id": TRACE, "step": 3}, "not both"),
        ({"first_ns": 5, "last_ns": 5}, "ends before it begins"),
    ],
)
def test_what_cannot_be_exported_is_said(store: tk.Store, selection: dict[str, Any], said: str) -> None:
    """What, and what to do."""
    with pytest.raises(tk.UsageError, match=said):
        store.perfetto(**selection)


def test_an_empty_store_is_an_empty_file() -> None:
    """Valid, and honest."""
    with tk.Store.open(None) as store:
        about, phases = read(store.perfetto())
    assert (phases, about["spans"]) == ({}, 0)


def test_spans_are_rows_in_order_of_time(store: tk.Store) -> None:
    """All of them, or those of a trace or a range."""
    assert store.spans()["span_id"].to_list() == [f"{number:016x}" for number in (9, 1, 2, 3)]
    assert store.spans(trace_id=OTHER)["duration_ns"].to_list() == [1000]
    assert store.spans(last_ns=T0_NS).height == 1
