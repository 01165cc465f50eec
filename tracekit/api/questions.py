"""The questions that a store answers, each under its own name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tracekit.schema import OUTCOMES

if TYPE_CHECKING:
    import polars as pl

    from tracekit.analysis import (
        CompareAnswer,
        FailuresAnswer,
        GoodputAnswer,
        MetricsAnswer,
        Mode,
        QualityAnswer,
        RequestFailures,
        RequestGoodput,
        RequestWhatIf,
        SloSet,
        StragglersAnswer,
        TailAnswer,
        WhatIfAnswer,
    )
    from tracekit.schema import Metric
    from tracekit.store import Database


def questions() -> tuple[str, ...]:
    """What `Store.ask` can be asked, here and through a server.

    >>> "tail" in questions()
    True
    """
    from tracekit import analysis

    return analysis.questions()


class Questions(ABC):
    """What a store can be asked, whether its file is open here or somewhere else."""

    @abstractmethod
    def ask(self, question: str, /, *arguments: Any, **options: Any) -> Any:
        """The answer to a question by its name, one of `questions()`."""

    @property
    @abstractmethod
    def database(self) -> Database:
        """What is underneath."""

    def tail(
        self,
        metric: Metric,
        *,
        quantile: float | None = None,
        where: str | None = None,
        baseline: str = "auto",
        outcome: str = OUTCOMES[0],
    ) -> TailAnswer:
        """Which stage made the slow ones slow; see `tracekit.analysis.tail.explain`.

        >>> answer = store.tail("ttft", where="attributes['scenario'] = 'overload'",
        ...                     baseline="attributes['scenario'] = 'steady'")
        >>> answer.verdict, answer.stages["stage"][0]
        ('load_or_slowness', 'eng.queue')
        >>> answer.stages["excess_ns"].sum() == answer.excess_ns
        True
        """
        options = {"quantile": quantile, "where": where, "baseline": baseline, "outcome": outcome}
        answer: TailAnswer = self.ask("tail", metric, **options)
        return answer

    def changed_metrics(
        self, metrics: Sequence[Metric], *, where: str | None = None, outcome: str = OUTCOMES[0]
    ) -> pl.DataFrame:
        """In which metrics anything stands out over time; see `tracekit.analysis.tail.changed_metrics`.

        >>> store.changed_metrics(["ttft", "e2e"])["metric"].to_list()
        ['ttft', 'e2e']
        """
        found: pl.DataFrame = self.ask("changed_metrics", list(metrics), where=where, outcome=outcome)
        return found

    def stragglers(self, *, job: str | None = None) -> StragglersAnswer:
        """Which rank made the others wait; see `tracekit.analysis.stragglers.question`.

        >>> answer = store.stragglers()
        >>> answer.verdict
        'stragglers'
        """
        answer: StragglersAnswer = self.ask("stragglers", job=job)
        return answer

    def whatif(self, change: str, *, job: str | None = None) -> WhatIfAnswer:
        """What the steps of a job would take under a change; see `tracekit.analysis.jobs.whatif`.

        For requests see `whatif_requests`.

        >>> answer = store.whatif("without=rank:1")
        >>> answer.low <= answer.after <= answer.high
        True
        """
        answer: WhatIfAnswer = self.ask("whatif", change, job=job)
        return answer

    def whatif_requests(
        self,
        *changes: str,
        metric: Metric = "ttft",
        quantile: float = 0.99,
        where: str | None = None,
        baseline: str | None = None,
        slo: str | SloSet | None = None,
    ) -> RequestWhatIf:
        """What requests would take under changes of their engines; see `tracekit.analysis.requests.whatif`.

        >>> answer = store.whatif_requests("batch=16", metric="ttft", quantile=0.9)
        >>> answer.verdict in ("faster", "no_difference", "not_reproduced")
        True
        """
        goal = slo if slo is None or isinstance(slo, str) else slo.as_dict()
        options = {"metric": metric, "quantile": quantile, "where": where, "baseline": baseline, "slo": goal}
        answer: RequestWhatIf = self.ask("request_whatif", list(changes), **options)
        return answer

    def request_goodput(
        self,
        slo: str | SloSet,
        *,
        where: str | None = None,
        mode: Mode = "tracekit",
        objective: float | None = None,
    ) -> RequestGoodput:
        """How much of what clients asked for was good; see `tracekit.analysis.requests.goodput`.

        >>> answer = store.request_goodput("ttft=2s,e2e=10s")
        >>> answer.attempted == answer.good + sum(answer.buckets.values())
        True
        """
        # Plain values reach a server too.
        goal = slo if isinstance(slo, str) else slo.as_dict()
        answer: RequestGoodput = self.ask("request_goodput", goal, where=where, mode=mode, objective=objective)
        return answer

    def request_failures(self, *, where: str | None = None) -> RequestFailures:
        """Which requests failed and what failed first; see `tracekit.analysis.requests.failures`.

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
        other: Questions | None = None,
        slo: str | SloSet | None = None,
        where: str | None = None,
    ) -> CompareAnswer:
        """What changed between two groups of requests; see `tracekit.analysis.compare.question`.

        `other` is the store that holds `before`, where it is not this one; then no server may hold either.

        >>> store.compare("attributes['scenario'] = 'steady'", "attributes['scenario'] = 'overload'").verdict
        'load_or_slowness'
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

    def metrics(
        self, metric: str | None = None, *, by: Sequence[str] = ("host_name",), every_s: float | None = None
    ) -> MetricsAnswer:
        """Counters, gauges and histograms over time; see `tracekit.analysis.metrics`.

        >>> store.metrics().verdict
        'listed'
        """
        answer: MetricsAnswer = self.ask("metrics", metric, by=list(by), every_s=every_s)
        return answer

    def quality(self) -> QualityAnswer:
        """What the data can bear; see `tracekit.analysis.quality`.

        >>> store.quality().verdict
        'usable'
        """
        answer: QualityAnswer = self.ask("quality")
        return answer
