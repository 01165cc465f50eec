"""Why something was not stored as it came: one number and one word for each reason, and what to do about
it.
"""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Numbers that compiled code writes; the lower-case name is what a reject report shows."""

    TRUNCATED = 1
    MALFORMED = 2
    WRONG_SIGNAL = 3
    NO_KNOWN_SIGNAL = 4
    TOO_LARGE = 5
    KEY_NOT_LOWER_CAMEL_CASE = 6
    WRONG_TYPE = 7
    ENUM_NAME = 8
    ID_NOT_HEX = 9
    BYTES_NOT_BASE64 = 10
    NUMBER_OUT_OF_RANGE = 11
    NESTED_TOO_DEEP = 12
    INVALID_UTF8 = 13
    TRACE_ID_INVALID = 14
    SPAN_ID_INVALID = 15
    PARENT_SPAN_ID_INVALID = 16
    TIME_ZERO = 17
    TIME_OUT_OF_RANGE = 18
    POINT_WITHOUT_VALUE = 19
    HISTOGRAM_SHAPE = 20
    # Notes: the record is stored, something of it was set aside or is doubtful.
    DUPLICATE_ATTRIBUTE_KEY = 21
    TEMPORALITY_UNSPECIFIED = 22
    LINK_ID_INVALID = 23
    EXEMPLAR_ID_INVALID = 24
    # Faults of a file's framing, found before anything is decoded.
    PARTIAL_FIRST_LINE = 25
    UNREADABLE_COMPRESSION = 26
    # Further notes and faults, in the order in which they were added.
    LOG_ID_INVALID = 27
    REFUSED_BY_STORE = 28
    ASSUMED = 29
    ROW_INCOMPLETE = 30

    @property
    def word(self) -> str:
        """The name as reports show it."""
        return self.name.lower()


DOCUMENT_FAULTS = frozenset({
    Reason.TRUNCATED, Reason.MALFORMED, Reason.WRONG_SIGNAL, Reason.NO_KNOWN_SIGNAL, Reason.TOO_LARGE,
    Reason.PARTIAL_FIRST_LINE, Reason.UNREADABLE_COMPRESSION,
})  # fmt: skip
"""Reasons that concern a whole document: the rest of it could not be read."""

ADVICE: dict[Reason, str] = {
    Reason.TRUNCATED: "the document ends too early; send or copy it again",
    Reason.MALFORMED: "the bytes are not OTLP in this encoding; check the exporter and the transport",
    Reason.WRONG_SIGNAL: "the document holds another signal; send it to that signal's endpoint",
    Reason.NO_KNOWN_SIGNAL: "none of resourceSpans, resourceMetrics, resourceLogs is there; send OTLP",
    Reason.TOO_LARGE: "the document or value is beyond the size limit; send smaller batches",
    Reason.KEY_NOT_LOWER_CAMEL_CASE: "OTLP/JSON keys are lowerCamelCase; rename the key",
    Reason.WRONG_TYPE: "the JSON value has the wrong type for this field; see the OTLP/JSON mapping",
    Reason.ENUM_NAME: "OTLP/JSON enums are numbers, not names; send the number",
    Reason.ID_NOT_HEX: "ids are hexadecimal in OTLP/JSON, not base64; send hex",
    Reason.BYTES_NOT_BASE64: "bytes are base64 in OTLP/JSON; send base64",
    Reason.NUMBER_OUT_OF_RANGE: "the number does not fit the field; send one that does",
    Reason.NESTED_TOO_DEEP: "attribute values may nest 64 levels; send flatter values",
    Reason.INVALID_UTF8: "a string is not UTF-8; send bytes as bytesValue",
    Reason.TRACE_ID_INVALID: "traceId must be 16 bytes and not all zero",
    Reason.SPAN_ID_INVALID: "spanId must be 8 bytes and not all zero",
    Reason.PARENT_SPAN_ID_INVALID: "parentSpanId must be empty or 8 bytes; the span was kept as a root",
    Reason.TIME_ZERO: "the time is 0 or missing; set it to nanoseconds since 1970",
    Reason.TIME_OUT_OF_RANGE: "the time does not fit 63 bits of nanoseconds; check its unit",
    Reason.POINT_WITHOUT_VALUE: "a data point needs asInt or asDouble, or the flag for no recorded value",
    Reason.HISTOGRAM_SHAPE: "there must be one more bucket count than bounds, or neither",
    Reason.DUPLICATE_ATTRIBUTE_KEY: "a key occurs twice in one attribute list; the first value was kept",
    Reason.TEMPORALITY_UNSPECIFIED: "the aggregation temporality is unspecified; rates cannot be computed",
    Reason.LINK_ID_INVALID: "a link needs a trace id and a span id that are not all zero; the link was set aside",
    Reason.EXEMPLAR_ID_INVALID: "an exemplar's id is no id; the exemplar was kept without it",
    Reason.LOG_ID_INVALID: "a log record's id is no id; the record was kept without it",
    Reason.REFUSED_BY_STORE: "the store does not take the record; report it with the message",
    Reason.PARTIAL_FIRST_LINE: "the file starts in the middle of a document; the rest was read",
    Reason.UNREADABLE_COMPRESSION: "the compressed data is damaged or cut; what came before it was read",
    Reason.ASSUMED: "the file leaves something open; see the example for what was assumed",
    Reason.ROW_INCOMPLETE: "the row does not say whose, what or when; write all needed columns",
}
"""What a person can do about each reason."""
