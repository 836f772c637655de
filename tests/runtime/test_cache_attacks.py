"""The compile cache under attack: entries in others' places, what is no entry at all, disks that fail."""

from __future__ import annotations

import errno
import itertools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime.cache.store import CACHE, DiskCache
from tracejit.runtime.executable import Executable

from ..support import function_of
from .test_cache import entries, executable, run

HOUR = 3600.0


@pytest.fixture(autouse=True)
def _forget_failures() -> Iterator[None]:
    yield
    CACHE.failure = ""


# -- entries in each other's places ---------------------------------------------------------------


def test_entries_that_exchange_names_never_run(folder: Path) -> None:
    """Each holds good code, of another program."""
    cache = DiskCache()
    contents = {f"key{i}": bytes([i]) * (100 + i) for i in range(4)}
    for key, payload in contents.items():
        cache.store(key, payload)
    files = {key: (folder / f"{key}.tjc").read_bytes() for key in contents}
    for key, other in itertools.permutations(contents, 2):
        (folder / f"{key}.tjc").write_bytes(files[other])
        assert cache.load(key) is None
    for key, payload in contents.items():
        cache.store(key, payload)
        assert cache.load(key) == payload


def test_programs_whose_entries_exchange_names_come_out_right(folder: Path) -> None:
    """Exchanged entries are not used, also for other argument types, where code would read out of bounds."""

    def make(count: int, dtype: str, factor: float) -> Executable:
        x = np.arange(float(count)).astype(dtype)
        built = Executable(function_of("f", [x], lambda b, x: b.mul(b.add(x, x), factor)))
        np.testing.assert_array_equal(built([x])[0], 2 * x * np.asarray(factor, dtype))
        return built

    programs = [(5, "f8", 2.0), (5, "f8", 3.0), (70_000, "f8", 2.0), (5, "f4", 2.0)]
    for program in programs:
        assert not make(*program).found
    code = [entry for entry in entries(folder) if b"cycles" in entry.read_bytes()]
    assert len(code) == len(programs)
    contents = [path.read_bytes() for path in code]
    for shift in range(1, len(code)):
        for position, path in enumerate(code):
            path.write_bytes(contents[(position + shift) % len(code)])
        for program in programs:
            assert not make(*program).found
    assert all(make(*program).found for program in programs)


# -- what is no entry -----------------------------------------------------------------------------


def _fifo(path: Path, good: bytes) -> None:
    os.mkfifo(path, 0o600)


def _folder(path: Path, good: bytes) -> None:
    path.mkdir()
    (path / "inside").write_bytes(good)


def _sparse(path: Path, good: bytes) -> None:
    path.write_bytes(good)
    os.truncate(path, 1 << 40)


def _sparse_with_its_size(path: Path, good: bytes) -> None:
    """Says itself how large it is: more than a cache may hold."""
    size = 1 << 40
    path.write_bytes(good[:17] + (size - 57).to_bytes(8, "little") + good[25:])
    os.truncate(path, size)


def _link(path: Path, good: bytes) -> None:
    target = path.parent.parent / f"target of {path.name}"
    target.write_bytes(good)
    target.chmod(0o600)
    path.symlink_to(target)


def _link_to_itself(path: Path, good: bytes) -> None:
    path.symlink_to(path)


def _device(path: Path, good: bytes) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path, good: bytes) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def _writable_by_others(path: Path, good: bytes) -> None:
    path.write_bytes(good)
    path.chmod(0o622)


def _unreadable(path: Path, good: bytes) -> None:
    path.write_bytes(b"" if os.getuid() == 0 else good)  # root reads what it likes
    path.chmod(0)


def _of_another_user(path: Path, good: bytes) -> None:
    path.write_bytes(good)
    path.chmod(0o600)
    os.chown(path, 12345, 12345)


PLACES: dict[str, Callable[[Path, bytes], None]] = {
    content.__name__.strip("_").replace("_", " "): content
    for content in (
        _fifo, _folder, _sparse, _sparse_with_its_size, _link, _link_to_itself, _device, _socket,
        _writable_by_others, _unreadable, _of_another_user,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_entry_counts_as_missing(name: str, folder: Path) -> None:
    """No read waits for a FIFO's writer, which never comes, and no memory is allocated by a file's size."""
    if PLACES[name] is _of_another_user and os.getuid() != 0:
        pytest.skip("only root gives files away")
    executable()
    code = [entry for entry in entries(folder) if b"cycles" in entry.read_bytes()]
    (path,) = code
    good = path.read_bytes()
    path.unlink()
    PLACES[name](path, good)
    assert not executable().found
    assert not CACHE.problem
    if path.is_dir() and not path.is_symlink():  # stays, and everything works beside it
        assert CACHE.failure
        assert not executable().found
    else:  # was replaced
        assert path.read_bytes() == good
        assert not path.is_symlink()
        assert executable().found
    assert executable(4.0).found is False
    assert executable(4.0).found


# -- disks that fail ------------------------------------------------------------------------------


def _failing(call: str, error: int) -> Any:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError(error, os.strerror(error))

    return fail


@pytest.mark.parametrize(
    "error", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ESTALE, errno.EIO, errno.EXDEV]
)
@pytest.mark.parametrize("call", ["open", "replace"])
def test_a_failed_write_does_not_switch_the_cache_off(
    call: str, error: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = DiskCache()
    cache.store("before", b"x")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, _failing(call, error))
        cache.store("k", b"y")
    assert os.strerror(error) in cache.failure
    assert cache.problem == ""
    assert cache.load("before") == b"x"
    assert [path.name for path in folder.iterdir()] == ["before.tjc"]
    cache.store("k", b"y")
    assert cache.load("k") == b"y"
    assert cache.failure == ""


FULL_DISK = """
import resource, signal, sys
sys.dont_write_bytecode = True  # Python would keep a half of a module that is imported meanwhile
import numpy as np, tracejit as tj
from tracejit.runtime.cache.store import CACHE
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))  # a write stops in the middle
f = tj.jit(lambda x: tj.exp(x) + 1)
assert abs(float(f(np.zeros(3))[0]) - 2) < 1e-12
assert "File too large" in f.explain(), f.explain()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
g = tj.jit(lambda x: tj.exp(x) + 2)
assert abs(float(g(np.zeros(3))[0]) - 3) < 1e-12
assert not CACHE.failure and CACHE.info().entries, CACHE.failure
print("fine")
"""


def test_a_disk_that_is_full_in_the_middle_of_a_write(folder: Path) -> None:
    assert run(folder, FULL_DISK, TRACEJIT_TIERS="0") == "fine"
    assert not list(folder.glob("*.tmp"))


def test_a_read_that_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache()
    cache.store("k", b"x")
    for call in ("fstat", "read"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, _failing(call, errno.EIO))
            assert cache.load("k") is None
    assert cache.load("k") == b"x"


def test_a_folder_that_is_removed_meanwhile_is_made_again(folder: Path) -> None:
    cache = DiskCache()
    cache.store("k", b"x")
    (folder / "k.tjc").unlink()
    folder.rmdir()
    assert cache.load("k") is None
    cache.store("k", b"y")
    assert cache.load("k") == b"y"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_written_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache()
    cache.store("k", b"x")
    folder.chmod(0o500)
    try:
        assert cache.load("k") == b"x"
        cache.store("new", b"y")
        assert os.getuid() == 0 or "Permission denied" in cache.failure
    finally:
        folder.chmod(0o700)
    cache.store("new", b"y")
    assert cache.load("new") == b"y"


def test_an_entry_beyond_the_limit_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache()
    cache.store("small", b"x")
    monkeypatch.setenv("TRACEJIT_CACHE_MB", "1")
    cache.store("large", bytes(2 << 20))
    assert "more than the cache may hold" in cache.failure
    assert [path.name for path in folder.iterdir()] == ["small.tjc"]
    monkeypatch.setenv("TRACEJIT_CACHE_MB", "0")
    assert cache.load("small") is None
    f = tj.jit(lambda x: x + 1)
    assert f(np.ones(2)).tolist() == [2.0, 2.0]


# -- others at work -------------------------------------------------------------------------------


def test_clear_leaves_what_others_are_writing(folder: Path) -> None:
    cache = DiskCache()
    cache.store("k", b"x")
    fresh, old = folder / "other.0123.tmp", folder / "other.4567.tmp"
    for path in (fresh, old):
        path.write_bytes(b"half of it")
    os.utime(old, (time.time() - 2 * HOUR,) * 2)
    assert cache.clear() == 1
    assert [path.name for path in folder.iterdir()] == [fresh.name]


def test_what_others_left_unfinished_goes_in_time(folder: Path) -> None:
    cache = DiskCache()
    folder.mkdir(mode=0o700)
    fresh, old = folder / "other.0123.tmp", folder / "other.4567.tmp"
    for path in (fresh, old):
        path.write_bytes(b"half of it")
    os.utime(old, (time.time() - 2 * HOUR,) * 2)
    cache.store("k", b"x")  # the first store looks around
    assert sorted(path.name for path in folder.iterdir()) == ["k.tjc", fresh.name]


def test_an_interrupted_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    cache = DiskCache()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cache.store("k", b"x")
    assert list(folder.iterdir()) == []


WRITER = """
import sys, time
from tracejit.runtime.cache.store import DiskCache
cache, end, bad = DiskCache(), time.monotonic() + 3, 0
while time.monotonic() < end:
    for number in range(20):
        key = f"k{number}"
        payload = key.encode() * 3000
        read = cache.load(key)
        bad += read is not None and read != payload
        cache.store(key, payload)
print(bad, cache.problem)
"""


def test_writers_readers_and_those_who_clear_at_once(folder: Path) -> None:
    """Entries that are read are whole and of their key, whoever removes them meanwhile; no files are left."""
    settings = {**os.environ, "TRACEJIT_CACHE_DIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[2])}
    settings.pop("TRACEJIT_CACHE", None)
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER], env=settings, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    threads = [threading.Thread(target=lambda: [CACHE.clear() for _ in range(300)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    answers = [process.communicate(timeout=600)[0].strip() for process in processes]
    for thread in threads:
        thread.join()
    assert answers == ["0", "0", "0"]
    assert not list(folder.glob("*.tmp"))
