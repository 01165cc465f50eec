"""A receiver, and the foreign senders where their toolchains are present."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.receiver import Receiver, ReceiverSettings

pytest.register_assert_rewrite("tests.interop.sent")

HERE = Path(__file__).parent
BUILD_S = 900


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    """A receiver over an empty store."""
    with Receiver(tmp_path / "store.duckdb", ReceiverSettings(http_port=0, grpc_port=0)) as running:
        yield running


def toolchain(*programs: str) -> None:
    """Skip where a program is missing; in CI that is a failure, so that nothing is left out unnoticed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")


def built(command: list[str], folder: Path) -> None:
    """Run a build in a folder; its output is the message of the failure."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BUILD_S, env=os.environ)
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Node exporters installed from their package registry."""
    toolchain("node", "npm")
    folder = tmp_path_factory.mktemp("node")
    for name in ("package.json", "send.mjs"):
        shutil.copy(HERE / "node" / name, folder)
    built(["npm", "install", "--no-audit", "--no-fund", "--silent"], folder)
    return folder


@pytest.fixture(scope="session")
def collector_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The OpenTelemetry Collector, built from its modules."""
    toolchain("go")
    program = tmp_path_factory.mktemp("collector") / "otelcol"
    built(["go", "build", "-o", str(program), "."], HERE / "collector")
    return program
