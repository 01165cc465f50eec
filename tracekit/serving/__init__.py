"""One process that owns a store: it receives, serves the app, and answers questions of other processes."""

from tracekit.serving.app_settings import app_settings
from tracekit.serving.serve import ServeSettings, serve

__all__ = ["ServeSettings", "app_settings", "serve"]
