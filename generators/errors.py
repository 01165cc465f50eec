"""What can go wrong on the way out."""

from __future__ import annotations

from tracekit.errors import TracekitError


class ExportError(TracekitError):
    """An exporter could not deliver: the endpoint does not answer or the disk is full."""
