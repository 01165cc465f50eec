"""OTLP files are recognised by their content and cut into documents; what is damaged costs only itself."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.unit.otlp.documents import logs, span, traces
from tracekit.errors import UnknownFormatError
from tracekit.otlp import FORMATS as FILE_FORMATS
from tracekit.otlp import Batch, Chunk, decode, documents, open_window
from tracekit.otlp.framing import files
from tracekit.records import recognised

FIRST, SECOND = traces(span(name="first")), traces(span(name="second"))
PRETTY = json.dumps(json.loads(FIRST), indent=2).encode()
ALIGNED_LEFT = json.dumps(json.loads(FIRST), indent=0).encode()


def protobuf(*names: str) -> bytes:
    """A protobuf message with a span for each name, each under a resource of its own."""
    data = TracesData()
    for name in names:
        found = data.resource_spans.add().scope_spans.add().spans.add(name=name, start_time_unix_nano=1)
        found.trace_id, found.span_id = b"t" * 16, b"s" * 8
    return data.SerializeToString()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def with_lengths(*messages: bytes) -> bytes:
    """The Collector's framing: each message behind its length in four bytes, big-endian."""
    return b"".join(struct.pack(">I", len(message)) + message for message in messages)


def chunks(content: bytes, **options: int) -> list[Chunk]:
    return list(documents(io.BytesIO(content), **options))


def decoded(content: bytes, **options: int) -> list[tuple[Chunk, Batch]]:
    found = chunks(content, **options)
    return [(chunk, decode(chunk.documents, encoding=chunk.encoding, signal=chunk.signal)) for chunk in found]


def names(content: bytes, **options: int) -> list[str]:
    """Names of all spans, in order."""
    return [name for _, batch in decoded(content, **options) for name in batch.spans["name"].to_pylist()]


def rejects(content: bytes, **options: int) -> list[tuple[str, int]]:
    """Reason and offset of everything that was set aside."""
    tables = [table for chunk, batch in decoded(content, **options) for table in (chunk.rejects, batch.rejects)]
    return [(row["reason"], row["offset"]) for table in tables for row in table.to_pylist()]


PB_FIRST, PB_SECOND = protobuf("first"), protobuf("second")
FORMATS = {
    "OTLP/JSON lines": FIRST + b"\n" + SECOND + b"\n",
    "OTLP/JSON": PRETTY + b"\n" + SECOND,
    "OTLP protobuf": PB_FIRST + PB_SECOND,
    "OTLP messages with length": with_lengths(PB_FIRST, PB_SECOND),
}


@pytest.mark.parametrize(
    "content",
    [
        FIRST + b"\n" + SECOND,
        FIRST + b"\r\n" + SECOND + b"\r\n",
        FIRST + b"\n\n  \n" + SECOND + b"\n\n",
        b"\xef\xbb\xbf" + FIRST + b"\n" + SECOND,
        bytes(5000) + FIRST + b"\n" + SECOND,
        bytes(100_000) + FIRST + b"\n" + SECOND,
        FIRST + b"\n" + bytes(300) + SECOND,
        FIRST + SECOND,
        FIRST + b"  " + SECOND,
        PRETTY + SECOND,
        PRETTY + b"\n" + SECOND,
        ALIGNED_LEFT + b"\n" + SECOND,
        PRETTY.replace(b"\n", b"\r\n") + b"\r\n" + SECOND,
        b"\n\n" + PRETTY + b"\n" + SECOND,
        with_lengths(FIRST, SECOND),
        with_lengths(zstd(FIRST), zstd(SECOND)),
        with_lengths(zstd(PB_FIRST), zstd(PB_SECOND)),
        with_lengths(PB_FIRST, SECOND),
        with_lengths(PB_FIRST, b"", PB_SECOND),
        protobuf("first", "second"),
        zstd(with_lengths(PB_FIRST, PB_SECOND)),
        zstd(with_lengths(FIRST, SECOND)),
        gzip.compress(FIRST + b"\n") + gzip.compress(SECOND),
        zstd(FIRST + b"\n") + zstd(SECOND),
        *FORMATS.values(),
    ],
)
def test_every_format_is_read_whole(content: bytes) -> None:
    """Both documents are found, in order, and nothing is reported, however small the chunks."""
    assert names(content) == ["first", "second"]
    assert rejects(content) == []
    assert names(content, chunk_bytes=64) == ["first", "second"]
    assert rejects(content, chunk_bytes=64) == []


@pytest.mark.parametrize(("compress", "word"), [(gzip.compress, ", gzip"), (zstd, ", zstd"), (bytes, "")])
@pytest.mark.parametrize(("name", "content"), FORMATS.items())
def test_format_is_told_in_words(name: str, content: bytes, compress: Callable[[bytes], bytes], word: str) -> None:
    """A report can say what a file was."""
    found = chunks(compress(content))
    assert {chunk.format for chunk in found} == {name + word}
    assert found[-1].consumed_bytes == len(compress(content))


def test_path_is_read_like_a_stream(tmp_path: Path) -> None:
    """The name says nothing: a `.txt` may be gzip of JSON lines."""
    path = tmp_path / "spans.txt"
    path.write_bytes(gzip.compress(FIRST + b"\n" + SECOND))
    assert sum(len(chunk.documents) for chunk in documents(path)) == 2


def test_offsets_are_those_of_the_source() -> None:
    """A report leads to the very byte."""
    content = bytes(10) + FIRST + b"\n\n" + SECOND
    (chunk,) = chunks(content)
    assert [content[each.offset :][:20] for each in chunk.documents] == [FIRST[:20], SECOND[:20]]
    content = with_lengths(PB_FIRST, PB_SECOND)
    (chunk,) = chunks(content)
    assert [content[each.offset :][:20] for each in chunk.documents] == [PB_FIRST[:20], PB_SECOND[:20]]


def test_both_encodings_in_one_file_come_in_chunks_of_their_own() -> None:
    """One file exporter may have been given several pipelines."""
    found = chunks(with_lengths(PB_FIRST, PB_SECOND, SECOND, PB_FIRST))
    assert [(chunk.encoding, len(chunk.documents)) for chunk in found] == [
        ("protobuf", 2),
        ("json", 1),
        ("protobuf", 1),
    ]


def test_signals_may_be_mixed() -> None:
    """Each message says, or shows, what it holds."""
    batches = [batch for _, batch in decoded(FIRST + b"\n" + logs({"severityText": "x"}))]
    assert (batches[0].spans.num_rows, batches[0].logs.num_rows) == (1, 1)


@pytest.mark.parametrize("content", [b"", bytes(100), b"\n \n"])
def test_empty_source_gives_no_chunk(content: bytes) -> None:
    """Nothing is neither data nor a fault."""
    assert chunks(content) == []


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"hello world", "68 65 6c 6c 6f"),
        (b"\n\nHello", "Hello"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "89 50 4e 47"),
        (b'{"traceEvents": [], "schemaVersion": 1}', "traceEvents, schemaVersion"),
        (b"[]", "5b 5d"),
        (gzip.compress(b"trace_id,duration\n1,2\n", mtime=0), "trace_id"),
        (b"{" * 100, "7b"),
        (with_lengths(b"\x0aabc"), "61 62 63"),
        (b"\x00\x00\x00", None),
    ],
)
def test_unknown_content_is_refused_and_described(content: bytes, seen: str | None) -> None:
    """The error says what was seen and what is read."""
    if seen is None:
        assert chunks(content) == []
        return
    with pytest.raises(UnknownFormatError, match="expected OTLP") as error:
        chunks(content)
    assert seen in str(error.value)


def test_line_cut_at_the_end_keeps_its_whole_spans() -> None:
    """The report tells where the rest begins."""
    last = traces(span(name="second"), span(name="lost"))
    content = FIRST + b"\n" + last[: last.index(b"lost") + 2]
    assert names(content) == ["first", "second"]
    ((reason, offset),) = rejects(content)
    assert reason == "truncated"
    assert b"lo" in content[offset:]
    assert b"second" not in content[offset:]


@pytest.mark.parametrize("cut", [1, 2, 3, 10])
def test_message_cut_at_the_end_keeps_its_whole_spans(cut: int) -> None:
    """Whatever is missing of the last message, those before it are there."""
    for content in (
        with_lengths(PB_FIRST, protobuf("second", "lost")),
        PB_FIRST + protobuf("second", "lost"),
    ):
        assert names(content[:-cut]) == ["first", "second"]
        ((reason, offset),) = rejects(content[:-cut])
        assert reason == "truncated"
        assert b"second" not in content[offset:]


def test_length_cut_at_the_end_is_reported() -> None:
    """Two bytes are no length."""
    content = with_lengths(PB_FIRST, PB_SECOND)
    assert rejects(content + b"\x00\x00") == [("truncated", len(content))]
    assert names(content + b"\x00\x00") == ["first", "second"]


@pytest.mark.parametrize("start", [30, FIRST.index(b'{"traceId"'), FIRST.index(b'"spans"')])
def test_first_line_that_starts_in_the_middle_is_rejected(start: int) -> None:
    """A rotated file goes on where another stopped: the first line is lost, at offset 0, the rest is read."""
    content = FIRST[start:] + b"\n" + SECOND + b"\n" + SECOND
    assert names(content) == ["second", "second"]
    assert rejects(content) == [("partial_first_line", 0)]


def test_line_cut_by_a_crash_does_not_swallow_the_next() -> None:
    """A writer that was killed and started again leaves half a line."""
    half = FIRST[: FIRST.index(b'"name"')]
    assert names(half + b"\n" + SECOND + b"\n") == ["second"]
    assert names(SECOND + b"\n" + half + b"\n" + SECOND + b"\n") == ["second", "second"]
    assert [reason for reason, _ in rejects(half + b"\n" + SECOND)] == ["truncated"]


def test_line_of_something_else_is_rejected_alone() -> None:
    """Log output between two batches, for example."""
    content = FIRST + b"\n2026-11-30 WARN exporter restarted\n" + SECOND
    assert names(content) == ["first", "second"]
    assert rejects(content) == [("malformed", len(FIRST) + 1)]


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_compressed_file_cut_or_damaged_keeps_what_came_before(compress: Callable[[bytes], bytes]) -> None:
    """Whole lines that could be decompressed are read; the damage is reported."""
    noise = traces(*(span(name=hashlib.sha256(bytes([place])).hexdigest()) for place in range(256)))
    whole = compress(FIRST + b"\n") + compress(noise + b"\n")
    for content in (whole[:-10], whole[:-2000], whole[:-2000] + b"\xff" * 40 + whole[-1960:]):
        assert names(content)[0] == "first"
        assert "unreadable_compression" in [reason for reason, _ in rejects(content)]


def test_damaged_zstd_message_is_rejected_alone() -> None:
    """The messages on both sides are read."""
    damaged = bytearray(zstd(PB_FIRST))
    damaged[6:] = bytes(len(damaged) - 6)
    before = with_lengths(zstd(PB_FIRST))
    content = before + with_lengths(bytes(damaged), zstd(PB_SECOND))
    assert names(content) == ["first", "second"]
    assert rejects(content) == [("unreadable_compression", len(before))]


LONG = traces(span(name="x" * 10_000))


@pytest.mark.parametrize(
    ("content", "offset"),
    [
        (FIRST + b"\n" + LONG + b"\n" + SECOND + b"\n", len(FIRST) + 1),
        (with_lengths(PB_FIRST, protobuf("x" * 10_000), PB_SECOND), len(with_lengths(PB_FIRST))),
        (
            with_lengths(zstd(PB_FIRST), zstd(protobuf("x" * 10_000)), zstd(PB_SECOND)),
            len(with_lengths(zstd(PB_FIRST))),
        ),
    ],
)
def test_document_beyond_the_limit_is_rejected_alone(content: bytes, offset: int) -> None:
    """Also when it is small on the disk and large only when decompressed."""
    for chunk_bytes in (64, 1 << 20):
        options = {"max_document_bytes": 2000, "chunk_bytes": chunk_bytes}
        assert names(content, **options) == ["first", "second"]
        assert rejects(content, **options) == [("too_large", offset)]


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_decompression_bomb_is_read_in_bounded_memory(compress: Callable[[bytes], bytes]) -> None:
    """100 MB of one line in 100 kB: rejected, without ever holding it."""
    bomb = compress(FIRST + b"\n" + LONG[:-30] + b"x" * 100_000_000 + b"\n" + SECOND + b"\n")
    tracemalloc.start()
    found = rejects(bomb, max_document_bytes=1 << 20, chunk_bytes=1 << 18)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [("too_large", len(FIRST) + 1)]
    assert peak_bytes < 60_000_000


@given(
    names_sent=st.lists(st.text(max_size=30), max_size=12),
    separator=st.sampled_from([b"\n", b"\r\n", b"\n\n", b""]),
    chunk_bytes=st.integers(1, 2000),
)
def test_chunk_size_does_not_matter(names_sent: list[str], separator: bytes, chunk_bytes: int) -> None:
    """The documents of a stream are the same however it is cut."""
    content = b"".join(traces(span(name=each)) + separator for each in names_sent)
    assert names(content, chunk_bytes=chunk_bytes) == names_sent
    framed = with_lengths(*(protobuf(each) for each in names_sent))
    assert names(framed, chunk_bytes=chunk_bytes) == names_sent
    assert names(b"".join(protobuf(each) for each in names_sent), chunk_bytes=chunk_bytes) == names_sent


def test_message_of_the_official_json_mapping_is_no_otlp_json() -> None:
    """Base64 ids and enum names of plain protobuf JSON are rejected with the field named."""
    content = json_format.MessageToJson(TracesData.FromString(PB_FIRST)).encode()
    assert [reason for reason, _ in rejects(content)] == ["id_not_hex"]


def without_scope(count: int) -> bytes:
    """A message of one resource whose scope says nothing of itself, as many senders write it."""
    data = TracesData()
    scope = data.resource_spans.add().scope_spans.add()
    for number in range(count):
        span = scope.spans.add(name=f"a span with a name of some length {number}", start_time_unix_nano=1)
        span.trace_id, span.span_id = b"t" * 16, (number + 1).to_bytes(8, "big")
    return data.SerializeToString()


SCOPELESS = without_scope(2_000)
SCOPELESS_FRAMINGS = {
    "message with length": with_lengths(SCOPELESS, PB_SECOND),
    "bare message": SCOPELESS + PB_SECOND,
    "gzip": gzip.compress(with_lengths(SCOPELESS, PB_SECOND)),
    "zstd": zstd(SCOPELESS + PB_SECOND),
}


@pytest.mark.parametrize("content", SCOPELESS_FRAMINGS.values(), ids=SCOPELESS_FRAMINGS)
def test_a_first_message_longer_than_what_is_looked_at_is_known(content: bytes) -> None:
    """Nothing of it may be certain before its end: cut off is not malformed."""
    assert len(SCOPELESS) > 2 * (1 << 16)
    assert len(names(content)) == 2_001
    assert rejects(content) == []


@pytest.mark.parametrize("framed", [with_lengths(SCOPELESS), SCOPELESS], ids=["message with length", "bare message"])
@pytest.mark.parametrize("kept", [600, 70_000, len(SCOPELESS) - 5])
def test_a_first_message_that_is_cut_off_is_told_as_cut_off(framed: bytes, kept: int) -> None:
    """Not as a file of some unknown format."""
    assert [reason for reason, _ in rejects(framed[:kept])] == ["truncated"]


@pytest.mark.parametrize("frame", [with_lengths, bytes], ids=["message with length", "bare message"])
def test_a_first_record_longer_than_what_is_looked_at_is_known(
    frame: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log body of many megabytes, say: the bytes that are looked at first lie within it."""
    monkeypatch.setattr(files, "_CHUNK_BYTES", 1 << 16)
    data = LogsData()
    data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1).body.string_value = "b" * 300_000
    window = open_window(io.BytesIO(frame(data.SerializeToString())))
    found = recognised(window, FILE_FORMATS).read(window, chunk_bytes=1 << 16)
    assert [len(body) for piece in found for body in piece.batch.logs["body"].to_pylist()] == [300_002]


def test_content_that_is_malformed_is_not_read_further_for_its_format() -> None:
    """However long the first field says that it is."""
    content = with_lengths(b"\x0a" + b"\xff\xff\xff\x7f" + b"\xff" * 100_000)
    source = io.BytesIO(content + bytes(40 << 20))
    with pytest.raises(UnknownFormatError):
        list(documents(source))
    assert source.tell() < 10 << 20


@settings(max_examples=200, deadline=None)
@given(noise=st.binary(min_size=1, max_size=400), start=st.sampled_from([b"", b"\x0a", b"\x00\x00\x01\x00\x0a"]))
def test_noise_is_no_otlp(noise: bytes, start: bytes) -> None:
    """What is taken for OTLP has at least something of it."""
    try:
        found = decoded(start + noise)
    except UnknownFormatError:
        return
    for chunk, batch in found:
        assert batch.record_count or len(chunk.rejects) or batch.rejects.num_rows or batch.resources.num_rows
