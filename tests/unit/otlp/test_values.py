"""Single values arrive exactly: integers, doubles, texts, ids and bytes in every form that a sender may
choose.
"""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.unit.otlp.documents import TRACE_ID, attribute, metrics, names, read, reasons, span, traces
from tracekit.otlp import Batch, Document, decode
from tracekit.otlp.tables import columns, json_columns

SEVENTEEN_DIGITS = ("26862060800527696", "71133081414740604", "99999999999999994", "10000000000000002")
int64s = st.integers(-(2**63), 2**63 - 1) | st.integers(-1000, 1000).map(lambda each: each * 10**15)


def attribute_value(literal: str, member: str) -> Any:
    """What the attributes column says of a value that is written into a document as it stands."""
    content = traces(span(attributes=[attribute("a", **{member: "@"})])).replace(b'"@"', literal.encode())
    batch = read(content)
    assert reasons(batch) == []
    return batch.spans["attributes"].to_pylist()[0].removeprefix('{"a":').removesuffix("}")


@given(value=int64s, form=st.sampled_from(["plain", "text", "exponent", "fraction"]))
@example(value=2**63 - 1, form="text")
@example(value=-(2**63), form="plain")
@example(value=2**53 + 1, form="plain")
def test_integers_are_exact_in_every_form(value: int, form: str) -> None:
    """As a number, as a string, with an exponent or with a fraction of zeros: no digit is lost."""
    digits = str(value)
    zeros = len(digits) - len(digits.rstrip("0")) if value else 0
    literal = {
        "plain": digits,
        "text": f'"{digits}"',
        "exponent": f"{digits[: len(digits) - zeros]}e{zeros}" if value else "0e5",
        "fraction": f"{digits}.000",
    }[form]
    assert attribute_value(literal, "intValue") == digits


@given(value=st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20))
def test_what_is_no_64_bit_integer_is_no_integer(value: Decimal) -> None:
    """Neither a fraction nor a number beyond 64 bits is rounded or clamped."""
    content = traces(span(attributes=[attribute("a", intValue="@")])).replace(b'"@"', f"{value:f}".encode())
    batch = read(content)
    if value != int(value):
        assert reasons(batch)[0][1] in ("wrong_type", "number_out_of_range")
        assert names(batch) == []
    elif not -(2**63) <= value < 2**63:
        assert reasons(batch) == [("rejected", "number_out_of_range", 1)]
    else:
        assert batch.spans["attributes"].to_pylist() == [f'{{"a":{int(value)}}}']


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1", "1.0"), ("1.0", "1.0"), ("0.1", "0.1"), ("1e3", "1000.0"), ("-2.50", "-2.5"), ("0.7", "0.7"),
        ("0", "0.0"), ("-0.0", "-0.0"), ("123456789.0001", "123456789.0001"), ("1e22", "1e+22"),
        ("5e-324", "5e-324"), ('"1.5"', "1.5"),
        ('"NaN"', '{"doubleValue":"NaN"}'), ('"Infinity"', '{"doubleValue":"Infinity"}'),
        ('"-Infinity"', '{"doubleValue":"-Infinity"}'),
    ],
)  # fmt: skip
def test_doubles_stay_doubles(written: str, stored: str) -> None:
    """A whole double keeps its point, so that it is read back as a double; what is not finite has its own
    form.
    """
    assert attribute_value(written, "doubleValue") == stored


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_text_of_a_double_reads_back_as_the_same_double(value: float) -> None:
    """To the last bit, and with a point or an exponent."""
    text = attribute_value(repr(value), "doubleValue")
    assert (float(text), math.copysign(1, float(text))) == (value, math.copysign(1, value))
    assert set(text) & set(".e")


@pytest.mark.parametrize("sign", ["", "-"])
def test_doubles_with_all_their_digits_survive_at_every_magnitude(sign: str) -> None:
    """Seventeen digits, the most that a double needs, at every power of ten, many of them side by side."""
    values = [float(f"{sign}{digits}e{power}") for power in range(-340, 292) for digits in SEVENTEEN_DIGITS]
    batch = read(traces(span(attributes=[attribute(f"a{i}", doubleValue=each) for i, each in enumerate(values)])))
    stored = json.loads(batch.spans["attributes"].to_pylist()[0])
    assert [stored[f"a{i}"] for i in range(len(values))] == values


@given(text=st.text())
@example(text='"\\\b\f\n\r\t\x00\x1f\x7f  é漢😀')
def test_texts_survive_both_ways_of_writing_json(text: str) -> None:
    """With everything escaped that can be, and with nothing escaped that need not be."""
    attributes = [attribute(text, stringValue=text)]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [span(name=text, attributes=attributes)]}]}]}
    for is_escaped in (True, False):
        batch = read(json.dumps(document, ensure_ascii=is_escaped).encode())
        assert names(batch) == [text]
        assert json.loads(batch.spans["attributes"].to_pylist()[0]) == {text: text}


@given(content=st.binary(max_size=12))
def test_bytes_that_are_no_utf8_are_no_text(content: bytes) -> None:
    """Python's strict decoder and ours agree on every sequence."""
    data = TracesData()
    found = data.resource_spans.add().scope_spans.add().spans.add(name="@" * len(content), start_time_unix_nano=1)
    found.trace_id, found.span_id = b"t" * 16, b"s" * 8
    payload = data.SerializeToString().replace(b"@" * len(content), content) if content else data.SerializeToString()
    batch = decode([Document(payload)], encoding="protobuf", signal="traces")
    try:
        assert names(batch) == [content.decode()]
    except UnicodeDecodeError:
        assert reasons(batch) == [("rejected", "invalid_utf8", 1)]


@given(content=st.binary(max_size=20), is_url_safe=st.booleans(), is_padded=st.booleans())
def test_bytes_are_base64_of_either_alphabet(content: bytes, is_url_safe: bool, is_padded: bool) -> None:
    """As protobuf's JSON mapping demands of a reader."""
    encoded = (base64.urlsafe_b64encode if is_url_safe else base64.b64encode)(content).decode()
    text = attribute_value(json.dumps(encoded if is_padded else encoded.rstrip("=")), "bytesValue")
    assert base64.b64decode(json.loads(text)["bytesValue"]) == content


@pytest.mark.parametrize("trace_id", [TRACE_ID.upper(), TRACE_ID.lower(), TRACE_ID.title()])
def test_ids_are_hexadecimal_in_either_case(trace_id: str) -> None:
    """OTLP/JSON ids are case-insensitive."""
    assert read(traces(span(traceId=trace_id))).spans["trace_id"].to_pylist() == [bytes.fromhex(TRACE_ID)]


def test_numbers_may_be_strings_and_strings_numbers() -> None:
    """`"kind": 2` and `"kind": "2"`, times with and without quotes."""
    batch = read(traces(span(kind="2", startTimeUnixNano=5, flags="257", droppedEventsCount=3)))
    found = batch.spans.select(["kind", "start_ns", "flags", "dropped_events_count"]).to_pylist()
    assert found == [{"kind": 2, "start_ns": 5, "flags": 257, "dropped_events_count": 3}]


def test_null_is_absent() -> None:
    """As in every JSON mapping of protobuf."""
    nothing = {"status": None, "attributes": None, "parentSpanId": None, "events": None, "kind": None}
    batch = read(traces({**span(), **nothing}))
    assert (names(batch), reasons(batch)) == (["step"], [])


def test_empty_values_are_null_and_empty_lists_are_lists() -> None:
    """Absent, empty and empty list are three things."""
    attributes = [
        attribute("none"), attribute("array", arrayValue={}), attribute("pairs", kvlistValue={"values": []}),
        attribute("text", stringValue=""), {"key": "absent"}, attribute("index", stringValueStrindex=3),
    ]  # fmt: skip
    text = read(traces(span(attributes=attributes))).spans["attributes"].to_pylist()[0]
    assert text == '{"none":null,"array":[],"pairs":{},"text":"","absent":null,"index":null}'


def test_pairs_that_look_like_a_value_are_written_in_otlps_own_form() -> None:
    """`{"intValue": "5"}` must not be taken for the integer 5 when it is a list of pairs."""
    inner = {"kvlistValue": {"values": [{"key": "x", "value": {"boolValue": True}}]}}
    values = [{"key": "intValue", "value": {"stringValue": "5"}}, {"key": "b", "value": inner}]
    text = read(traces(span(attributes=[attribute("a", kvlistValue={"values": values})]))).spans["attributes"][0]
    assert json.loads(text.as_py()) == {"a": {"kvlistValue": {"values": values}}}


def many_spans() -> bytes:
    return traces(*(span(name=f"{n}", attributes=[attribute("n", intValue=n)]) for n in range(300)), span(name="last"))


def test_long_columns_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column longer than one Arrow array may be is the same column, in pieces."""
    whole = read(many_spans())
    monkeypatch.setattr(json_columns, "_MOST_CHUNK_BYTES", 1000)
    monkeypatch.setattr(json_columns, "_LEAST_CHUNK_BYTES", 100)
    monkeypatch.setattr(columns, "MAX_CHUNK_BYTES", 100)
    pieces = read(many_spans())
    assert pieces.spans["attributes"].num_chunks > 2
    assert pieces.spans["name"].num_chunks > 2
    assert pieces.spans.equals(whole.spans)


def test_text_too_long_for_a_column_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spans around it stay."""
    monkeypatch.setattr(json_columns, "MAX_CHUNK_BYTES", 500)
    long = span(name="long", attributes=[attribute("a", stringValue="x" * 600)])
    short = span(name="short", attributes=[attribute("a", stringValue="x")])
    batch = read(traces(short, long, short))
    assert names(batch) == ["short", "short"]
    assert batch.spans["attributes"].to_pylist() == ['{"a":"x"}', '{"a":"x"}']
    assert reasons(batch) == [("rejected", "too_large", 1)]


def dense_json() -> Batch:
    point = {"timeUnixNano": "5", "bucketCounts": [0] * 5001, "explicitBounds": [*range(5000)]}
    metric = {"name": "m", "histogram": {"dataPoints": [point], "aggregationTemporality": 1}}
    return read(metrics(metric).replace(b" ", b""))


def dense_protobuf() -> Batch:
    data = TracesData()
    found = data.resource_spans.add().scope_spans.add().spans.add(name="@", start_time_unix_nano=1)
    found.trace_id, found.span_id = b"t" * 16, b"s" * 8
    for _ in range(5000):
        found.attributes.add()
    return decode([Document(data.SerializeToString())], encoding="protobuf")


def test_documents_denser_than_expected_are_read_again_with_more_room() -> None:
    """Many fields in few bytes: the first guess of the room they need is too small."""
    assert dense_json().metric_histograms["bucket_counts"].to_pylist() == [[0] * 5001]
    batch = dense_protobuf()
    assert batch.spans["attributes"].to_pylist() == ['{"":null}']
    assert reasons(batch) == [("note", "duplicate_attribute_key", 4999)]


def test_attributes_of_one_record_may_be_many() -> None:
    """A hundred thousand keys cost what their bytes cost, not their square."""
    attributes = [attribute(f"key {number}", intValue=number) for number in range(100_000)]
    batch = read(traces(span(attributes=[*attributes, *attributes[:10]])))
    assert len(json.loads(batch.spans["attributes"][0].as_py())) == 100_000
    assert reasons(batch) == [("note", "duplicate_attribute_key", 10)]
