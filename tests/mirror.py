"""The tests that hold a source, and the tests that a change touches.

Tests mirror the tree: `codegen/plan/arena.py` has `tests/codegen/plan/test_arena.py`. What has no file at its
own path is named in `TESTED_BY`.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
#: The folders of the sources.
SOURCES: Final = ("base", "ir", "codegen", "runtime", "tracejit")
#: Variable that names the commit that a change begins at.
SINCE: Final = "TRACEJIT_TEST_SINCE"
#: Modules and rooms, where some modules have no test file at their own path, and the files and folders below
#: `tests` that hold them.
TESTED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "base": ("base", "tracejit/bad_input", "test_architecture.py"),
    "base/lapack": ("base/lapack",),
    "base/process": ("base/process", "runtime/test_forks.py", "runtime/test_interrupts.py"),
    "codegen": ("codegen/test_tiers.py", "codegen/native"),
    "codegen/control": ("codegen/control",),
    "codegen/export": ("codegen/export", "tracejit/export"),
    "codegen/instrument": ("codegen/instrument",),
    "codegen/kernels/conv": ("codegen/kernels/conv",),
    "codegen/kernels/fft": ("codegen/kernels/fft", "codegen/kernels/test_fft.py"),
    "codegen/kernels/gemm": ("codegen/kernels/gemm", "codegen/kernels/test_long_products.py"),
    "codegen/kernels/indexing": ("codegen/kernels/indexing", "codegen/kernels/test_concat.py"),
    "codegen/kernels/lapack": (
        "codegen/kernels/test_lapack.py", "codegen/kernels/test_blocked_factorizations.py",
        "codegen/kernels/test_blocked_solutions.py",
    ),
    "codegen/kernels/linalg": ("codegen/kernels/test_linalg.py",),
    "codegen/kernels/scan": ("codegen/kernels/scan",),
    "codegen/kernels/sort": ("codegen/kernels/sort",),
    "codegen/llvm": ("codegen/llvm",),
    "codegen/lowering": ("codegen/kernels/test_lowering.py", "codegen/kernels/test_tasks.py"),
    "codegen/maths": ("codegen/maths",),
    "codegen/module": ("codegen/module",),
    "codegen/native": ("codegen/native", "tracejit/dispatch"),
    "codegen/nest": ("codegen/nest",),
    "codegen/plan": ("codegen/plan",),
    "ir": ("ir/test_complex_ops.py", "ir/test_verifier.py", "ir/text", "test_registry.py"),
    "ir/analysis": ("ir/analysis", "codegen/control/test_index_ranges.py", "tracejit/loops"),
    "ir/grouping": ("ir/grouping", "ir/passes/fusion", "codegen/plan/test_recovery.py"),
    "ir/ops": ("test_registry.py", "ir/test_gradients.py", "ir/test_complex_ops.py"),
    "ir/ops/control_flow": ("ir/test_control.py", "tracejit/control"),
    "ir/ops/linalg": ("ir/test_linalg.py", "tracejit/linalg"),
    "ir/ops/ordering": ("codegen/kernels/sort",),
    "ir/ops/signal": ("codegen/kernels/conv", "codegen/kernels/test_fft.py"),
    "ir/passes": ("test_filetests.py",),
    "ir/passes/algebra": ("test_filetests.py", "ir/passes/algebra"),
    "ir/passes/array_loops": ("test_filetests.py", "ir/passes/array_loops", "tracejit/loops"),
    "ir/passes/dtypes": ("test_filetests.py", "ir/passes/dtypes"),
    "ir/passes/fusion": ("test_filetests.py", "ir/passes/fusion"),
    "ir/passes/layout": ("test_filetests.py", "ir/passes/layout"),
    "ir/passes/loops": ("test_filetests.py", "ir/passes/loops", "tracejit/loops"),
    "ir/special": ("ir/special",),
    "ir/text": ("ir/text", "test_filetests.py"),
    "ir/transforms": ("test_batching.py", "ir/test_gradients.py", "ir/test_control.py"),
    "runtime": ("runtime",),
    "runtime/cache": ("runtime/test_cache.py", "runtime/test_cache_attacks.py"),
    "runtime/loading": ("runtime/loading", "runtime/test_arm64_objects.py"),
    "runtime/native": ("runtime/native", "runtime/test_entries.py", "codegen/native"),
    "tracejit": ("tracejit/sending", "tracejit/test_callbacks.py", "tracejit/test_tracebacks.py"),
    "tracejit/arguments": ("tracejit/bad_input", "tracejit/jitted/test_calls.py"),
    "tracejit/array": ("tracejit/array", "numpy_differences"),
    "tracejit/autograd": ("tracejit/autograd", "tracejit/pytorch"),
    "tracejit/backward": ("tracejit/tape", "tracejit/pytorch"),
    "tracejit/compat": ("tracejit/compat",),
    "tracejit/control": ("tracejit/control",),
    "tracejit/dask": ("tracejit/dask",),
    "tracejit/dispatch": ("tracejit/dispatch",),
    "tracejit/export": ("tracejit/export",),
    "tracejit/extend": ("tracejit/extend",),
    "tracejit/fft": ("tracejit/fft",),
    "tracejit/frontend": ("tracejit/jitted/stale", "tracejit/jitted/test_reading.py", "python_programs"),
    "tracejit/jitted": ("tracejit/jitted", "runtime/test_entries.py"),
    "tracejit/linalg": ("tracejit/linalg",),
    "tracejit/loops": ("tracejit/loops", "python_programs"),
    "tracejit/nn": ("tracejit/nn",),
    "tracejit/numpy_random": ("tracejit/numpy_random", "tracejit/jitted/test_random_draws.py"),
    "tracejit/optim": ("tracejit/optim",),
    "tracejit/profiling": ("tracejit/tools/profiling",),
    "tracejit/random": ("tracejit/random",),
    "tracejit/scipy": ("tracejit/scipy",),
    "tracejit/scipy/special": ("tracejit/scipy", "derivatives"),
    "tracejit/tape": ("tracejit/tape", "tracejit/pytorch"),
    "tracejit/tensors": ("tracejit/tensors", "tracejit/array/test_methods.py"),
    "tracejit/testing": ("tracejit/testing",),
    "tracejit/tools": ("tracejit/tools",),
    "tracejit/tracing": ("tracejit/tracing", "tracejit/loops"),
    "tracejit/transforms": ("tracejit/transforms",),
}  # fmt: skip


def own_test(source: str) -> str:
    """The test file, below `tests`, at the path of a source."""
    folder, _, name = source.rpartition("/")
    return f"{folder}/test_{name}"


def room_of(source: str) -> str | None:
    """The entry of `TESTED_BY` for a source: its own or that of the nearest folder above it."""
    path = source
    while path:
        if path in TESTED_BY:
            return path
        path = path.rpartition("/")[0]
    return None


def holders(source: str, imports: Mapping[str, frozenset[str]]) -> set[str]:
    """The files and folders below `tests` that hold a source: the file at its own path, or what the table
    says; and all files that import it."""
    room = room_of(source)
    own = own_test(source)
    held = {own} if (ROOT / "tests" / own).exists() else set(TESTED_BY[room] if room else ())
    return held.union(imports.get(source, ()))


@functools.cache
def importing() -> Mapping[str, frozenset[str]]:
    """The test files that import each source themselves."""
    files: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for source in _imported(path):
            files.setdefault(source, set()).add(path.relative_to(ROOT / "tests").as_posix())
    return {source: frozenset(tests) for source, tests in files.items()}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        else:
            continue
        for name in names:
            if name.startswith("tracejit.") and (source := _source(name)) is not None:
                yield source


def _source(module: str) -> str | None:
    parts = module.split(".")
    place = "/".join(parts[1:] if parts[1] in SOURCES else parts)
    return next((f for f in (f"{place}.py", f"{place}/__init__.py") if (ROOT / f).is_file()), None)


def changed() -> list[str]:
    """Paths that differ, committed or not, from the commit that `SINCE` names.

    Without it, that is where this branch left the origin's main branch, or on that branch itself the commit
    before. None where there is no repository.
    """
    since = os.environ.get(SINCE)
    try:
        if not since:
            main = (
                _git("for-each-ref", "--format=%(objectname)", "refs/remotes/origin/main").strip() or "HEAD"
            )
            since = _git("merge-base", "HEAD", main).strip()
            if since == _git("rev-parse", "HEAD").strip():
                since = "HEAD^"
        return _git("diff", "--name-only", since).splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []


def _git(*words: str) -> str:
    command = ("git", "-C", str(ROOT), *words)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def touched(paths: Iterable[str]) -> set[str]:
    """The files and folders below `tests` that hold what stands at `paths`, and those that are there."""
    tests: set[str] = set()
    for path in paths:
        if path.startswith("tests/"):
            tests.add(path.removeprefix("tests/"))
        elif path.endswith(".py") and path.split("/")[0] in SOURCES:
            tests |= holders(path, importing())
    return tests
