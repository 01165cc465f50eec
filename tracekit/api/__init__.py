"""The public face: a trace store, opened here or asked where it is served."""

from tracekit.api.store import Store, questions

__all__ = ["Store", "questions"]
