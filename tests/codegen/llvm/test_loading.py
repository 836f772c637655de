"""Initialization of LLVM."""

from __future__ import annotations

import pytest

from tracejit.codegen.llvm import loading


@pytest.mark.parametrize(("cpu", "pads"), [("cascadelake", True), ("skylake", True), ("znver4", False)])
def test_jumps_stay_in_blocks_where_cpus_need_it(
    monkeypatch: pytest.MonkeyPatch, cpu: str, pads: bool
) -> None:
    binding = loading.llvm_binding()
    options: list[tuple[str, str]] = []
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: cpu)
    monkeypatch.setattr(binding, "set_option", lambda *option: options.append(option))
    assert loading.llvm_binding.__wrapped__() is binding
    assert options == ([("", "-x86-branches-within-32B-boundaries")] if pads else [])
