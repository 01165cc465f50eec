"""The app looks and behaves the same, however it is started."""

from __future__ import annotations

from streamlit import config

from tracekit.serving.app_settings import app_settings


def test_the_shipped_settings_are_known_to_streamlit() -> None:
    """A misspelt setting would be refused when the app starts."""
    known = set(config.get_config_options())
    assert set(app_settings()) <= known


def test_usage_is_reported_to_nobody() -> None:
    """What is looked at stays on this machine."""
    assert app_settings()["browser.gatherUsageStats"] is False


def test_an_override_wins_over_the_shipped_setting() -> None:
    """`server_address` stands for `server.address`."""
    assert app_settings(server_address="0.0.0.0")["server.address"] == "0.0.0.0"
    assert app_settings()["server.address"] == "127.0.0.1"
