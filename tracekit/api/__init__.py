"""The public face: a trace store, opened here or asked where it is served."""

from tracekit.api.questions import questions
from tracekit.api.store import Store

__all__ = ["Store", "questions"]
