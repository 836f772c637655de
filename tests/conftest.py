"""What holds for every test: each pass's result is verified, and slow tests run only when asked for by
``-m``."""

from __future__ import annotations

import os
import signal

import pytest

# read by tracejit.ir.passes.run_passes at each call, and inherited by the processes that tests start
os.environ.setdefault("TRACEJIT_VERIFY", "1")
# what is tested is compiled anew; the tests of the cache have folders of their own
os.environ["TRACEJIT_CACHE"] = "0"
# what is tested is the full code at once; the tests of tiers, and TRACEJIT_TIERS=always, have both
os.environ.setdefault("TRACEJIT_TIERS", "0")

# a runner in the background of a shell ignores it, and so would the processes that tests start and interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes minutes; run with `pytest -m slow`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
