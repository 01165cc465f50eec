"""The settings that the app ships with, for a server that is started from another script."""

from __future__ import annotations

import tomllib
from typing import Any

from tracekit.queries import folder


def app_settings(**overrides: Any) -> dict[str, Any]:
    """The settings of `app/.streamlit/config.toml` by dotted name; `server_port=1` overrides `server.port`.

    Streamlit reads that file only for a script that lies beside it, which the `tracekit` command does not:
    without these the app would have another look, and browsers would be told to report usage.
    """
    text = (folder("app") / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    chosen = {name.replace("_", ".", 1): value for name, value in overrides.items()}
    return _dotted(tomllib.loads(text)) | chosen


def _dotted(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted names."""
    settings: dict[str, Any] = {}
    for name, value in table.items():
        inside = _dotted(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
        settings |= inside
    return settings
