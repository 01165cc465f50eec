"""Objects in a store with the API of S3: what lies behind a name, a prefix or a pattern, and its bytes.

Credentials are those that every program for S3 takes: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
`AWS_SESSION_TOKEN`, a profile, or the role of the machine. Each process finds them for itself; none are passed on.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from pyarrow import fs

SCHEME = "s3://"
# One slash where the name has been taken for that of a file, which has no two beside each other.
_SCHEMES = re.compile(r"s3[an]?://?(?=[^/]|$)", re.IGNORECASE)
_MAGIC = re.compile(r"[*?\[]")
# What one request brings: as much as is decoded at once.
_READ_BYTES = 8 << 20
_FAULT = re.compile(r"AWS Error (?P<code>[A-Z_]+)")
_CREDENTIALS = (
    "the credentials are missing or not accepted; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role"
)
_TOLD = {
    "NO_SUCH_BUCKET": "there is no such bucket",
    "ACCESS_DENIED": f"access is denied: {_CREDENTIALS} that may list and read it",
    "INVALID_ACCESS_KEY_ID": _CREDENTIALS,
    "INVALID_CLIENT_TOKEN_ID": _CREDENTIALS,
    "SIGNATURE_DOES_NOT_MATCH": _CREDENTIALS,
    "EXPIRED_TOKEN": "the credentials have expired; get new ones",
    "NETWORK_CONNECTION": "the object store {endpoint} cannot be reached; check AWS_ENDPOINT_URL and the network",
}


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object, or what cannot be found or listed because of `error`."""

    name: str
    """With the scheme `s3://`, whatever it was asked by."""
    size_bytes: int = 0
    modified_ns: int | None = None
    is_named: bool = True
    """Whether it was asked for by itself, not found below a prefix."""
    error: str | None = None


def is_object(name: str) -> bool:
    """Whether a name is one of an object store: `s3://`, or `s3a://` as Spark writes it."""
    return _SCHEMES.match(name) is not None


def default_endpoint() -> str | None:
    """The endpoint that the environment names, None for that of Amazon."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def canonical(name: str) -> str:
    """The name of an object or prefix with the scheme `s3://` and no slash at its end."""
    return SCHEME + _SCHEMES.sub("", name).rstrip("/")


def find_objects(name: str, *, endpoint: str | None) -> list[FoundObject]:
    """The objects behind a name: that object, all below a prefix, or the matches of a pattern; sorted by name.

    In a pattern `*` stays between two `/`, and `**` does not.
    """
    key = _SCHEMES.sub("", name)
    whole = SCHEME + key
    try:
        with _told(whole, endpoint):
            _check_bucket(key)
            store = object_system(endpoint)
            found = _matching(store, key) if _MAGIC.search(key) else _named(store, key)
    except OSError as error:
        return [FoundObject(whole, error=f"cannot be read: {error.strerror}")]
    if not found:
        missing = "no object matches this pattern" if _MAGIC.search(key) else "no object has this name or prefix"
        return [FoundObject(whole, error=missing)]
    return sorted(found, key=lambda each: each.name)


@contextmanager
def open_object(name: str, *, endpoint: str | None) -> Iterator[BinaryIO]:
    """The bytes of an object as they lie there. Raises `OSError` with a `strerror` that says what to do."""
    with (
        _told(name, endpoint),
        object_system(endpoint).open_input_stream(
            name.removeprefix(SCHEME), compression=None, buffer_size=_READ_BYTES
        ) as stream,
    ):
        yield cast(BinaryIO, stream)


def entity_tag(name: str, *, endpoint: str | None) -> str | None:
    """What the store calls the content of an object, equal only for equal content; None where it does not.

    Raises `OSError`.
    """
    with _told(name, endpoint), object_system(endpoint).open_input_file(name.removeprefix(SCHEME)) as stream:
        tag = stream.metadata().get("ETag", b"").decode(errors="replace").strip('"')
        return tag or None


@lru_cache(maxsize=8)
def object_system(endpoint: str | None) -> fs.S3FileSystem:
    """The file system of pyarrow at an endpoint, one for each process."""
    from pyarrow import fs

    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return fs.S3FileSystem(endpoint_override=endpoint, region=region)


def _check_bucket(key: str) -> None:
    bucket = key.split("/", 1)[0]
    if not bucket or _MAGIC.search(bucket):
        raise OSError(errno.EINVAL, "the name of a bucket is no pattern" if bucket else "the name has no bucket")


def _named(store: fs.S3FileSystem, key: str) -> list[FoundObject]:
    """The object of this name, or else all whose names begin with it."""
    from pyarrow import fs

    (info,) = store.get_file_info([key.rstrip("/")])
    if info.type == fs.FileType.File and not key.endswith("/"):
        return [_found(info, is_named=True)]
    if info.type == fs.FileType.Directory or "/" not in key.rstrip("/"):
        return _below(store, key.rstrip("/"))
    return _matching(store, key + "*")


def _below(store: fs.S3FileSystem, folder: str) -> list[FoundObject]:
    from pyarrow import fs

    infos = store.get_file_info(fs.FileSelector(folder, recursive=True))
    return [_found(info, is_named=False) for info in infos if info.type == fs.FileType.File]


def _matching(store: fs.S3FileSystem, pattern: str) -> list[FoundObject]:
    """The objects that match a pattern, and those below prefixes that do; lists only what can match."""
    first, *others = pattern.split("/")
    folders = [first]
    for place, step in enumerate(others):
        if step == "**":
            rest = re.compile(_translated("/".join(others[place + 1 :])))
            return [
                each
                for folder in folders
                for each in _below(store, folder)
                if rest.match(each.name.removeprefix(f"{SCHEME}{folder}/"))
            ]
        if place == len(others) - 1:
            return [each for folder in folders for each in _last(store, folder, step)]
        folders = [path for folder in folders for path in _folders(store, folder, step)]
    return []


def _translated(rest: str) -> str:
    """The expression of what may follow `**`: any folders, then the rest."""
    return rf"(?:.*/)?{fnmatch.translate(rest)}" if rest else ".*"


def _folders(store: fs.S3FileSystem, folder: str, step: str) -> list[str]:
    from pyarrow import fs

    if not _MAGIC.search(step):
        return [f"{folder}/{step}"]
    listed = store.get_file_info(fs.FileSelector(folder, allow_not_found="/" in folder))
    is_folder = fs.FileType.Directory
    return [each.path for each in listed if each.type == is_folder and fnmatch.fnmatchcase(each.base_name, step)]


def _last(store: fs.S3FileSystem, folder: str, step: str) -> list[FoundObject]:
    from pyarrow import fs

    listed = store.get_file_info(fs.FileSelector(folder, allow_not_found="/" in folder))
    matching = [each for each in listed if fnmatch.fnmatchcase(each.base_name, step or "*")]
    files = [_found(each, is_named=True) for each in matching if each.type == fs.FileType.File]
    below = [each for info in matching if info.type == fs.FileType.Directory for each in _below(store, info.path)]
    return files + below


def _found(info: fs.FileInfo, *, is_named: bool) -> FoundObject:
    return FoundObject(SCHEME + info.path, info.size or 0, info.mtime_ns, is_named)


@contextmanager
def _told(name: str, endpoint: str | None) -> Iterator[None]:
    """Turn what the store says inside the block into an `OSError` for people."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "there is no such object", name) from error
    except OSError as error:
        said = _FAULT.search(str(error))
        if said is None:
            raise
        told = _TOLD.get(said["code"], " ".join(str(error).split())[:300])
        told = told.replace("{endpoint}", endpoint or "of Amazon")
        raise OSError(error.errno or errno.EIO, told, name) from error
