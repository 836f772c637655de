"""A pytest plugin for the suite's short run: failing examples are not made small, which takes long."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Change the profile that the suite's conftest.py has set."""
    phases = [phase for phase in settings.default.phases if phase not in (Phase.shrink, Phase.explain)]
    settings.register_profile("without-shrinking", parent=settings.default, phases=phases)
    settings.load_profile("without-shrinking")
