"""Chromium, for tests that look at pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser, shared by the tests of a process."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="pip install '.[browser]' for the browser tests"
    )
    path = os.environ.get("TRACEJIT_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium here: install one, or name it in TRACEJIT_CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
