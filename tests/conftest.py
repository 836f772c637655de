"""What holds for every test: each pass's result is verified, slow tests run only when asked for by ``-m``,
and nine of ten tests of values run code that LLVM compiled without optimization.

What LLVM makes of our text is fixed by that text. So tests of values share what was compiled for one of them,
in all processes of a run; and a tenth of them, another one each day (`TRACEJIT_TENTH`, 0 to 9, or ``all``),
has the code that users run.
"""

from __future__ import annotations

import datetime
import gc
import hashlib
import os
import shutil
import signal
import tempfile
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracejit.runtime.native.support  # noqa: F401, has LLVM's own `emit_object`: the runtime's parts are as ever
from tracejit.codegen.llvm import compiler
from tracejit.codegen.llvm.target import host
from tracejit.codegen.tiers import Effort

# read by tracejit.ir.passes.run_passes at each call, and inherited by the processes that tests start
os.environ.setdefault("TRACEJIT_VERIFY", "1")
# what is tested is compiled anew; the tests of the cache have folders of their own
os.environ["TRACEJIT_CACHE"] = "0"
# what is tested is the full code at once; the tests of tiers, and TRACEJIT_TIERS=always, have both
os.environ.setdefault("TRACEJIT_TIERS", "0")

# a runner in the background of a shell ignores it, and so would the processes that tests start and interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


TENTH = os.environ.get("TRACEJIT_TENTH") or str(datetime.date.today().toordinal() % 10)
#: Tests of LLVM itself, of what a compilation does and takes, and of recovery: all is compiled anew.
ANEW = (
    "benchmarks/", "codegen/instrument/", "codegen/llvm/", "codegen/module/", "codegen/test_tiers.py",
    "runtime/", "tracejit/tools/",
)  # fmt: skip
#: Tests of the code that LLVM makes, beside those.
OPTIMIZED = (*ANEW, "codegen/maths/", "tracejit/jitted/")
#: The folder of object files that the processes of a test run share, by hash of what they were compiled from.
OBJECTS = "TRACEJIT_TEST_OBJECTS"
_TESTS = Path(__file__).parent
_EMIT: Callable[..., Any] = compiler.emit_object


class _Current:
    """How code is compiled for the test that runs."""

    anew = True
    effort: Effort | None = None


def _emit_object(text: str, effort: Effort = Effort.FULL, **options: Any) -> Any:
    """`compiler.emit_object` with the effort of the test that runs."""
    return _EMIT(text, _Current.effort or effort, **options)


def _shared(emit: Callable[..., bytes]) -> Callable[..., bytes]:
    """`emit`, which compiles a module or a piece of one, with what was emitted before kept on disk."""

    def emitted(text: str, effort: Effort, *options: Any) -> bytes:
        if _Current.anew:
            return emit(text, effort, *options)
        *settings, clock = options
        source = repr((emit.__name__, text, effort, settings, host()))
        path = Path(os.environ[OBJECTS]) / hashlib.sha256(source.encode()).hexdigest()
        try:
            image = path.read_bytes()
        except FileNotFoundError:
            image = emit(text, effort, *options)
            partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            partial.write_bytes(image)
            partial.replace(path)
        else:
            for phase in ("parse", "optimize", "codegen"):
                clock.lap(phase)
        return image

    return emitted


compiler.emit_object = _emit_object
compiler._emit = _shared(compiler._emit)
compiler._emit_apart = _shared(compiler._emit_apart)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Nine of ten tests of values do without LLVM's optimization."""
    path = item.path.relative_to(_TESTS).as_posix()
    tenth = str(zlib.crc32(item.nodeid.encode()) % 10)
    optimized = TENTH in (tenth, "all") or path.startswith(OPTIMIZED)
    _Current.anew = path.startswith(ANEW)
    _Current.effort = None if optimized else Effort.PLAIN


def pytest_report_header() -> str:
    """Which tests have the code that users run."""
    return f"LLVM optimizes for tenth {TENTH} of the tests of values (TRACEJIT_TENTH)"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that starts the others
        os.environ[OBJECTS] = tempfile.mkdtemp(prefix="tracejit-test-objects-")
    config.addinivalue_line("markers", "slow: takes minutes; run with `pytest -m slow`")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(OBJECTS), ignore_errors=True)


def pytest_collection_finish() -> None:
    """Twenty thousand tests are some millions of objects, which no collection of garbage needs to visit."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
