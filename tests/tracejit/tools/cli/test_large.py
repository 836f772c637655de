"""A program of 10,000 operations: what the tools take is linear in its length, and errors in it are as short
as others."""

from __future__ import annotations

import pytest

from ....rotation import share_of
from ....support import processor_seconds, ratio

COUNT = 10_000
#: A program whose time is compared: ten times less.
FEW = COUNT // 10
OPS = ("sin(%{0})", "add(%{0}, %x)", "neg(%{0})", "mul(%{0}, %x)", "tanh(%{0})")


def program(count: int) -> str:
    lines = [f"  %{i + 1}: f64[8] = {OPS[i % len(OPS)].format(i)}  # big.py:{i + 1}" for i in range(1, count)]
    head = ["tir 1", "", "func @big(%x: f64[8]) -> f64[8] {", "  %1: f64[8] = neg(%x)"]
    return "\n".join([*head, *lines, f"  return %{count}", "}"]) + "\n"


@pytest.fixture
def large(cli):
    for name, count in (("big", COUNT), ("few", FEW)):
        (cli.folder / f"{name}.tir").write_text(program(count))
        (cli.folder / f"{name}.py").write_text(
            f"import tracejit as tj\ndef {name}(x):\n    y = x\n"
            f"    for _ in range({count // 4}):\n        y = tj.sin(y) * x + y - x\n    return y\n"
        )
    return cli


COMMANDS = [
    ["verify", "big.tir"],
    ["fmt", "--check", "big.tir"],
    ["opt", "big.tir", "-o", "out.tir"],
    ["run", "big.tir", "--random", "0"],
    ["dump", "big.tir", "--stage", "fused"],
    ["dump", "big.tir", "--vmap", "--stage", "trace"],
    ["dump", "big.py:big", "--arg", "f64[8]"],
]


@pytest.mark.parametrize("command", share_of(COMMANDS, 2), ids=lambda command: " ".join(command[:2]))
def test_a_large_program_takes_linear_time(large, command):
    def seconds(name):
        def run():
            done = large(*(word.replace("big", name) for word in command))
            assert done.code == (1 if "--check" in command else 0)
            assert done.err == ""

        return processor_seconds(run)

    # ten times is linear, a hundred times quadratic
    assert ratio(lambda: seconds("big"), lambda: seconds("few"), 35, turns=4) < 35


def test_an_error_in_a_large_program_is_short(large):
    text = program(COUNT)
    (large.folder / "bad.tir").write_text(text.replace("  %5000: f64[8]", "  %5000: f64[9]"))
    done = large("verify", "bad.tir")
    assert done.code == 1
    assert done.err.startswith("tracejit verify: bad.tir:5003:3: @big in tanh: result has type f64[9]")
    assert len(done.err.splitlines()) == 3
    (large.folder / "bad.tir").write_text(text.replace("  return", "  retrun"))
    done = large("verify", "bad.tir")
    assert done.err.startswith("tracejit verify: bad.tir:10004:3: expected return, found 'retrun'")
    assert len(done.err.splitlines()) == 3
