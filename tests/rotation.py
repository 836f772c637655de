"""The share of the long families of tests that a run takes. It follows from the sources, so that every run of
one commit has the same tests, on any date and machine, and other commits have other shares. What holds a
changed source never rests.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def tree_number(root: Path = Path(__file__).parents[1]) -> int:
    """A number that follows from the names and contents of all sources and tests below `root`."""
    digest = hashlib.blake2b(digest_size=6)
    for folder in ("base", "ir", "codegen", "runtime", "tracejit", "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):  # tracejit/ir is ir
                digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return int.from_bytes(digest.digest(), "big")


#: Variable that chooses the share: a number, whose last digit counts for `share_of`, or ``all``.
CHOICE = "TRACEJIT_TENTH"
# set for the processes that this one starts, which would read all sources again
KEY = os.environ.setdefault(CHOICE, str(tree_number()))
#: The share of this run, 0 to 9, or ``all``.
TENTH = KEY if KEY == "all" else KEY[-1]
#: The seed of random tests. The long walks that `.ci/run` begins draw seeds that were never used.
SEED = int(os.environ.get("TRACEJIT_FUZZ_SEED") or 1)
#: Variable that is 1 where half of the tests below `TURNS` rest, other ones with other sources.
RESTING = "TRACEJIT_TEST_TURNS"
#: Variable with the files and folders below `tests` that a change touches, in all processes of the run.
TOUCHED = "TRACEJIT_TEST_TOUCHED"
#: Tests of values, many of each function: what one of them misses, others of its family see.
TURNS = (
    "codegen/kernels/", "codegen/nest/", "ir/special/", "ir/test_complex_ops.py", "ir/test_gradients.py",
    "ir/test_linalg.py", "test_batching.py", "test_empty_axes.py", "tracejit/array/", "tracejit/control/",
    "tracejit/fft/", "tracejit/linalg/", "tracejit/loops/", "tracejit/nn/", "tracejit/random/",
    "tracejit/scipy/", "tracejit/test_library_functions.py", "tracejit/transforms/",
)  # fmt: skip


def share_of(items: Sequence[T], parts: int) -> Sequence[T]:
    """This run's share of `items`, one of so many `parts`, or all of them with ``TRACEJIT_TENTH=all``."""
    assert 10 % parts == 0, "or some would come more often than others"
    return items if TENTH == "all" else items[int(TENTH) % parts :: parts]


def is_touched(path: str) -> bool:
    """Whether a test file holds what has changed."""
    return any(
        path == place or path.startswith(f"{place}/")
        for place in os.environ.get(TOUCHED, "").split(os.pathsep)
        if place
    )


def rests(path: str, name: str) -> bool:
    """Whether the test `name` of the file `path` rests in this run."""
    if KEY == "all" or os.environ.get(RESTING) != "1" or not path.startswith(TURNS) or is_touched(path):
        return False
    return zlib.crc32(f"{path}::{name} {KEY}".encode()) % 2 == 0


def one_in(parts: int) -> Callable[[Any], Any]:
    """Decorator of a test that takes seconds: one in so many of such tests runs, by place and name."""

    def decorated(test: Any) -> Any:
        part = zlib.crc32(f"{test.__module__}.{test.__name__}".encode()) % parts
        path = f"{test.__module__.removeprefix('tests.').replace('.', '/')}.py"
        rests = part not in share_of(range(parts), parts) and not is_touched(path)
        return pytest.mark.skipif(rests, reason=f"one in {parts} of such tests runs ({CHOICE})")(test)

    return decorated
