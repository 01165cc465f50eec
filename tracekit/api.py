"""The public face: a trace store and the questions it answers.

Each method imports the room that answers it: whoever asks one question does not wait for the others to load, nor for
the decoder where nothing is ingested.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from tracekit.errors import StoreLockedError
from tracekit.schema import OUTCOMES

if TYPE_CHECKING:
    import polars as pl

    from tracekit.analysis import (
        CompareAnswer,
        FailuresAnswer,
        GoodputAnswer,
        Mode,
        QualityAnswer,
        RequestFailures,
        RequestGoodput,
        SloSet,
        StragglersAnswer,
        TailAnswer,
        WhatIfAnswer,
    )
    from tracekit.ingest import FileReport, IngestReport, OutgoingFiles, Source
    from tracekit.output import Output
    from tracekit.remote import RemoteStore
    from tracekit.schema import Metric
    from tracekit.store import Database, HeldStore

Asked = ParamSpec("Asked")
Replied = TypeVar("Replied")


def questions() -> tuple[str, ...]:
    """What `Store.ask` can be asked, here and through a server.

    >>> "tail" in questions()
    True
    """
    from tracekit import analysis

    return analysis.questions()


class Store:
    """A trace store: one DuckDB file with what arrived and what was computed from it.

    Open it with `tracekit.open`. Every question returns a polars frame or a frozen answer with frames inside;
    none prints or plots.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: str | Path | None, *, read_only: bool = False) -> Store:
        """Open the store at `path`, or a new one in memory for None.

        `read_only` lets other processes read at the same time; the file must exist then. Where
        `tracekit serve` holds the file, the store asks it instead; `served_by` says so.
        Raises `StoreLockedError`, `StoreVersionError` or `StoreError`.

        >>> Store.open("missing.duckdb", read_only=True)
        Traceback (most recent call last):
        tracekit.errors.StoreError: there is no trace store at missing.duckdb; make one with `tracekit ingest ...
        """
        from tracekit.store import Database, held_store

        if (held := held_store(path)) is not None:
            return _SharedStore(held)
        try:
            return cls(Database.open(path, read_only=read_only))
        except StoreLockedError:
            from tracekit.remote import RemoteStore, endpoint_of

            endpoint = None if path is None else endpoint_of(Path(path))
            if endpoint is None:
                raise
        return _ServedStore(RemoteStore(endpoint))

    @property
    def served_by(self) -> str | None:
        """The server that is asked in place of the file, for people; None where the file itself is open."""
        return None

    @property
    def database(self) -> Database:
        """The DuckDB file underneath, for those who extend tracekit."""
        return self._database

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> IngestReport:
        """Read files, directories, glob patterns or `-` (standard input), and bring units up to date.

        `progress` is called with bytes done and bytes in total.

        >>> with Store.open(None) as new:
        ...     report = new.ingest("sample_traces/vllm_gateway")
        >>> report.spans, report.duplicates, report.rejected, report.is_complete
        (1134, 0, 0, True)
        """
        from tracekit import ingest, stages

        return ingest.ingest(self._database, paths, progress=progress, after=stages.update_units)

    def sql(self, statement: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a SQL statement; `$name` in the statement is bound to the parameter `name`.

        A store that was opened to read takes what only looks: SELECT, SHOW, DESCRIBE, EXPLAIN, PIVOT.
        Raises `QueryError` with DuckDB's message.

        >>> store.sql("SELECT count(*) AS steps FROM units WHERE kind = $kind", kind="step").rows()
        [(352,)]
        """
        if self._database.read_only:
            from tracekit.store import looked_up

            return looked_up(self._database, statement, parameters)
        return self._database.sql(statement, **parameters)

    def query(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a statement that ships with tracekit: `queries/<name>.sql`.

        >>> store.query("explore/store_contents")["span_count"].item()
        4332
        """
        return self._database.query(name, **parameters)

    def ask(self, question: str, /, *arguments: Any, **options: Any) -> Any:
        """The answer to a question by its name, one of `questions()`; see `tracekit.analysis.answer`.

        Raises `UsageError` where there is none of this name.

        >>> store.ask("quality").verdict
        'usable'
        """
        from tracekit import analysis

        return analysis.question_named(question)(self._database, *arguments, **options)

    def tail(
        self,
        metric: Metric,
        *,
        quantile: float | None = None,
        where: str | None = None,
        baseline: str = "auto",
        outcome: str = OUTCOMES[0],
    ) -> TailAnswer:
        """Which stage made the slow ones slow; see `tracekit.analysis.tail`.

        >>> answer = store.tail("ttft", where="attributes['scenario'] = 'overload'",
        ...                     baseline="attributes['scenario'] = 'steady'")
        >>> answer.verdict, answer.stages["stage"][0]
        ('too_few_blocks', 'eng.queue')
        >>> answer.stages["excess_ns"].sum() == answer.excess_ns
        True
        """
        options = {"quantile": quantile, "where": where, "baseline": baseline, "outcome": outcome}
        answer: TailAnswer = self.ask("tail", metric, **options)
        return answer

    def stragglers(self, *, job: str | None = None) -> StragglersAnswer:
        """Which rank made the others wait; see `tracekit.analysis.stragglers`.

        >>> answer = store.stragglers()
        >>> answer.verdict
        'stragglers'
        """
        answer: StragglersAnswer = self.ask("stragglers", job=job)
        return answer

    def whatif(self, change: str, *, job: str | None = None) -> WhatIfAnswer:
        """What the steps of a job would take under a change; see `tracekit.analysis.whatif`.

        >>> answer = store.whatif("without=rank:1")
        >>> answer.low <= answer.after <= answer.high
        True
        """
        answer: WhatIfAnswer = self.ask("whatif", change, job=job)
        return answer

    def request_goodput(
        self,
        slo: str | SloSet,
        *,
        where: str | None = None,
        mode: Mode = "tracekit",
        objective: float | None = None,
    ) -> RequestGoodput:
        """How much of what clients asked for was good; see `tracekit.analysis.request_goodput`.

        >>> answer = store.request_goodput("ttft=2s,e2e=10s")
        >>> answer.attempted == answer.good + sum(answer.buckets.values())
        True
        """
        # Plain values reach a server too.
        goal = slo if isinstance(slo, str) else slo.as_dict()
        answer: RequestGoodput = self.ask("request_goodput", goal, where=where, mode=mode, objective=objective)
        return answer

    def request_failures(self, *, where: str | None = None) -> RequestFailures:
        """Which requests failed and what failed first; see `tracekit.analysis.request_failures`.

        >>> answer = store.request_failures()
        >>> answer.failed, answer.invalid, answer.aborted
        (0, 5, 16)
        """
        answer: RequestFailures = self.ask("request_failures", where=where)
        return answer

    def compare(
        self,
        before: str | None,
        after: str | None,
        *,
        other: Store | None = None,
        slo: str | SloSet | None = None,
        where: str | None = None,
    ) -> CompareAnswer:
        """What changed between two groups of requests; see `tracekit.analysis.compare`.

        `other` is the store that holds `before`, where it is not this one; then no server may hold either.

        >>> store.compare("attributes['scenario'] = 'steady'", "attributes['scenario'] = 'overload'").verdict
        'too_few_blocks'
        """
        goal = slo if slo is None or isinstance(slo, str) else slo.as_dict()
        options: dict[str, Any] = {"slo": goal, "where": where}
        if other is not None:
            from tracekit import analysis

            return analysis.compare(self.database, before, after, other=other.database, **options)
        answer: CompareAnswer = self.ask("compare", before, after, **options)
        return answer

    def goodput(
        self,
        *,
        job: str | None = None,
        price: float | None = None,
        flops_per_token: float | None = None,
        device: str | None = None,
        precision: str = "bf16",
        slo: str | SloSet | None = None,
        where: str | None = None,
        mode: Mode = "tracekit",
        objective: float | None = None,
    ) -> GoodputAnswer:
        """Where paid accelerator time went; see `tracekit.analysis.goodput`.

        >>> answer = store.goodput(job="job-a")
        >>> answer.leaves["leaf"][0]
        'job.init'
        >>> answer.leaves["ns"].sum() == answer.training.jobs["total_ns"][0]
        True
        """
        usage = {"flops_per_token": flops_per_token, "device": device, "precision": precision}
        # Plain values reach a server too.
        goal = slo if slo is None or isinstance(slo, str) else slo.as_dict()
        serving = {"slo": goal, "where": where, "mode": mode, "objective": objective}
        answer: GoodputAnswer = self.ask("goodput", job=job, price=price, **usage, **serving)
        return answer

    def failures(
        self, *, job: str | None = None, price: float | None = None, where: str | None = None
    ) -> FailuresAnswer:
        """What failed first, and who only followed; see `tracekit.analysis.failures`.

        >>> store.failures().training.incidents["ranks"].to_list()
        [[3]]
        """
        answer: FailuresAnswer = self.ask("failures", job=job, price=price, where=where)
        return answer

    def quality(self) -> QualityAnswer:
        """What the data can bear; see `tracekit.analysis.quality`.

        >>> store.quality().verdict
        'usable'
        """
        answer: QualityAnswer = self.ask("quality")
        return answer

    def operations(self, *, trace_id: str) -> pl.DataFrame:
        """The operations of one trace with the time that each owns; see `tracekit.stages.operations`.

        >>> trace_id = store.sql("SELECT min(trace_id) FROM units WHERE kind = 'request'").item()
        >>> store.operations(trace_id=trace_id).is_empty()
        False
        """
        from tracekit import stages

        return stages.operations(self._database, trace_id=trace_id)

    def report(self) -> Output:
        """The whole picture as rows, as an object and as text; see `tracekit.report.report`.

        >>> print(store.report().text.splitlines()[0])
        # What is in the store
        """
        from tracekit import report

        return report.report(self._database)

    def close(self) -> None:
        """Close the file. What was ingested is already durable.

        >>> Store.open(None).close()
        """
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _within_limits(
    question: Callable[Concatenate[Store, Asked], Replied],
) -> Callable[Concatenate[_SharedStore, Asked], Replied]:
    """The question, asked as everybody asks a server: in its turn, for a while, with so much memory."""

    @wraps(question)
    def ask(store: _SharedStore, *arguments: Asked.args, **options: Asked.kwargs) -> Replied:
        answer: Replied = store._held.ask(lambda database: question(Store(database), *arguments, **options))
        return answer

    return ask


class _SharedStore(Store):
    """A store that this process serves; closing it leaves it open for the server."""

    def __init__(self, held: HeldStore) -> None:
        self._held = held

    @property
    def database(self) -> Database:
        """Raises `StoreLockedError`: only the server writes."""
        raise StoreLockedError("the store is served by this process: its tables can only be read with `sql`")

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> IngestReport:
        """Raises `StoreLockedError`: only the server writes."""
        from tracekit import ingest

        return ingest.ingest(self.database, paths, progress=progress)

    sql = _within_limits(Store.sql)
    query = _within_limits(Store.query)
    ask = _within_limits(Store.ask)
    operations = _within_limits(Store.operations)
    report = _within_limits(Store.report)

    def close(self) -> None:
        """Do nothing: the server closes the file when it stops."""


class _ServedStore(Store):
    """A store that another process serves: every question goes there."""

    def __init__(self, remote: RemoteStore) -> None:
        self._remote = remote

    @property
    def served_by(self) -> str:
        """The server that is asked."""
        where = self._remote.endpoint
        return f"process {where.pid} at {where.url}"

    @property
    def database(self) -> Database:
        """Raises `StoreLockedError`: the file is open in the server."""
        raise self._held("its tables can only be read with `sql`")

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> IngestReport:
        """Read files here and let the server store them; see `Store.ingest`."""
        from tracekit.ingest import IngestReport, OutgoingFiles, find

        sources = find(paths)
        files = OutgoingFiles(sum(source.size_bytes for source in sources), progress)
        reports = [self._ingest_file(source, files, is_last=source is sources[-1]) for source in sources]
        return IngestReport(files=tuple(reports))

    def _ingest_file(self, source: Source, files: OutgoingFiles, *, is_last: bool) -> FileReport:
        pieces = files.pieces(source)
        report = self._remote.ingest_file(source.name, pieces, is_named=source.is_named, is_last=is_last)
        return files.reported(report)

    def sql(self, statement: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of one SELECT statement; see `Store.sql`."""
        return self._remote.sql(statement, **parameters)

    def query(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a statement that ships with tracekit; see `Store.query`."""
        return self._remote.answer("query", name, **parameters)

    def ask(self, question: str, /, *arguments: Any, **options: Any) -> Any:
        """See `Store.ask`."""
        # What comes back is made from the types that it registers.
        from tracekit import analysis  # noqa: F401

        return self._remote.answer(question, *arguments, **options)

    def operations(self, *, trace_id: str) -> pl.DataFrame:
        """See `Store.operations`."""
        return self._remote.answer("operations", trace_id=trace_id)

    def report(self) -> Output:
        """See `Store.report`."""
        return self._remote.answer("report")

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _held(self, remedy: str) -> StoreLockedError:
        where = self._remote.endpoint
        told = f"the store is served by process {where.pid} at {where.url}: {remedy}"
        return StoreLockedError(told, endpoint=where.url, pid=where.pid)
