"""What a message says about a failure: who it points at, or that its sender only follows somebody else.

Patterns are those of NVIDIA's driver (XID), of NCCL, gloo and PyTorch, of the Linux kernel and of schedulers. A
time-out of a watchdog, a connection that the other side closed, a SIGTERM and a cancelled job are never a first
cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

INITIATING, CASCADE, TEARDOWN = "initiating", "cascade", "teardown"


@dataclass(frozen=True)
class Pattern:
    """Messages that match `pattern` have this role; an initiating one points at a kind of culprit with an owner.

    strength: 2 for what ends a process or an accelerator, 1 for what may be harmless.
    """

    role: str
    pattern: re.Pattern[str]
    kind: str = ""
    owner: str = ""
    strength: int = 0


def _follows(role: str, *texts: str) -> Pattern:
    return Pattern(role, re.compile("|".join(texts), re.IGNORECASE))


def _points(kind: str, owner: str, *texts: str, strength: int = 2) -> Pattern:
    return Pattern(INITIATING, re.compile("|".join(texts), re.IGNORECASE), kind, owner, strength)


PATTERNS = (
    # What was put right is no failure.
    _follows("", r"\bcorrect(ed|able)\b", r"\brecovered\b", r"retry(ing)? succeeded"),
    _follows(
        CASCADE,
        r"watchdog", r"collective.{0,40}(timed? ?-?out|timeout)",
        r"(nccl|gloo|socket|\b(tcp)?store\b|rendezvous|barrier|all_?reduce).{0,60}(timed? ?-?out|timeout)",
        r"connection (was )?(closed|reset|refused|aborted)", r"closed by (the )?(peer|remote)", r"broken pipe",
        r"remote (process|peer|worker|rank|side)", r"ncclRemoteError", r"lost connection to", r"DistStoreError",
        r"timed? ?-?out.{0,60}(clients|ranks|workers|peers)", r"reached monitoredBarrier",
        r"waiting for .{0,20}\brank\b",
        r"nccl.{0,20}(system|internal|unhandled|remote).{0,10}error", r"DistBackendError",
        r"communicator (was|is|has been) aborted", r"ncclCommAbort", r"nccl (operation|communicator).{0,20}abort",
        r"other ranks?\b", r"peer (failed|died|exited)",
    ),
    _points("scheduler", "platform", r"due to (preempt|time limit)"),
    _follows(
        TEARDOWN,
        r"sigterm", r"signal 15", r"terminated by (the )?(scheduler|agent|launcher)", r"scancel",
        r"job (was )?cancel", r"cancell?ed (by|at|due)", r"terminating process", r"shutting down",
        r"keyboardinterrupt", r"signalexception", r"exit ?code:? -15\b",
        r"\bxid\b[^,]*?:? 45\b", r"preemptive cleanup",
    ),
    # The driver's error is only the messenger of what the program asked for.
    _points(
        "software", "application", r"(cuda|hip) (error: )?out of memory", r"device-side assert", r"no kernel image"
    ),
    _points(
        "device", "provider",
        r"\bxid\b", r"fallen off the bus", r"uncorrectable ecc", r"double.?bit ecc", r"contained ecc", r"ecc error",
        r"\bsram\b", r"\bhbm", r"nvlink.{0,30}(error|down|fail)", r"gsp.{0,20}(timeout|error)",
        r"row.?remap", r"hw\.errors.*(gpu|accelerator)", r"illegal memory access", r"cuda error", r"\bhip error",
        r"(accelerator|gpu) (lost|failed|hang)",
    ),
    _points("device", "provider", r"thermal", r"overheat", r"power brake", strength=1),
    _points(
        "network", "provider",
        r"mlx\d", r"\bib_", r"infiniband", r"\broce\b", r"\bnic\b", r"hw\.errors.*network", r"link.?down",
        r"\b(port|link|interface|carrier)\b.{0,20}\b(down|lost|flap)", r"net/ib\b.{0,80}(vendor err|status=\d)",
        r"\bibv_wc_", r"retry counter exceeded", r"no route to host", r"network is (down|unreachable)",
    ),
    _points(
        "storage", "provider",
        r"nvme", r"i/o error", r"input/output error", r"\beio\b", r"no space left", r"read-only file system",
        r"stale (nfs )?file handle", r"lustre", r"\bnfs\b.{0,60}not responding", r"transport endpoint is not connected",
        r"(put|get|head|copy)object\b", r"upload_?part\b", r"object stor(e|age).{0,60}(error|fail|time)",
        r"\bceph", r"checkpoint.{0,40}(corrupt|fail)",
    ),
    _points(
        "host", "application",
        r"oom-?kill", r"out of memory: killed", r"killed process", r"killed by signal", r"sigkill",
    ),
    _points("software", "application", r"out of memory", r"outofmemory"),
    _points("scheduler", "platform", r"preempt", r"evict", r"reclaim"),
    _points("host", "platform", r"drain", r"maintenance", r"node ?(is )?not ?ready", r"node_fail"),
    _points(
        "host", "provider",
        r"\bmce\b", r"machine check", r"\bedac\b", r"uncorrectable memory", r"\bpcie\b", r"\baer\b", r"kernel panic",
        r"(soft|hard) lockup", r"hung task", r"power (supply|loss|fail)", r"\bpsu\b", r"\bipmi\b", r"chassis",
    ),
    _points("software", "platform", r"rendezvous", r"dependency", r"image pull", r"permission denied", r"quota"),
    _points(
        "software", "application",
        r"error", r"exception", r"assert", r"traceback", r"segmentation fault", r"sigsegv", r"sigabrt", r"\bnan\b",
        r"diverge", r"mismatch",
    ),
)  # fmt: skip
"""The first pattern that matches counts."""

_HARMLESS = Pattern("", re.compile(""))


def classify(message: str) -> Pattern:
    """What a message says; a pattern without role where it says nothing about failures."""
    return next((one for one in PATTERNS if one.pattern.search(message)), _HARMLESS)


def with_classes(events: pl.DataFrame) -> pl.DataFrame:
    """Events with `role`, `kind`, `owner` and `strength` of their messages; each distinct message is judged once."""
    messages = events["message"].unique().sort().to_list()
    judged = [(message, classify(message)) for message in messages]
    classes = pl.DataFrame(
        [(message, one.role, one.kind, one.owner, one.strength) for message, one in judged],
        schema={
            "message": pl.String, "role": pl.String, "kind": pl.String, "owner": pl.String, "strength": pl.Int32,
        },
        orient="row",
    )  # fmt: skip
    judged_events = events.join(classes, on="message", how="left", maintain_order="left")
    # What a counter counted or a span survived is weaker than what ended one.
    return judged_events.with_columns(strength=pl.col("strength") - (~pl.col("is_fatal")).cast(pl.Int32))
