"""How large this process is now, and how large it may become."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_STATM = Path("/proc/self/statm")
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def resident_bytes() -> int:
    """Bytes of memory that the process has now; where the system does not tell, the most that it had."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def allowed_bytes() -> int:
    """Bytes of memory that the process may have: the machine's, or its container's where that is less."""
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [int(text) for text in _limits() if text.strip().isdigit()]
    return min([machine_bytes, *limits])


def _limits() -> Iterable[str]:
    """What each control group around this process says, version 1 or 2, seen from within a container or not."""
    for file in _limit_files():
        with suppress(OSError):
            yield file.read_text(encoding="ascii")


def _limit_files() -> Iterable[Path]:
    groups: list[str] = []
    with suppress(OSError):
        groups = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = _CGROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = _CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        own = root / path.lstrip("/")
        yield from (folder / name for folder in (own, *own.parents) if folder.is_relative_to(root))
