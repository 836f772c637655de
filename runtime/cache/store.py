"""The compile cache on disk: machine code, by a key of everything it was made from.

An entry is a file named by its key: a line that names the format, the payload's size, a BLAKE2 checksum of
key and payload, the payload. The checksum covers the key: an entry under another one's name is not run in its
place. It is written beside its place and renamed, so that other processes see all of it or nothing.
What does not check out (truncated, damaged, of another format, no regular file, another user's) counts as
missing and is written anew. A folder that cannot be used leaves the process without a cache; `problem` says
why. A write that fails keeps nothing, the next one is tried again, and `failure` says why. Reading an entry
makes it young; where the folder outgrows its limit the oldest entries go.

Cached code is run as it is, so whoever can write an entry can make this process do anything. The folder is
made for its owner alone, and used only where it belongs to this user and nobody else may write to it.

``TRACEJIT_CACHE=0`` switches it off, ``TRACEJIT_CACHE_DIR`` moves it, ``TRACEJIT_CACHE_MB`` limits its size.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
import warnings
from collections.abc import Iterator
from typing import Final

from ...base.records import record

try:  # hashlib's own; with hashlib comes OpenSSL, which takes some milliseconds to load
    from _blake2 import blake2b as blake2b
except ImportError:
    from hashlib import blake2b as blake2b

_FORMAT: Final = b"tracejit cache 2\n"
_CHECKSUM: Final = 32
#: The format's line, the payload's size, the checksum.
_HEAD: Final = struct.Struct(f"<{len(_FORMAT)}sQ{_CHECKSUM}s")
_SUFFIX: Final = ".tjc"
_TEMPORARY: Final = ".tmp"
#: A temporary file of this age belongs to a process that did not finish it.
_ABANDONED_SECONDS: Final = 3600.0
#: Flags to open entries: a FIFO does not wait for its writer, and a symbolic link is not followed.
_READ: Final = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NOCTTY", 0)
)  # fmt: skip
_WRITE: Final = (
    os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
#: Settings that say where the folder is.
_FOLDER_VARIABLES: Final = ("TRACEJIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "USERPROFILE")
#: Megabytes unless ``TRACEJIT_CACHE_MB`` says otherwise.
_LIMIT: Final = 256
#: Stores between two looks at the folder's size, by one process.
_EVERY: Final = 32


@record
class CacheInfo:
    """State of the disk cache.

    Attributes:
        folder: where the cache is, or would be.
        enabled: whether this process uses it.
        problem: why not, empty if it does.
        entries: how many pieces of machine code it holds.
        nbytes: their size in bytes.
        limit: from how many bytes on the oldest are removed.
    """

    folder: str
    enabled: bool
    problem: str
    entries: int
    nbytes: int
    limit: int


class DiskCache:
    """Entries by key. Problems on the disk raise no exceptions."""

    def __init__(self) -> None:
        self._checked: tuple[str, str] | None = None
        self._folder: tuple[tuple[str, ...], str] | None = None
        self._stores = 0
        self._warned = ""
        #: Reason why the last entry was not kept, empty if it was.
        self.failure = ""

    @property
    def folder(self) -> str:
        """The folder of the entries, which belongs to this user alone."""
        asked = tuple([os.environ.get(name, "") for name in _FOLDER_VARIABLES])
        if self._folder is None or self._folder[0] != asked:
            self._folder = asked, _folder_for(*asked)
        return self._folder[1]

    @property
    def limit(self) -> int:
        """The size in bytes from which the oldest entries go. Warns, once, of a setting that is no number."""
        text = os.environ.get("TRACEJIT_CACHE_MB", "")
        if text.isascii() and text.isdigit():
            return int(text) << 20
        if text and text != self._warned:
            self._warned = text
            warnings.warn(
                f"TRACEJIT_CACHE_MB: expected a whole number of megabytes, got {text!r}; using {_LIMIT}",
                RuntimeWarning,
                stacklevel=2,
            )
        return _LIMIT << 20

    @property
    def switched_off(self) -> bool:
        """Whether the user does not want a cache."""
        return os.environ.get("TRACEJIT_CACHE") == "0"

    @property
    def problem(self) -> str:
        """The reason why the cache is not used, empty if it is."""
        if self.switched_off:
            return "switched off by TRACEJIT_CACHE=0"
        folder = self.folder
        if self._checked is None or self._checked[0] != folder:
            self._checked = folder, self._usable(folder)
        return self._checked[1]

    def _usable(self, folder: str) -> str:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            status = os.stat(folder)
        except OSError as error:
            return f"{folder}: {error.strerror or error}"
        if not stat.S_ISDIR(status.st_mode):
            return f"{folder} is not a folder"
        if hasattr(os, "getuid"):
            if status.st_uid != os.getuid():
                return f"{folder} belongs to another user, who could make this process run anything"
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return f"{folder} can be written by others, who could make this process run anything"
        return ""

    def load(self, key: str) -> bytes | None:
        """The entry of `key`; None where there is none, or it is not as it was written."""
        if self.problem:
            return None
        path = f"{self.folder}{os.sep}{key}{_SUFFIX}"
        try:
            handle = os.open(path, _READ)
        except OSError:
            return None
        try:
            payload = self._payload(handle, key)
        except OSError:
            return None
        finally:
            os.close(handle)
        if payload is not None:
            with contextlib.suppress(OSError):  # the folder may be read-only by now
                os.utime(path)
        return payload

    def _payload(self, handle: int, key: str) -> bytes | None:
        """Read the payload of an open entry; None where it is not the entry of `key` as this user wrote it.

        Nothing is read beyond the size that its head says, which must be the file's.
        """
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or _others_may_change(status):
            return None
        head = os.read(handle, _HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(_FORMAT):
            return None
        _, size, checksum = _HEAD.unpack(head)
        if status.st_size != _HEAD.size + size or status.st_size > self.limit:
            return None
        payload = _read(handle, size)
        return payload if _checksum(key, payload) == checksum else None

    def store(self, key: str, payload: bytes) -> None:
        """Keep `payload` for `key`. Where the disk does not allow it, nothing is kept, and `failure` says
        why."""
        if self.problem:
            return
        data = _HEAD.pack(_FORMAT, len(payload), _checksum(key, payload)) + payload
        if len(data) > self.limit:
            self.failure = f"{len(data)} bytes are more than the cache may hold"
            return
        try:
            try:
                self._write(key, data)
            except FileNotFoundError:  # the folder was removed meanwhile
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                self._write(key, data)
        except OSError as error:
            self.failure = f"{self.folder}: {error.strerror or error}"
            return
        self.failure = ""
        if self._stores % _EVERY == 0:
            self._shrink()
        self._stores += 1

    def _write(self, key: str, data: bytes) -> None:
        """Write an entry beside its place and rename it. Raises OSError, and leaves nothing then."""
        folder = self.folder
        # random: a folder may be shared by machines, whose process numbers are the same
        temporary = os.path.join(folder, f"{key[:16]}.{os.urandom(8).hex()}{_TEMPORARY}")
        handle = os.open(temporary, _WRITE, 0o600)
        try:
            with os.fdopen(handle, "wb", buffering=0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
            os.replace(temporary, os.path.join(folder, key + _SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Modification time, size and path of every entry, and of temporary files that nobody writes any
        more."""
        try:
            files = list(os.scandir(self.folder))
        except OSError:
            return
        abandoned = time.time() - _ABANDONED_SECONDS
        for file in files:
            if file.name.endswith((_SUFFIX, _TEMPORARY)):
                with contextlib.suppress(OSError):  # another process may have removed it
                    status = file.stat(follow_symlinks=False)
                    if file.name.endswith(_SUFFIX) or status.st_mtime < abandoned:
                        yield status.st_mtime, status.st_size, file.path

    def _shrink(self) -> None:
        """Remove abandoned files, and the oldest entries down to three quarters of the limit where it is
        passed."""
        files = sorted(self._files())
        total, limit = sum(size for _, size, _ in files), self.limit
        least = total if total <= limit else limit * 3 // 4
        for _, size, path in files:
            if total <= least and not path.endswith(_TEMPORARY):
                continue
            with contextlib.suppress(OSError):
                os.unlink(path)
                total -= size

    def clear(self) -> int:
        """Remove every entry; returns how many there were. Running processes keep the code they have, and
        what they write at the moment they may finish."""
        count = 0
        for _, _, path in list(self._files()):
            with contextlib.suppress(OSError):
                os.unlink(path)
                count += path.endswith(_SUFFIX)
        return count

    def info(self) -> CacheInfo:
        """Report the state of the cache on disk, and whether this process uses it."""
        problem = self.problem
        sizes = [size for _, size, path in self._files() if path.endswith(_SUFFIX)]
        return CacheInfo(self.folder, not problem, problem, len(sizes), sum(sizes), self.limit)


def _folder_for(chosen: str, base: str, *_: str) -> str:
    """The folder where these settings are in force."""
    if chosen:
        return chosen
    if not os.path.isabs(base):  # as the XDG base directory specification has it
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tracejit")


def _others_may_change(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to another user, or others may write to it."""
    if not hasattr(os, "getuid"):
        return False
    return status.st_uid != os.getuid() or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _read(handle: int, size: int) -> bytes:
    """`size` bytes, or as many as there are."""
    parts = []
    while size > 0:
        part = os.read(handle, size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _checksum(key: str, payload: bytes) -> bytes:
    """The checksum of a payload under its key."""
    digest = blake2b(key.encode(), digest_size=_CHECKSUM, person=b"tracejit")
    digest.update(b"\0")
    digest.update(payload)
    return digest.digest()


CACHE: Final = DiskCache()
