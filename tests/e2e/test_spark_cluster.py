"""`tracekit build --engine spark` on a standalone cluster of a master and two workers on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

import tracekit
from tests.unit.warehouse.equality import dealt, unequal_answers, unequal_tables

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
LACKING = [name for name, there in {"Java": shutil.which("java"), "PySpark": find_spec("pyspark")}.items() if not there]
pytestmark = pytest.mark.skipif(bool(LACKING), reason=f"a Spark cluster needs {' and '.join(LACKING)}")
START_S, BUILD_S = 120.0, 500.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


class Cluster:
    """Processes of Java, each with those that it starts in a group of its own."""

    def __init__(self, folder: Path) -> None:
        spark = find_spec("pyspark")
        assert spark is not None
        assert spark.submodule_search_locations is not None
        self.home = Path(spark.submodule_search_locations[0])
        self.folder = folder
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.master = self.start("master.Master", "--port", str(self.port))
        self.wait_for("master.Master", "Starting Spark master")
        self.workers = [self.start("worker.Worker", "-c", "1", "-m", "1g", self.url) for _ in range(2)]
        self.wait_for("worker.Worker", "Successfully registered with master", count=2)

    def start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{self.home}/jars/*"]
        command += [f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0", *arguments]
        environment = os.environ | {
            "SPARK_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        environment |= {
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_WORKER_DIR": str(self.folder),
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    def wait_for(self, name: str, sign: str, *, count: int = 1) -> None:
        end = time.monotonic() + START_S
        while (self.folder / f"{name}.log").read_text(errors="replace").count(sign) < count:
            assert time.monotonic() < end, (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]
            time.sleep(0.2)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in (*self.workers, self.master):
            self.kill(process)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    started = Cluster(tmp_path / "cluster")
    try:
        yield started
    finally:
        started.stop()


def kill_when(cluster: Cluster, worker: subprocess.Popen[bytes], folder: Path, pattern: str) -> threading.Thread:
    """Kill a worker with everything that it started once a file of the build is there; returns who does."""

    def watch() -> None:
        end = time.monotonic() + BUILD_S
        while time.monotonic() < end and not list(folder.glob(pattern)):
            time.sleep(0.02)
        cluster.kill(worker)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_a_cluster_gives_what_one_file_gives_though_a_worker_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    """Serving and training over four files, three parts; a worker dies when the first spans are written."""
    files = dealt(sorted(SAMPLES.rglob("*.jsonl")), tmp_path / "dealt", count=4, repeated=20)
    warehouse = tmp_path / "warehouse"
    killer = kill_when(cluster, cluster.workers[0], warehouse, "data/spans/*.parquet")
    command = [sys.executable, "-m", "tracekit", "build", str(tmp_path / "dealt"), "--to", str(warehouse)]
    command += ["--engine", "spark", "--master", cluster.url, "--partitions", "3", "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    killer.join(5)
    assert cluster.workers[0].poll() is not None
    with tracekit.open(None) as local, tracekit.open(warehouse) as built:
        local.ingest(*files)
        assert not unequal_tables(local.database, built.database)
        assert not unequal_answers(local, built)
