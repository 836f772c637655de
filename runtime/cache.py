"""The compile cache on disk: machine code by what it was made from.

An entry is a file named by its key: a line that names the format, the BLAKE2 checksum of the rest, the rest.
It is written beside its place and renamed, so that other processes see all of it or nothing. What does not
check out (truncated, damaged, of another format) counts as missing and is written anew. A folder that cannot
be used leaves the process without a cache; `problem` says why. Reading an entry makes it young; where the
folder outgrows its limit the oldest entries go.

Cached code is run as it is, so whoever can write an entry can make this process do anything. The folder is
made for its owner alone, and used only where it belongs to this user and nobody else may write to it.

``TRACEJIT_CACHE=0`` switches it off, ``TRACEJIT_CACHE_DIR`` moves it, ``TRACEJIT_CACHE_MB`` limits its size.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..ir.errors import TracejitError
from ..ir.records import record

try:  # hashlib's own; with hashlib comes OpenSSL, which takes some milliseconds to load
    from _blake2 import blake2b as blake2b
except ImportError:
    from hashlib import blake2b as blake2b

_FORMAT: Final = b"tracejit cache 1\n"
_CHECKSUM: Final = 32
_SUFFIX: Final = ".tjc"
#: What makes this process's temporary files differ.
_NAMES: Final = itertools.count()
#: Settings that say where the folder is.
_FOLDER_VARIABLES: Final = ("TRACEJIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "USERPROFILE")
#: Megabytes unless ``TRACEJIT_CACHE_MB`` says otherwise.
_LIMIT: Final = 256
#: Stores between two looks at the folder's size, by one process.
_EVERY: Final = 32


@record
class CacheInfo:
    """What is on disk.

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
    """Entries by key. Never raises for what is wrong on the disk."""

    def __init__(self) -> None:
        self._checked: tuple[str, str] | None = None
        self._folder: tuple[tuple[str, ...], Path] | None = None
        self._stores = 0

    @property
    def folder(self) -> Path:
        """Where the entries are: of this user alone."""
        asked = tuple([os.environ.get(name, "") for name in _FOLDER_VARIABLES])
        if self._folder is None or self._folder[0] != asked:
            self._folder = asked, _folder_for(*asked)
        return self._folder[1]

    @property
    def limit(self) -> int:
        """The size in bytes from which the oldest entries go. Raises TracejitError for a bad setting."""
        text = os.environ.get("TRACEJIT_CACHE_MB") or str(_LIMIT)
        if not text.isdigit():
            raise TracejitError(f"TRACEJIT_CACHE_MB must be a number of megabytes, got {text!r}")
        return int(text) << 20

    @property
    def switched_off(self) -> bool:
        """Whether the user does not want a cache."""
        return os.environ.get("TRACEJIT_CACHE") == "0"

    @property
    def problem(self) -> str:
        """Why the cache is not used, empty if it is."""
        if self.switched_off:
            return "switched off by TRACEJIT_CACHE=0"
        folder = str(self.folder)
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
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return None
        payload = _checked(data)
        if payload is not None:
            with contextlib.suppress(OSError):  # the folder may be read-only by now
                os.utime(path)
        return payload

    def store(self, key: str, payload: bytes) -> None:
        """Keep `payload` for `key`. Where the disk does not allow it, nothing is kept."""
        if self.problem:
            return
        folder = self.folder
        data = _FORMAT + blake2b(payload, digest_size=_CHECKSUM).digest() + payload
        temporary = ""
        try:
            temporary = str(folder / f"{key[:16]}.{os.getpid()}.{next(_NAMES)}.tmp")
            handle = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, folder / (key + _SUFFIX))
        except OSError as error:
            self._checked = str(folder), f"{folder}: {error.strerror or error}"
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            return
        if self._stores % _EVERY == 0:
            self._shrink()
        self._stores += 1

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Modification time, size and path of every file of ours."""
        try:
            entries = list(os.scandir(self.folder))
        except OSError:
            return
        for entry in entries:
            if entry.name.endswith((_SUFFIX, ".tmp")):
                with contextlib.suppress(OSError):  # another process may have removed it
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, entry.path

    def _shrink(self) -> None:
        """Remove the oldest entries down to three quarters of the limit, where it is passed."""
        files = sorted(self._files())
        total, limit = sum(size for _, size, _ in files), self.limit
        if total <= limit:
            return
        for _, size, path in files:
            if total <= limit * 3 // 4:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size

    def clear(self) -> int:
        """Remove every entry; returns how many there were. Running processes keep the code they have."""
        count = 0
        for _, _, path in list(self._files()):
            with contextlib.suppress(OSError):
                os.unlink(path)
                count += path.endswith(_SUFFIX)
        return count

    def info(self) -> CacheInfo:
        """What is on disk, and whether this process uses it."""
        problem = self.problem
        sizes = [size for _, size, path in self._files() if path.endswith(_SUFFIX)]
        return CacheInfo(str(self.folder), not problem, problem, len(sizes), sum(sizes), self.limit)


def _folder_for(chosen: str, base: str, *_: str) -> Path:
    """The folder where these settings are in force."""
    if chosen:
        return Path(chosen)
    if not os.path.isabs(base):  # as the XDG base directory specification has it
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tracejit"


def _checked(data: bytes) -> bytes | None:
    """The payload of an entry, None where it is not as it was written."""
    head = len(_FORMAT) + _CHECKSUM
    if not data.startswith(_FORMAT) or len(data) < head:
        return None
    payload = data[head:]
    digest = blake2b(payload, digest_size=_CHECKSUM).digest()
    return payload if digest == data[len(_FORMAT) : head] else None


CACHE: Final = DiskCache()
