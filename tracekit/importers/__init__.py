"""Formats that are not OTLP, one module each: what they hold as frames and as the records that a store takes."""
