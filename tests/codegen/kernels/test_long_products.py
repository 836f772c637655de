"""Products with long sums: on several threads, of operands that lie along their columns, on small stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.machine import Machine, use_machine
from tracejit.codegen.llvm.stack import STACK_BYTES
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.module.writer import generate
from tracejit.codegen.tiers import BASELINE, OPTIMIZED
from tracejit.runtime import tiers
from tracejit.runtime.compilation import Compilation
from tracejit.runtime.executable import Executable
from tracejit.runtime.threads import threads

from ...forked import forked
from .test_tasks import FAMILIES, SEED, Draw

TIERS = pytest.mark.parametrize("tier", ["0", "always"], ids=["optimized", "baseline"])


@TIERS
@pytest.mark.parametrize("dtype", ["i4", "i8", "f4"])
def test_threads_that_compute_the_same_rows(dtype: str, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that two tiles have in common are the same however their tasks meet."""
    monkeypatch.setenv("TRACEJIT_TIERS", tier)
    monkeypatch.setattr(tiers.BACKGROUND, "submit", lambda job: None)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 100, (rows, 3058)).astype(dtype) for rows in (11, 22))
    expected = x @ y.T
    executable = Executable(tj.trace(lambda x, y: x @ y.T, x, y))
    for count in (2, 3):
        with threads(count):
            for _ in range(500):
                np.testing.assert_array_equal(executable([x, y])[0], expected)
    assert executable.tier == ("optimized" if tier == "0" else "baseline")


PRODUCTS = """
import threading
import numpy as np
import tracejit as tj

rng = np.random.default_rng(0)

def check(f, *shapes, dtype="f4"):
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    wide = [array.astype("f8") for array in arrays]
    compiled, expected = tj.jit(f), f(*wide)
    # k eps sum(|x| |y|), the bound for any order of summation
    k = max(shapes[0])
    bound = f(*map(abs, wide)) * k * np.finfo(dtype).eps
    def call():
        for _ in range(2):
            assert (abs(np.asarray(compiled(*arrays)) - expected) <= bound).all(), shapes
    call()
    failures = []
    def small():
        try:
            call()
        except BaseException as error:
            failures.append(error)
    before = threading.stack_size(128 << 10)
    thread = threading.Thread(target=small)
    thread.start()
    thread.join()
    threading.stack_size(before)
    assert not failures, failures
"""


@TIERS
@pytest.mark.parametrize(
    "product",
    [
        "check(lambda y: y @ y.T, (16, 4761))",
        "check(lambda x, y: x @ y.T, (18, 1609), (13, 1609))",
        "check(lambda x, y: x @ y.T, (19, 1774), (5, 1774), dtype='f8')",
        "check(lambda x, y: x @ y, (16, 140_000), (140_000, 16))",
        "check(lambda x, y: x @ y, (32, 5000), (5000, 40))",
        "check(lambda x, y: x @ y, (45, 3000), (3000, 700))",
        "check(lambda x, y: x @ y.swapaxes(1, 2), (20, 80, 80), (20, 80, 80), dtype='f8')",
    ],
)
def test_long_sums(product: str, tier: str) -> None:
    """Calls on the least stack that musl gives a thread, too."""
    assert forked(f"{PRODUCTS}\n{product}\nprint('fine')", TRACEJIT_TIERS=tier).strip() == "fine"


#: Programs whose slots are large: each is on the stack, or in a scratch block.
LARGE: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "strips": (lambda x, y: x @ y, ((45, 3000), (3000, 700))),
    "panels": (lambda x, y: x @ y.swapaxes(1, 2), ((20, 80, 80), (20, 80, 80))),
    "inverses": (tj.linalg.inv, ((50, 32, 32),)),
    "lines": (lambda x: tj.sort(x, axis=1), ((40, 4000),)),
    "transforms": (tj.fft.fft, ((40, 8192),)),
    "transforms of transforms": (lambda x: tj.fft.irfft(tj.fft.rfft(x) * 2), ((40, 8192),)),
    "images": (lambda x, w: tj.nn.conv2d(x, w, padding=1), ((2, 64, 56, 56), (64, 64, 3, 3))),
}
MACHINES = [
    Machine(), Machine(l1_bytes=1 << 17, l2_bytes=1 << 21), Machine(l1_bytes=1 << 21, l2_bytes=1 << 24)
]  # fmt: skip


def stacks(f: Any, arrays: Any) -> list[tuple[int, list[int]]]:
    """Bytes of stack and of scratch blocks of each kernel of `f`, on all machines, in both tiers."""
    source, found = tj.trace(f, *arrays), []
    for machine in MACHINES:
        with use_machine(machine):
            fused = Compilation(source, None, ()).fused
            for name in ("x86-64", "x86-64-v3", "x86-64-v4", "aarch64"):
                for tier in (BASELINE, OPTIMIZED):
                    module = generate(fused, named_target(name), parameters=tier.parameters)
                    assert module.recovery is not None
                    assert module.recovery.notes == []
                    found += [(kernel.stack_bytes, kernel.scratch_blocks) for kernel in module.kernels]
    return found


@pytest.mark.parametrize("case", LARGE)
def test_large_slots_are_not_on_the_stack(case: str) -> None:
    f, shapes = LARGE[case]
    slots = stacks(f, [np.ones(shape) for shape in shapes])
    assert max(nbytes for nbytes, _ in slots) <= STACK_BYTES
    assert any(blocks for _, blocks in slots)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_no_kernel_takes_much_of_the_stack(family: Any) -> None:
    print(f"TRACEJIT_TASKS_SEED={SEED}")
    f, arrays = family(Draw((SEED, 1)))
    assert max([nbytes for nbytes, _ in stacks(f, arrays)], default=0) <= STACK_BYTES
