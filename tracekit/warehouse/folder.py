"""The folder of a warehouse while it is built: one build at a time, and nothing left that no manifest names."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracekit.errors import StoreError, StoreFullError, StoreLockedError
from tracekit.warehouse.files import DATA
from tracekit.warehouse.manifest import NAME, Manifest, is_warehouse

_LOCK = "build.lock"
_STAGING = "staging"
_OWN = {NAME, _LOCK, _STAGING, DATA}


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Hold the folder for one build inside the block; gives the folder for what its steps exchange.

    The folder is made where it is not there. Raises `StoreLockedError` while another build holds it, `StoreError` for
    one with other things in it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_own(folder)
        with _locked(folder):
            staging = folder / _STAGING
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir()
            try:
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        kind = StoreFullError if error.errno in (28, 122) else StoreError
        told = f"the warehouse {folder} cannot be written: {error.strerror or error}; nothing of this build is in it"
        raise kind(told, path=folder) from error


def remove_unnamed(folder: Path, manifest: Manifest) -> int:
    """Remove the data files that a manifest does not name: left by builds that broke off, or exchanged by later ones.

    Returns how many.
    """
    named = {file.path for part in manifest.parts for file in part.files}
    found = [path for path in (folder / DATA).rglob("*") if path.is_file()]
    unnamed = [path for path in found if path.relative_to(folder).as_posix() not in named]
    unnamed += [path for path in folder.glob(f"{NAME}.*") if path.is_file()]
    for path in unnamed:
        path.unlink(missing_ok=True)
    return len(unnamed)


def _check_own(folder: Path) -> None:
    others = sorted(path.name for path in folder.iterdir() if path.name not in _OWN and not path.name.startswith(NAME))
    if others and not is_warehouse(folder):
        told = f"{folder} holds {others[0]!r} and no warehouse; name an empty or a new folder"
        raise StoreError(told, path=folder)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder; the system takes it back when this process ends, however it ends."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreLockedError(_holder(folder, descriptor), path=folder) from error
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(folder: Path, descriptor: int) -> str:
    pid = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
    return f"the warehouse {folder} is being built by process {pid or 'unknown'}; wait until it has finished"
