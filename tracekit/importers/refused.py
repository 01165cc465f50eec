"""Formats that are known and not read: each is refused by its name, with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tracekit.errors import UnknownFormatError
from tracekit.records import Input, Piece

_HEAD_BYTES = 1 << 16
_BLANKS = b"\x00\xef\xbb\xbf \t\r\n"
_TO_OTLP = "send the same spans as OTLP, for example through the OpenTelemetry Collector"
_OPERATIONS = "step, rank, operation, start_ns and end_ns (docs/stages.md lists all)"


@dataclass(frozen=True, slots=True)
class KnownFormat:
    """One format that is not read; `sign` is looked for at the beginning, of JSON behind the first brace, or asked."""

    name: str
    sign: re.Pattern[bytes] | Callable[[bytes], bool]
    advice: str

    def is_in(self, head: bytes) -> bool:
        """Whether a file that begins so is of the format."""
        return self.sign.match(head) is not None if isinstance(self.sign, re.Pattern) else self.sign(head)


def _json(key: str) -> re.Pattern[bytes]:
    """A text of JSON that has a key in its beginning."""
    return re.compile(rb"[\s\x00\xef\xbb\xbf\[]*\{.{0,60000}?\"(?:" + key.encode() + rb")\"\s*:", re.DOTALL)


def _is_table(head: bytes) -> bool:
    """Whether names stand in the first line and as many values in the second: prose has commas, too."""
    names, _, rest = head.partition(b"\n")
    values = rest.partition(b"\n")[0]
    if not re.match(rb"[\xef\xbb\xbf]{0,3}[A-Za-z_\"][\w .\"/-]*(?:[,;\t][\w .\"/-]+)+\r?$", names):
        return False
    return any(names.count(one) == values.count(one) > 0 for one in (b",", b";", b"\t"))


def _bytes(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.DOTALL)


KNOWN = (
    KnownFormat("a Chrome trace that is no profile of PyTorch (traceEvents)", _json("traceEvents"),
                f"write one row an operation as Parquet or CSV with {_OPERATIONS}"),
    KnownFormat("an array of Chrome trace events", _bytes(rb'[\s\xef\xbb\xbf]*\[\s*\{[^{}\[\]]{0,4000}"ph"\s*:\s*"'),
                f"write one row an operation as Parquet or CSV with {_OPERATIONS}"),
    KnownFormat("Zipkin JSON v1 (binaryAnnotations)", _json("binaryAnnotations"),
                "export v2 (`/api/v2/spans`), or send to the Collector's zipkin receiver"),
    KnownFormat("Zipkin or Jaeger in Thrift",
                _bytes(rb"\x0c\x00\x00[\x00-\xff]{2}[\x08\x0a\x0b]\x00|\x82[\x21\x41\x81]"),
                "export JSON (Zipkin v2, Jaeger UI), or send to the Collector"),
    KnownFormat("Tempo search results, which hold no spans", _json("traces"), "save each trace of `/api/traces/<id>`"),
    KnownFormat("AWS X-Ray segments",
                _json("Segments|trace_id\"\\s*:\\s*\"1-[0-9a-f]{8}-[0-9a-f]{24}\".{0,4000}\"start_time"),
                _TO_OTLP),
    KnownFormat("Datadog traces", _json("span_id\"\\s*:\\s*\\d+.{0,4000}\"(?:meta|metrics|duration)"), _TO_OTLP),
    KnownFormat("Elastic APM events", _json("metadata\"\\s*:\\s*\\{.{0,4000}\"(?:transaction|service)"), _TO_OTLP),
    KnownFormat("a pprof profile", _bytes(rb"\x0a[\x02-\x0f]\x08"), "profiles are not read; export spans"),
    KnownFormat("a SQLite database (Nsight Systems, rocprof)", _bytes(rb"SQLite format 3\x00"),
                f"export one row an operation as Parquet or CSV with {_OPERATIONS}"),
    KnownFormat("a DuckDB database", _bytes(rb".{8}DUCK"), "a trace store is opened with --db, not ingested"),
    KnownFormat("Parquet without the columns of an operation table", _bytes(rb"PAR1"), f"it needs {_OPERATIONS}"),
    KnownFormat("Arrow IPC", _bytes(rb"ARROW1"), f"write Parquet with {_OPERATIONS}"),
    KnownFormat("a zip archive", _bytes(rb"PK\x03\x04"), "unpack it and ingest the files"),
    KnownFormat("a tar archive", _bytes(rb".{257}ustar"), "unpack it and ingest the folder"),
    KnownFormat("bzip2, xz or lz4", _bytes(rb"BZh[1-9]|\xfd7zXZ\x00|\x04\x22\x4d\x18"),
                "decompress it; gzip and zstd are read as they are"),
    KnownFormat("Prometheus text", _bytes(rb"\s*# (?:HELP|TYPE) "),
                "scrape it with the Collector's prometheus receiver"),
    KnownFormat("a web page or XML", _bytes(rb"[\s\xef\xbb\xbf]*<(?:!DOCTYPE|!--|\?xml|html)(?i:)"),
                "it may be a sign-in page: save the answer of the API"),
    KnownFormat("a table (CSV) without the columns of an operation table",
                _is_table,
                f"it needs {_OPERATIONS}"),
)  # fmt: skip
"""In the order in which they are asked."""


class RefusedFormat:
    """Stands for all formats of `KNOWN`, behind every format that is read."""

    name = "known, not read"
    expects = ""

    def recognise(self, source: Input) -> bool:
        """Whether the content is of one of them."""
        return _known(source) is not None

    def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
        """Raises `UnknownFormatError`, which names the format."""
        found = _known(source)
        assert found is not None, "asked before"
        raise UnknownFormatError(f"{found.name}, which is not read: {found.advice}")
        yield


def _known(source: Input) -> KnownFormat | None:
    head = source.peek(_HEAD_BYTES)
    return next((each for each in KNOWN if each.is_in(head)), None)
