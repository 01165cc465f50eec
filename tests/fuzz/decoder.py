"""Coverage-guided fuzzing of the decoder, against the official protobuf classes.

    pip install atheris        # Python 3.11 to 3.13, Linux
    python -m tests.fuzz.decoder CORPUS [-max_total_time=600] [further options of libFuzzer]

The first byte of an input chooses encoding and signal, the rest is the document. Good documents of each kind are put
into CORPUS first. It stops at an exception, a hang, a stored record with an impossible id, and at a protobuf document
of which the official classes say something else: that it cannot be read while all of it was stored, or another number
of records than were stored and rejected together.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris
import numpy as np
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.fuzz.signals import marks
from tracekit.otlp import SIGNALS, Batch, Document, Encoding, Signal, decode
from tracekit.otlp.wire import walk
from tracekit.receiver.warm_up import samples
from tracekit.records import DOCUMENT_FAULTS

_KINDS: list[tuple[Encoding, Signal]] = [(encoding, signal) for encoding in ("protobuf", "json") for signal in SIGNALS]
_FAULTS = {reason.word for reason in DOCUMENT_FAULTS}
_mark = marks(atheris.instrument_func)


def test_one_input(data: bytes) -> None:
    """Check one input; one that fails is kept in `failed-input`, also where libFuzzer is stopped before it does so."""
    try:
        if data:
            _check(data)
    except AssertionError:
        Path("failed-input").write_bytes(data)
        raise


def _check(data: bytes) -> None:
    encoding, signal = _KINDS[data[0] % len(_KINDS)]
    payload = data[1:]
    _mark(_events(payload, encoding, signal))
    batch = decode([Document(payload)], encoding=encoding, signal=signal)
    _check_ids(batch)
    if encoding == "protobuf" and signal != "metrics":
        _check_against_official(payload, signal, batch)


def _events(payload: bytes, encoding: Encoding, signal: Signal) -> list[int]:
    """A number for each pair of neighbouring events, and for each fault."""
    walked = walk([payload], encoding=encoding, signal=signal)
    codes = walked.events["code"][: walked.entry_count].astype(np.int64)
    pairs = np.unique(codes[:-1] * 1009 + codes[1:]) if codes.size else codes
    return [*pairs.tolist(), 7 * int(walked.faults[0]) + 3 * _KINDS.index((encoding, signal))]


def _check_ids(batch: Batch) -> None:
    for table in (batch.spans, batch.span_links):
        if table.num_rows:
            name = "trace_id" if "trace_id" in table.column_names else "linked_trace_id"
            assert bytes(16) not in table[name].to_pylist()
    assert 0 not in batch.spans["span_id"].to_pylist()


def _check_against_official(payload: bytes, signal: Signal, batch: Batch) -> None:
    rejects = batch.rejects.to_pylist()
    is_whole = not any(each["reason"] in _FAULTS for each in rejects)
    stored = (batch.spans if signal == "traces" else batch.logs).num_rows
    told = sum(each["count"] for each in rejects if each["kind"] == "rejected")
    try:
        official = _official_count(payload, signal)
    except DecodeError:
        # The official classes also refuse a whole document for one string that is not UTF-8.
        assert rejects, "stored without a word, but not protobuf"
        return
    if is_whole:
        assert stored + told == official, (stored, told, official)


def _official_count(payload: bytes, signal: Signal) -> int:
    if signal == "traces":
        traces = ExportTraceServiceRequest.FromString(payload)
        return sum(len(scope.spans) for each in traces.resource_spans for scope in each.scope_spans)
    logs = ExportLogsServiceRequest.FromString(payload)
    return sum(len(scope.log_records) for each in logs.resource_logs for scope in each.scope_logs)


def main() -> None:
    """Fill the corpus and fuzz."""
    corpus = Path(sys.argv[1])
    corpus.mkdir(parents=True, exist_ok=True)
    for (signal, encoding), payload in samples().items():
        kind = bytes([_KINDS.index((encoding, signal))])
        (corpus / f"good-{encoding}-{signal}").write_bytes(kind + payload)
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
