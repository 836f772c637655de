"""The compile cache on disk: what is found again, what is not, and what goes wrong on disks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.registry import OPS
from tracejit.runtime.cache import keys
from tracejit.runtime.cache.store import CACHE, DiskCache
from tracejit.runtime.executable import Executable

from ..support import function_of

_ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
import numpy as np
import tracejit as tj

@tj.jit
def f(x, y):
    for i in range(3):
        y = tj.sin(x) * y + tj.exp(-x * x) / (1 + x * x)
    return y, tj.cumsum(x, 0) @ tj.ones((300, 4)), (x @ x.T)[:2]

x = np.linspace(-1.0, 1.0, 90_000).reshape(300, 300)
results = f(x, x)
print(float(sum(one.sum() for one in results)), "llvmlite" in sys.modules)
"""


def run(folder: Path, program: str = PROGRAM, **environment: str) -> str:
    settings = {**os.environ, "TRACEJIT_CACHE_DIR": str(folder), "PYTHONPATH": str(_ROOT), **environment}
    settings.pop("TRACEJIT_CACHE", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        env=settings,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tjc"))


def executable(factor: float = 2.0) -> Executable:
    x = np.arange(5.0)
    code = Executable(function_of("f", [x], lambda b, x: b.mul(b.exp(x), factor)))
    np.testing.assert_allclose(code([x])[0], np.exp(x) * factor, rtol=1e-14)
    return code


def test_a_second_process_needs_no_compiler(folder: Path) -> None:
    first = run(folder)
    second = run(folder)
    assert first.split() == [second.split()[0], "True"]
    assert second.endswith("False")  # LLVM was not even loaded
    assert first.split()[0] == run(folder, TRACEJIT_CACHE="0").split()[0]


def test_what_is_found_again_and_what_is_not(folder: Path) -> None:
    assert not executable().found
    assert executable().found
    assert not executable(3.0).found
    assert "cache" in executable().milliseconds
    assert executable(3.0).found


def test_versions_are_told_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable()
    for name, value in {
        "_llvm": lambda: iter(["another llvmlite"]),
        "_sources": lambda root: iter(["another tracejit"]),
        "_cpu": lambda: "another CPU",
    }.items():
        with monkeypatch.context() as patch:
            keys.environment.cache_clear()
            patch.setattr(keys, name, value)
            assert not executable().found
            assert executable().found
    keys.environment.cache_clear()
    assert executable().found


def test_environment_knows_sources(tmp_path: Path) -> None:
    for name in ("base", "ir", "codegen", "runtime"):
        (tmp_path / name).mkdir()
    source = tmp_path / "ir" / "one.py"
    source.write_text("x = 1")
    before = list(keys._sources(tmp_path))
    source.write_text("x = 22")
    assert list(keys._sources(tmp_path)) != before


def installed(site: Path, digests: dict[str, str]) -> Path:
    """A package that an installer wrote to `site`, with what it recorded; the time is its own."""
    for folder in ("base", "ir", "codegen", "runtime"):
        (site / "package" / folder).mkdir(parents=True)
    for name in ("a", "b"):
        source = site / "package" / "ir" / f"{name}.py"
        source.write_text(f"{name} = 1")
        os.utime(source, (len(site.name), len(site.name)))
    rows = [f"{path},{digest},5" for path, digest in digests.items()]
    (site / "package-1.0.dist-info").mkdir()
    (site / "package-1.0.dist-info" / "RECORD").write_text("\n".join([*rows, "other,,"]))
    return site / "package"


def test_machines_that_installed_the_same_have_the_same_keys(tmp_path: Path) -> None:
    digests = {"package/ir/a.py": "sha256=aa", "package/ir/b.py": "sha256=bb"}
    here, there = installed(tmp_path / "x", digests), installed(tmp_path / "longer", digests)
    expected = ["a.py sha256=aa", "b.py sha256=bb"]
    assert list(keys._sources(here)) == list(keys._sources(there)) == expected
    time.sleep(0.05)  # some ticks of the clock of the file system
    (here / "ir" / "b.py").write_text("b = 2")  # of the same size, and as old as it was
    os.utime(here / "ir" / "b.py", (1, 1))
    assert list(keys._sources(here)) == ["a.py sha256=aa", "b.py 5 1000000000"]
    unknown = installed(tmp_path / "z", {"package/ir/a.py": "sha256=aa"})
    assert list(keys._sources(unknown)) == ["a.py sha256=aa", "b.py 5 1000000000"]


def test_environment_knows_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = keys._cpu()
    monkeypatch.setenv("TRACEJIT_CPU_FEATURES", os.environ.get("TRACEJIT_CPU_FEATURES", "") + ",-avx512f")
    assert keys._cpu() != plain


CHANGES: dict[str, Any] = {
    "the magic": lambda data: b"X" + data[1:],
    "the checksum": lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
    "the description": lambda data: data[:80] + bytes([data[80] ^ 1]) + data[81:],
    "the code": lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    "the size": lambda data: data[:18] + bytes([data[18] ^ 1]) + data[19:],
    "a size beyond all memory": lambda data: data[:17] + b"\xff" * 8 + data[25:],
    "the last byte": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "half of it": lambda data: data[: len(data) // 2],
    "nothing": lambda data: b"",
    "more": lambda data: data + b"more",
}


@pytest.mark.parametrize("name", CHANGES)
def test_damage_is_noticed_and_repaired(name: str, folder: Path) -> None:
    executable()
    (entry,) = [entry for entry in entries(folder) if b"cycles" in entry.read_bytes()]
    good = entry.read_bytes()
    entry.write_bytes(CHANGES[name](good))
    assert not executable().found
    assert entry.read_bytes() == good
    assert executable().found


def test_any_flipped_bit_is_noticed(folder: Path) -> None:
    CACHE.store("k", b"payload" * 10)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    for position in range(len(good)):
        for bit in range(8):
            changed = bytearray(good)
            changed[position] ^= 1 << bit
            entry.write_bytes(changed)
            assert CACHE.load("k") is None


def test_any_truncation_is_noticed(folder: Path) -> None:
    CACHE.store("k", b"payload" * 10)
    (entry,) = entries(folder)
    good = entry.read_bytes()
    for length in range(len(good)):
        entry.write_bytes(good[:length])
        assert CACHE.load("k") is None
    entry.write_bytes(good)
    assert CACHE.load("k") == b"payload" * 10


def test_processes_at_once(folder: Path) -> None:
    """Eight processes that compile the same, with one more that clears the cache all the time."""
    settings = {**os.environ, "TRACEJIT_CACHE_DIR": str(folder), "PYTHONPATH": str(_ROOT)}
    settings.pop("TRACEJIT_CACHE", None)
    many = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], env=settings, stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    while any(process.poll() is None for process in many):
        CACHE.clear()
        time.sleep(0.02)
    results = {str(process.communicate(timeout=600)[0]).split()[0] for process in many}
    assert {process.returncode for process in many} == {0}
    assert len(results) == 1


def test_the_size_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_MB", "1")
    cache = DiskCache()
    cache._stores = 1  # so that no store looks at the size
    now = time.time()
    for number in range(30):
        cache.store(f"k{number}", bytes(40_000))
        os.utime(folder / f"k{number}.tjc", (now + number, now + number))
    cache.load("k10")
    os.utime(folder / "k10.tjc", (now + 100, now + 100))  # as reading does, in a later second
    cache._shrink()
    assert sum(entry.stat().st_size for entry in entries(folder)) <= 1 << 20
    assert cache.load("k29") is not None
    assert cache.load("k10") is not None
    assert cache.load("k11") is None


@pytest.mark.parametrize("setting", ["abc", "-1", "1.5", "²", " ", "1e3"])
def test_a_limit_that_is_no_number_is_warned_of_once(
    setting: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_MB", setting)
    cache = DiskCache()
    with pytest.warns(RuntimeWarning, match="TRACEJIT_CACHE_MB: expected a whole number of megabytes"):
        cache.store("k", b"x")
    assert cache.load("k") == b"x"
    assert cache.limit == 256 << 20


def test_reading_makes_young(folder: Path) -> None:
    CACHE.store("k", b"x")
    entry = folder / "k.tjc"
    os.utime(entry, (1.0, 1.0))
    assert CACHE.load("k") == b"x"
    assert entry.stat().st_mtime > 1000


def test_a_folder_that_others_can_write_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert not executable().found
    assert not executable().found
    assert "can be written by others" in CACHE.problem
    assert entries(folder) == []


def test_the_folder_is_made_for_its_owner(folder: Path) -> None:
    executable()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {entry.stat().st_mode & 0o777 for entry in entries(folder)} == {0o600}


def test_places_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.delenv("TRACEJIT_CACHE")
    for place in (file, file / "inside", Path("/proc/nothing")):
        monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(place))
        assert not executable().found
        assert str(place) in CACHE.problem
    f = tj.jit(lambda x: x + 1)
    f(np.ones(2))
    assert "compiled code is not kept on disk: /proc/nothing" in f.explain()


def test_ops_and_functions_of_this_process_are_not_kept(folder: Path) -> None:
    x = np.ones(3)
    tj.jit(lambda x: tj.pure_callback(np.sin, tj.ones(3), x))(x)
    assert not any(b"cycles" in entry.read_bytes() for entry in entries(folder))
    before = OPS.copy()
    try:
        OPS.change(OPS["exp"], eval=lambda x: x)
        executable()
        assert not executable().found
    finally:
        OPS.restore(before)
        OPS.foreign.discard("exp")
    assert not executable().found
    assert executable().found


def test_lines_in_messages_are_those_of_this_source(folder: Path) -> None:
    """A cached program that moved down two lines names its own line in its error."""
    program = "{}import numpy as np\nimport tracejit as tj\nf = tj.jit(lambda x, i: x[i])\ntry:\n"
    program += "    f(np.ones(3), np.array([7]))\nexcept IndexError as error:\n    print(error)\n"
    assert "(<string>:3)" in run(folder, program.format(""))
    assert "(<string>:5)" in run(folder, program.format("\n\n"))


def test_host_calls_are_found_again(folder: Path) -> None:
    def make() -> Executable:
        x = np.array([12, 18])
        executable = Executable(function_of("g", [x, x], lambda b, x, y: b.add(b.gcd(x, y), 1)))
        assert executable([x, np.array([8, 27])])[0].tolist() == [5, 10]
        return executable

    assert not make().found
    again = make()
    assert again.found
    assert again.not_lowered == ["gcd"]


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRACEJIT_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert CACHE.folder == str(tmp_path / "tracejit")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # not valid, so ignored
    monkeypatch.setenv("HOME", "/home/somebody")
    assert CACHE.folder == "/home/somebody/.cache/tracejit"
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", "/elsewhere")
    assert CACHE.folder == "/elsewhere"


def test_the_command(folder: Path) -> None:
    executable()
    settings = {**os.environ, "PYTHONPATH": str(_ROOT)}

    def command(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tracejit", "cache", *arguments],
            capture_output=True, text=True, env=settings, check=True,
        )  # fmt: skip
        return done.stdout

    info = json.loads(command("info", "--json"))
    assert info["folder"] == str(folder)
    assert info["enabled"] is True
    assert info["entries"] == len(entries(folder)) > 0
    assert info["bytes"] == sum(entry.stat().st_size for entry in entries(folder))
    assert "in use   yes" in command("info")
    assert json.loads(command("clear", "--json"))["removed"] == info["entries"]
    assert entries(folder) == []
    assert command("clear").startswith("removed 0 entries")
