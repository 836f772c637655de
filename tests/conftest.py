"""Settings of every test: each pass's result is verified, slow tests run only when asked for by ``-m``. Nine
of ten tests of values run code that LLVM compiled without optimization.

LLVM's result depends on its input text alone. So tests of values share compiled code, in all processes of a
run, and a tenth of them has the code that users run. The sources choose that tenth, or `TRACEJIT_TENTH` does
(0 to 9, or ``all``).

Half of the tests of a large family rest where all tests are run and no paths are named (`rotation.rests`).
The sources choose that half, too, and what holds a changed source (`mirror.touched`) is not in it.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import zlib
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from .emission import CODE, OBJECTS
from .mirror import SINCE, changed, touched
from .rotation import CHOICE, KEY, RESTING, TENTH, TOUCHED, rests

# read by tracejit.ir.passes.run_passes at each call, and inherited by the processes that tests start
os.environ.setdefault("TRACEJIT_VERIFY", "1")
# what is tested is compiled anew; the tests of the cache have folders of their own
os.environ["TRACEJIT_CACHE"] = "0"
# what is tested is the full code at once; the tests of tiers, and TRACEJIT_TIERS=always, have both
os.environ.setdefault("TRACEJIT_TIERS", "0")

# a runner in the background of a shell ignores it, and so would the processes that tests start and interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


#: Objects and collections between collections of garbage: compilations allocate much that stays.
GARBAGE = (10_000, 20, 20)
#: Tests of values among those of `ANEW`.
VALUES = (
    "benchmarks/test_workloads.py", "codegen/instrument/test_access_checks.py",
    "codegen/module/test_buffers.py", "codegen/module/test_donation.py",
    "codegen/module/test_recovery.py::test_passes_that_fail",
)  # fmt: skip
#: Tests of LLVM itself, of what a compilation does and takes, and of recovery: all is compiled anew.
ANEW = (
    "benchmarks/", "codegen/instrument/", "codegen/llvm/", "codegen/module/", "codegen/test_tiers.py",
    "runtime/", "tracejit/tools/",
)  # fmt: skip
#: Tests of the code that LLVM makes, beside those.
OPTIMIZED = (*ANEW, "codegen/maths/", "tracejit/jitted/")
_TESTS = Path(__file__).parent

# an sdist holds no links; without these, what is imported from the root has no `ir`, `codegen` and `runtime`
for _layer in ("base", "ir", "codegen", "runtime"):
    _link = _TESTS.parent / "tracejit" / _layer
    if not _link.exists():
        _link.symlink_to(Path("..") / _layer)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Nine of ten tests of values do without LLVM's optimization."""
    path = f"{item.path.relative_to(_TESTS).as_posix()}::{item.name}"
    tenth = str(zlib.crc32(item.nodeid.encode()) % 10)
    of_values = path.startswith(VALUES)
    if path.startswith(ANEW) and not of_values:
        os.environ[CODE] = "anew"
    else:
        optimized = TENTH in (tenth, "all") or (path.startswith(OPTIMIZED) and not of_values)
        os.environ[CODE] = "shared" if optimized else "plain"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Report calls, and what failed or was skipped before or after them: each message to the process that
    starts the others takes as long as a small test."""
    before = _environment()
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "teardown" and report.passed and (left := _environment() ^ before):
            report.outcome = "failed"
            report.longrepr = f"left the environment changed: {sorted(left)}"
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    if nextitem is None or nextitem.path.parent != item.path.parent:
        _freeze()
    return True


def _environment() -> set[tuple[str, str]]:
    """Environment variables that a test leaves as it found them, or the tests behind it fail."""
    return {one for one in os.environ.items() if one[0] not in (CODE, "PYTEST_CURRENT_TEST")}


def _freeze() -> None:
    """Keep what is alive out of further collections of garbage: tests leave millions of objects behind, and
    visiting them takes longer than most tests that collect."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    """Print the choice of tests that have the code that users run, and of those that are run at all."""
    chosen = f"{CHOICE}={KEY} repeats this run's choice of tests that rest and of optimized ones"
    places = os.environ.get(TOUCHED, "").split(os.pathsep)
    return f"{chosen}; none rests of {len(places)} files and folders that hold the change ({SINCE})"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that starts the others
        os.environ[OBJECTS] = tempfile.mkdtemp(prefix="tracejit-test-objects-")
        if config.args_source is not pytest.Config.ArgsSource.ARGS:  # all tests are asked for
            os.environ.setdefault(RESTING, "1")
        if os.environ.get(RESTING) == "1" and TOUCHED not in os.environ:
            os.environ[TOUCHED] = os.pathsep.join(sorted(touched(changed())))
    config.addinivalue_line("markers", "slow: takes minutes; run with `pytest -m slow`")


def pytest_sessionstart() -> None:
    """Switch colours off: the output of commands is compared without them, also where the environment asks
    for them."""
    for name in ("FORCE_COLOR", "NO_COLOR"):
        os.environ.pop(name, None)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(OBJECTS), ignore_errors=True)


def pytest_collection() -> None:
    """Tests are some millions of objects, which no collection of garbage needs to visit."""
    gc.disable()


def pytest_collection_finish() -> None:
    _freeze()
    gc.enable()
    gc.set_threshold(*GARBAGE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if not rests(item.path.relative_to(_TESTS).as_posix(), item.name)]
    if not config.option.markexpr:
        kept = [item for item in kept if not item.get_closest_marker("slow")]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept
