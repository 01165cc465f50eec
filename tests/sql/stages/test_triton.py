"""Triton's spans in OpenTelemetry mode: the events of request, model and computation tell the stages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.stages.stored import SERVER, Span, by_stage, request, store, times
from tracekit.store import Database

MS = 1_000_000


def span(number: int, start_ms: int, end_ms: int, name: str, parent: int = 0, **marks: int) -> Span:
    """A span of Triton with events at these milliseconds."""
    events = tuple((key, at * MS) for key, at in marks.items())
    attributes: dict[str, Any] = {}
    if name not in ("InferRequest", "compute"):
        attributes = {"triton.model_name": name, "triton.model_version": 1}
    return Span(
        number, start_ms * MS, end_ms * MS, name, parent=parent, kind=SERVER, service="triton",
        events=events, attributes=attributes,
    )  # fmt: skip


ROOT = span(
    1, 0, 100, "InferRequest",
    HTTP_RECV_START=0, HTTP_RECV_END=2, INFER_RESPONSE_COMPLETE=90, HTTP_SEND_START=91, HTTP_SEND_END=99,
)  # fmt: skip
MODEL = span(2, 3, 90, "llama", 1, REQUEST_START=3, QUEUE_START=4, REQUEST_END=90)
COMPUTE = span(3, 14, 90, "compute", 2, COMPUTE_START=14, COMPUTE_INPUT_END=15, COMPUTE_OUTPUT_START=88, COMPUTE_END=90)


def test_events_tell_receive_queue_copies_inference_and_send(database: Database) -> None:
    """The queue goes from one span into the next; prefill and decode cannot be told apart."""
    store(database, [ROOT, MODEL, COMPUTE])
    assert by_stage(times(database), "e2e") == {
        # Receive (2) is the gateway's only before a first token, which Triton does not tell.
        "unattributed": (2 + 1 + 1 + 1 + 1) * MS,
        "eng.queue": 10 * MS,
        "fe.preprocess": 1 * MS,
        "unsplit(eng.decode|eng.prefill)": 73 * MS,
        "out.detok": 2 * MS,
        "out.stream": 8 * MS,
    }
    unit = request(database)
    assert (unit["outcome"], unit["model"], unit["vantage"]) == ("ok", "llama", "engine")


def test_models_around_the_language_model_turn_text_into_tokens_and_back(database: Database) -> None:
    """The usual names of an ensemble; the ensemble itself has no queue and no computation."""
    whole = [span(2, 2, 90, "ensemble", 1, REQUEST_START=2, REQUEST_END=90)]
    for number, name, start, end in [(3, "preprocessing", 2, 10), (5, "postprocessing", 80, 90)]:
        whole.append(span(number, start, end, name, 2, QUEUE_START=start, REQUEST_END=end))
        whole.append(
            span(
                number + 1, start, end, "compute", number,
                COMPUTE_START=start, COMPUTE_INPUT_END=start, COMPUTE_OUTPUT_START=end, COMPUTE_END=end,
            )
        )  # fmt: skip
    store(database, [ROOT, *whole])
    found = by_stage(times(database), "e2e")
    assert (found["fe.preprocess"], found["out.detok"]) == (8 * MS, 10 * MS)
    assert request(database)["model"] == "ensemble"


def test_a_request_that_leaves_the_queue_without_computation_was_cancelled(database: Database) -> None:
    """Its root has the events of the receive only."""
    root = replace(ROOT, end=50 * MS, events=ROOT.events[:2])
    model = span(2, 3, 50, "llama", 1, REQUEST_START=3, QUEUE_START=4, REQUEST_END=50)
    store(database, [root, model])
    assert by_stage(times(database), "e2e")["eng.queue"] == 46 * MS
    assert request(database)["outcome"] == "aborted"


def test_the_wait_of_a_grpc_server_before_the_request_exists_stays_unexplained(database: Database) -> None:
    """GRPC_WAITREAD_START is no arrival."""
    root = span(1, 0, 100, "InferRequest", GRPC_WAITREAD_START=0, GRPC_WAITREAD_END=40, GRPC_SEND_START=90)
    store(database, [root, MODEL, COMPUTE])
    assert "gw.ingress" not in by_stage(times(database), "e2e")


def test_a_model_that_only_has_the_name_of_a_computation_is_none(database: Database) -> None:
    """`compute` counts below a model of Triton's."""
    store(database, [Span(1, 0, 10, "compute", service="shop")])
    assert set(by_stage(times(database), "e2e")) == {"shop:compute"}
