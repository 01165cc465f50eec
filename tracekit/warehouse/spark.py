"""The tasks of a build on a Spark cluster, by `mapInArrow`: a row goes in a task, its result comes out.

Spark only says where a task runs, and runs it again where a worker is lost. What tasks exchange lies in the folder of
the warehouse, under names of the attempt that wrote it, so that an attempt which is lost, or which Spark runs twice,
leaves files that nobody reads.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from tracekit.errors import StoreError, TracekitError, UsageError

Task = TypeVar("Task")
Result = TypeVar("Result")
_RESULTS = "place bigint, result binary"
_SCHEMA = pa.schema([("place", pa.int64()), ("result", pa.binary())])
_SETTINGS = {
    "spark.ui.enabled": "false",
    # A task that first compiles kernels, or that sits on a crowded machine, says nothing for minutes.
    "spark.network.timeout": "1200s",
    "spark.executor.heartbeatInterval": "60s",
    "spark.python.authenticate.socketTimeout": "900s",
    # The work is done in Python; the processes of Java only pass it on.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


class SparkEngine:
    """A Spark cluster; use it as a context manager, or `close()` it.

    Settings of the site (`spark-defaults.conf`) go before those that this module would choose. Every executor needs
    this package, and sees the folder of the warehouse and the sources under the same paths.
    """

    def __init__(self, master: str, *, settings: dict[str, str] | None = None) -> None:
        """Connect to the cluster at a master URL such as `spark://127.0.0.1:7077`.

        Raises `UsageError` without PySpark, `StoreError` where the cluster cannot be reached.
        """
        self._session = _session(master, settings or {})
        self._context = self._session.sparkContext

    @property
    def worker_count(self) -> int:
        """Tasks that the cluster runs at once."""
        return int(self._context.defaultParallelism)

    @property
    def thread_count(self) -> int:
        """Processors that a task may use."""
        return 1

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], *, done: Callable[[int], None] | None = None
    ) -> list[Result]:
        """See `Engine.run`. Raises `StoreError` where Spark gives a task up."""
        if not tasks:
            return []
        results: dict[int, Result] = {}
        for place, outcome in self._outcomes(work, tasks):
            if isinstance(outcome, TracekitError):
                raise outcome
            results[place] = outcome
            if done is not None:
                done(place)
        return [results[place] for place in range(len(tasks))]

    def _outcomes(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
        """Place and result of each task as they come."""
        from pyspark.errors import PySparkException

        pickled = self._context.broadcast([pickle.dumps(task) for task in tasks])
        rows = self._session.range(0, len(tasks), 1, len(tasks))
        with warnings.catch_warnings():
            # It tells of versions of pandas, of which nothing is used here.
            warnings.filterwarnings("ignore", category=UserWarning, module="pyspark")
            try:
                found = rows.mapInArrow(_mapped(work, pickled), _RESULTS).collect()
            except (PySparkException, _java_error()) as error:
                told = str(error).strip().splitlines()[0][:300]
                raise StoreError(f"Spark gave the build up ({told}); nothing was changed, build again") from error
            finally:
                pickled.destroy()
        return ((row["place"], pickle.loads(row["result"])) for row in found)

    def close(self) -> None:
        """Leave the cluster."""
        self._session.stop()

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _mapped(work: Callable[[Any], Any], pickled: Any) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor runs on the rows of a partition: places of tasks in, places and results out."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                try:
                    outcome = work(pickle.loads(pickled.value[place]))
                except TracekitError as error:
                    outcome = error
                yield pa.record_batch([[place], [pickle.dumps(outcome)]], schema=_SCHEMA)

    return run


def _session(master: str, settings: dict[str, str]) -> Any:
    try:
        from pyspark import SparkConf
        from pyspark.sql import SparkSession
    except ImportError as error:
        told = "the Spark engine needs PySpark: install the extra `tracekit-stages[spark]`, and Java 17"
        raise UsageError(told, option="engine", value="spark") from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setMaster(master).setAppName("tracekit build")
    for name, value in (_SETTINGS | (_HERE if _is_here(master) else {})).items():
        conf.setIfMissing(name, value)
    for name, value in settings.items():
        conf.set(name, value)
    try:
        session = SparkSession.builder.config(conf=conf).getOrCreate()
    except Exception as error:
        told = str(error).strip().splitlines()[0][:300]
        raise StoreError(f"the Spark master {master} cannot be reached: {told}; check --master, and Java") from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def _is_here(master: str) -> bool:
    """Whether the cluster is on this machine: then the driver listens on no other address."""
    return master.startswith("local") or "//127.0.0.1:" in master or "//localhost:" in master


def _java_error() -> type[Exception]:
    from py4j.protocol import Py4JError

    kind: type[Exception] = Py4JError
    return kind
