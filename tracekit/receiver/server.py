"""The receiver: one process that owns the store and takes OTLP over gRPC and HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from starlette.routing import BaseRoute

from tracekit.errors import UsageError
from tracekit.receiver.access import Access, is_loopback
from tracekit.receiver.allocator import share_arenas
from tracekit.receiver.budget import Budget
from tracekit.receiver.committer import Committer
from tracekit.receiver.counters import Counters
from tracekit.receiver.guard import Guard
from tracekit.receiver.held_store import HeldStore
from tracekit.receiver.http_app import http_app
from tracekit.receiver.intake import Intake
from tracekit.receiver.ports import Ports
from tracekit.receiver.retention import Retention
from tracekit.receiver.self_metrics import SelfMetrics
from tracekit.receiver.tls import Certificate
from tracekit.receiver.units_updater import UnitsUpdater
from tracekit.receiver.warm_up import warm_up
from tracekit.store import Database, spill_folder, stored_bytes


@dataclass(frozen=True, slots=True)
class ReceiverSettings:
    """Where a receiver listens and what it takes. Sizes are bytes after decompression."""

    host: str = "127.0.0.1"
    http_port: int = 4318
    grpc_port: int = 4317
    token: str | None = None
    max_request_bytes: int = 64 << 20
    max_waiting_bytes: int = 80 << 20
    group_bytes: int = 8 << 20
    store_memory_bytes: int = 416 << 20
    """What DuckDB may hold in memory for receiving; larger sorts and joins go to disk."""
    asking_memory_bytes: int = 256 << 20
    """What it may hold besides for questions."""
    spill_bytes: int = 4 << 30
    """What may lie on disk for sorts and joins, in a folder beside the store."""
    store_log_bytes: int = 32 << 20
    """Size of the write-ahead log at which it is folded into the file: what is received meanwhile waits, the
    shorter the more often it is done."""
    store_row_group_rows: int = 10_240
    """Rows that DuckDB compresses together: a commit under load brings as many, and then needs no log."""
    body_timeout_s: float = 30.0
    self_metrics_interval_s: float = 60.0
    max_age_s: int | None = None
    max_store_bytes: int | None = None
    last_update_s: float | None = None
    """Longest time that units are brought up to date at the end; None takes as long as it takes."""
    certificate: Certificate | None = None
    """What the ports show; None speaks in the clear."""

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise UsageError(
                f"{self.host} can be reached from other machines: give a --token that senders must carry, "
                "or listen on 127.0.0.1",
                option="token",
            )
        if self.token is not None and not self.token.strip():
            raise UsageError("the token is empty; give one that cannot be guessed", option="token")

    def tuning(self, path: Path) -> dict[str, str]:
        """DuckDB's settings for the store at `path`."""
        return {
            "memory_limit": f"{self.store_memory_bytes + self.asking_memory_bytes}B",
            "checkpoint_threshold": f"{self.store_log_bytes}B",
            "temp_directory": str(spill_folder(path)),
            "max_temp_directory_size": f"{self.spill_bytes}B",
            # Tasks of one query do not run to their end before those of another begin.
            "scheduler_process_partial": "true",
            # Each question gets its share of the memory by this; no SELECT can change it.
            "allowed_configs": "['operator_memory_limit']",
        }


class Receiver:
    """Takes OTLP into the store at `path`; start it, and close it to drain. A context manager."""

    def __init__(
        self,
        path: str | Path,
        settings: ReceiverSettings,
        *,
        extra_routes: Callable[[Receiver], Sequence[BaseRoute]] = lambda receiver: (),
        extra_body_bytes: Mapping[str, int | None] = MappingProxyType({}),
        end_questions: Callable[[], object] = lambda: None,
    ) -> None:
        """`extra_body_bytes` limits the bodies of further routes, None where they see to it themselves;
        `end_questions` ends what others do with the store, for its memory and its file."""
        self.settings = settings
        share_arenas()
        tuning = settings.tuning(Path(path))
        self.store = HeldStore(
            Path(path),
            lambda: Database.serve(path, row_group_rows=settings.store_row_group_rows, tuning=tuning),
            clear=end_questions,
        )
        self.counters = Counters()
        retention = Retention(max_age_s=settings.max_age_s, max_bytes=settings.max_store_bytes)
        self.units = UnitsUpdater(self.store, retention, free_memory=end_questions)
        budget = Budget(settings.max_waiting_bytes)
        self.committer = Committer(
            self.store,
            self.counters,
            group_bytes=settings.group_bytes,
            after_commit=self.units.notice,
            written=budget.observe,
            free_memory=end_questions,
        )
        self.intake = Intake(
            Access(settings.token),
            budget,
            self.committer,
            self.counters,
            max_request_bytes=settings.max_request_bytes,
            body_timeout_s=settings.body_timeout_s,
        )
        app = http_app(self.intake, fault=lambda: self.store.fault, extra=extra_routes(self))
        self.ports = Ports(
            self.intake,
            Guard(app, self.intake.access, settings.body_timeout_s, extra_body_bytes),
            host=settings.host,
            http_port=settings.http_port,
            grpc_port=settings.grpc_port,
            certificate=settings.certificate,
        )
        self._self_metrics = SelfMetrics(self.counters, self.committer, interval_s=settings.self_metrics_interval_s)
        self._add_gauges(Path(path), budget)

    def start(self) -> None:
        """Take requests; returns when both ports answer. Raises `UsageError` for a port that is taken."""
        warm_up()
        self.committer.start()
        self.units.start()
        self._self_metrics.start()
        try:
            self.ports.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Answer what is in flight, bring the units up to date, and close the store."""
        self.ports.stop()
        self._self_metrics.close()
        self.committer.close()
        self.units.close(longest_s=self.settings.last_update_s)
        self.store.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _add_gauges(self, path: Path, budget: Budget) -> None:
        self.counters.add_gauge(
            "tracekit.receiver.waiting",
            unit="By",
            description="Requests being read or waiting for their commit",
            value=lambda: budget.used_bytes,
        )
        self.counters.add_gauge(
            "tracekit.receiver.waiting.limit",
            unit="By",
            description="Where requests are refused",
            value=lambda: budget.limit_bytes,
        )
        self.counters.add_gauge(
            "tracekit.units.behind",
            unit="ms",
            description="Time since the first commit that is in no unit yet",
            value=lambda: int(self.units.behind_s * 1000),
        )
        self.counters.add_gauge(
            "tracekit.store.size",
            unit="By",
            description="The store's file and its log",
            value=lambda: stored_bytes(path),
        )
