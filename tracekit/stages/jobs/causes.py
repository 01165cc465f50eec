"""What a message says about a failure: who it points at, or that its sender only follows somebody else.

Patterns are those of NVIDIA's driver (XID), of NCCL, gloo and PyTorch, of the Linux kernel and of schedulers. A
time-out of a watchdog, a connection that the other side closed, a SIGTERM and a cancelled job are never a first
cause (`reference` for the classes: initiating, cascade, teardown).
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
    kind: str
    owner: str
    strength: int
    pattern: re.Pattern[str]


def _pattern(role: str, kind: str, owner: str, strength: int, text: str) -> Pattern:
    return Pattern(role, kind, owner, strength, re.compile(text, re.IGNORECASE))


PATTERNS = (
    _pattern(CASCADE, "", "", 0, r"watchdog|collective.{0,40}(timed? ?-?out|timeout)|(nccl|gloo|socket|store|rendezvous|barrier|all_?reduce).{0,60}(timed? ?-?out|timeout)"),
    _pattern(CASCADE, "", "", 0, r"connection (was )?(closed|reset|refused|aborted)( by)?( (the )?(peer|remote))?|closed by peer|broken pipe|remote (process|peer|worker|rank)|ncclRemoteError|remote side"),
    _pattern(CASCADE, "", "", 0, r"communicator (was|is|has been) aborted|ncclCommAbort|nccl (operation|communicator).{0,20}abort|other ranks?|peer (failed|died|exited)|lost connection to"),
    _pattern(TEARDOWN, "", "", 0, r"sigterm|signal 15|terminated by (the )?(scheduler|agent|launcher)|scancel|job (was )?cancel|cancell?ed (by|at|due)|terminating process|shutting down|keyboardinterrupt|signalexception"),
    _pattern(INITIATING, "device", "provider", 2, r"\bxid\b|fallen off the bus|uncorrectable ecc|double.?bit ecc|contained ecc|ecc error|sram|hbm|nvlink.{0,30}(error|down|fail)|gsp.{0,20}(timeout|error)|device-side|illegal memory access|cuda error|hip error|hardware error.{0,20}(gpu|accelerator)|accelerator (lost|failed)|gpu (lost|failed|hang)"),
    _pattern(INITIATING, "device", "provider", 1, r"thermal|overheat|power brake|slowdown.{0,30}accelerator"),
    _pattern(INITIATING, "network", "provider", 2, r"mlx\d|\bib_|infiniband|roce|\bnic\b|(port|link|interface|carrier).{0,20}(down|lost|flap)|link[_ ]down"),
    _pattern(INITIATING, "storage", "provider", 2, r"nvme|i/o error|input/output error|\beio\b|no space left|read-only file system|stale file handle|lustre|ceph|checkpoint.{0,40}(corrupt|fail)"),
    _pattern(INITIATING, "host", "application", 2, r"oom-?kill|out of memory: killed|killed process|sigkill|cgroup.{0,20}memory"),
    _pattern(INITIATING, "software", "application", 2, r"out of memory|outofmemory|cuda oom"),
    _pattern(INITIATING, "host", "platform", 2, r"drain|maintenance|evict|preempt|node (is )?not ready|reclaim"),
    _pattern(INITIATING, "host", "provider", 2, r"\bmce\b|machine check|edac|uncorrectable memory|pcie|\baer\b|kernel panic|soft lockup|hard lockup|hung task|power (supply|loss|fail)|\bpsu\b|\bipmi\b|chassis|fan fail"),
    _pattern(INITIATING, "software", "platform", 2, r"rendezvous|dependency|image pull|permission denied|quota"),
    _pattern(INITIATING, "software", "application", 2, r"error|exception|assert|traceback|segmentation fault|sigsegv|sigabrt|nan\b|diverge|mismatch"),
)  # fmt: skip
"""The first pattern that matches counts."""

_HARMLESS = Pattern("", "", "", 0, re.compile(""))


def classify(message: str) -> Pattern:
    """What a message says; a pattern without role where it says nothing about failures."""
    return next((one for one in PATTERNS if one.pattern.search(message)), _HARMLESS)


def with_classes(events: pl.DataFrame) -> pl.DataFrame:
    """Events with `role`, `kind`, `owner` and `strength` of their messages; each message is judged once."""
    messages = events["message"].unique().sort().to_list()
    judged = [(message, classify(message)) for message in messages]
    classes = pl.DataFrame(
        [(message, one.role, one.kind, one.owner, one.strength) for message, one in judged],
        schema={
            "message": pl.String, "role": pl.String, "kind": pl.String, "owner": pl.String, "strength": pl.Int32,
        },
        orient="row",
    )  # fmt: skip
    return events.join(classes, on="message", how="left", maintain_order="left")
