"""What holds for every test: each pass's result is verified, slow tests run only when asked for by ``-m``,
and nine of ten tests of values run code that LLVM compiled without optimization.

Most of the time of all tests is LLVM's. What it makes of our text is fixed by that text; a tenth of those
tests, another one each day (`TRACEJIT_TENTH`, 0 to 9, or ``all``), has the code that users run.
"""

from __future__ import annotations

import datetime
import os
import signal
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracejit.codegen.llvm import compiler
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
#: Where tests are about the code that LLVM makes, its tiers, time and storage.
OPTIMIZED = (
    "benchmarks/", "codegen/instrument/", "codegen/llvm/", "codegen/maths/", "codegen/module/",
    "codegen/test_tiers.py", "runtime/", "tracejit/jitted/", "tracejit/tools/",
)  # fmt: skip
_TESTS = Path(__file__).parent
_EMIT: Callable[..., Any] = compiler.emit_object


def _without_optimization(text: str, effort: Effort = Effort.PLAIN, **more: Any) -> Any:
    return _EMIT(text, Effort.PLAIN, **more)


@pytest.fixture(autouse=True)
def llvm_effort(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine of ten tests of values do without LLVM's optimization."""
    path = request.path.relative_to(_TESTS).as_posix()
    tenth = str(zlib.crc32(request.node.nodeid.encode()) % 10)
    if TENTH not in (tenth, "all") and not path.startswith(OPTIMIZED):
        monkeypatch.setattr(compiler, "emit_object", _without_optimization)


def pytest_report_header() -> str:
    """Which tests have the code that users run."""
    return f"LLVM optimizes for tenth {TENTH} of the tests of values (TRACEJIT_TENTH)"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes minutes; run with `pytest -m slow`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
