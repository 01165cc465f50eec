"""Why jobs fail: causes with their counts in a published run, how they are noticed, whose they are.

Counts: the 419 unexpected interruptions of Llama 3 405B in 54 days on 16,384 accelerators. Detection by
inspection: ByteRobust (network card 30 s, switch 60, accelerator lost 10, kernel fault 2); 30 s elsewhere is
an assumption, as is that silent corruption is noticed half an hour later. The number of an XID is NVIDIA's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cause:
    """One cause of failure."""

    name: str
    count: int
    """Interruptions in the published run."""
    kind: str
    """device, host, network, storage or software."""
    owner: str
    """Who can do something about it: provider, platform or application."""
    detect_s: float
    """Median time from onset to declaration where a process ends or an inspection sees it."""
    evidence: str
    """What the host concerned says; empty where it says nothing."""
    loses_host: bool = True


CAUSES = (
    Cause("faulty_gpu", 148, "device", "provider", 10.0, "Xid 79: GPU has fallen off the bus"),
    Cause("hbm3", 72, "device", "provider", 10.0, "Xid 94: contained ECC error"),
    Cause("software_bug", 54, "software", "application", 2.0, "RuntimeError: shape mismatch in data", loses_host=False),
    Cause("network_switch", 35, "network", "provider", 60.0, "", loses_host=False),
    Cause("host_maintenance", 32, "host", "platform", 30.0, "node drained for maintenance"),
    Cause("gpu_sram", 19, "device", "provider", 10.0, "Xid 48: double bit ECC error"),
    Cause("gpu_system_processor", 17, "device", "provider", 10.0, "Xid 119: GSP RPC timeout"),
    Cause("nic", 7, "network", "provider", 30.0, "mlx5: port down"),
    Cause("nccl_watchdog", 7, "software", "application", 600.0, "", loses_host=False),
    Cause("silent_corruption", 6, "device", "provider", 1800.0, ""),
    Cause("thermal", 6, "device", "provider", 10.0, "thermal slowdown: accelerator above its limit"),
    Cause("ssd", 3, "storage", "provider", 30.0, "nvme: I/O error"),
    Cause("power_supply", 3, "host", "provider", 30.0, ""),
    Cause("chassis", 2, "host", "provider", 30.0, ""),
    Cause("io_board", 2, "host", "provider", 30.0, "AER: PCIe bus error"),
    Cause("dependency", 2, "software", "platform", 2.0, "ConnectionError: rendezvous store", loses_host=False),
    Cause("cpu", 2, "host", "provider", 2.0, "mce: machine check"),
    Cause("memory", 2, "host", "provider", 2.0, "EDAC: uncorrectable memory error"),
)
NAMES = tuple(cause.name for cause in CAUSES)

_SHARES = np.cumsum([cause.count for cause in CAUSES]) / sum(cause.count for cause in CAUSES)


def drawn(chance: float) -> Cause:
    """The cause that a number from 0 to 1 stands for, in proportion to the published counts."""
    return CAUSES[int(np.searchsorted(_SHARES, chance, side="right").clip(0, len(CAUSES) - 1))]


def named(name: str) -> Cause:
    """The cause of this name."""
    return CAUSES[NAMES.index(name)]
