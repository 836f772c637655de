"""Random kernels in the loop form through random schedules: valid before and after each pass, the same to the
bit by the interpreter, with text that reads back.

``TRACEJIT_LOOP_KERNELS=N`` runs N kernels in place of a few; ``TRACEJIT_LOOP_SEED`` chooses which.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from tracejit.codegen.loops.nodes import TASKS, Kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.passes import PASSES, NotApplicable, parse_schedule
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.rewriting import loops_in
from tracejit.codegen.loops.verifier import LoopFormError, verify_kernel

from ...loop_cases import check_same, outcome

KERNELS = int(os.environ.get("TRACEJIT_LOOP_KERNELS", "60"))
SEED = int(os.environ.get("TRACEJIT_LOOP_SEED", "0"))
#: Least number of passes that are applied to a kernel, on average: else the walk tests nothing.
LEAST_STEPS = 1.5


class _Writer:
    """Writes the text of a random kernel: a nest of up to three loops, with elementwise ops."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.rank = int(rng.integers(1, 4))
        self.sizes = [int(size) for size in rng.integers(1, 8 if self.rank == 3 else 14, self.rank)]
        self.names = ["i", "j", "k"][: self.rank]
        self.dtype = str(rng.choice(["f64", "f32", "i32", "i64"]))
        self.buffers: list[str] = []
        self.lines: list[str] = []
        self.values: list[str] = []

    def value(self) -> str:
        if not self.values or self.rng.random() < 0.15:
            number = int(self.rng.integers(-3, 4))
            return f"{number}{'.0' if self.dtype[0] == 'f' else ''}:{self.dtype}"
        return f"%{self.rng.choice(self.values)}"

    def define(self, text: str) -> None:
        name = f"v{len(self.values)}"
        self.lines.append(f"%{name}: {self.dtype} = {text}")
        self.values.append(name)

    def place(self, strides: list[int], offset: int) -> str:
        terms = [f"{stride}*{name}" for stride, name in zip(strides, self.names, strict=True) if stride]
        return " + ".join([*terms, str(offset)])

    def access(self, *, written: bool) -> tuple[str, str]:
        """A buffer and a place of it: dimensions in some order, reversed or broadcast."""
        rng, number = self.rng, len(self.buffers)
        order = [int(axis) for axis in rng.permutation(self.rank)]
        strides, size = [0] * self.rank, 1
        for axis in order:
            if written or rng.random() < 0.8:
                strides[axis] = size
                size *= self.sizes[axis]
        offset = int(rng.integers(0, 3))
        space = size + offset + int(rng.integers(0, 3))
        for axis in order:
            if rng.random() < 0.15:
                offset += strides[axis] * (self.sizes[axis] - 1)
                strides[axis] = -strides[axis]
        self.buffers.append(f"b{number}: {'out ' if written else ''}{self.dtype}[{space}]")
        return f"b{number}", self.place(strides, offset)

    def load(self) -> None:
        if self.rng.random() < 0.1 and self.dtype == "i64":
            axis = int(self.rng.integers(self.rank))
            self.define(f"index({self.place([int(dim == axis) * 3 for dim in range(self.rank)], 1)})")
            return
        buffer, place = self.access(written=False)
        text = f"load {buffer}[{place}]"
        if self.rng.random() < 0.2:
            axis = int(self.rng.integers(self.rank))
            low, size = int(self.rng.integers(0, 3)), self.sizes[axis]
            text += f" where 0 <= {self.names[axis]} - {low} < {max(1, size - 1)}"
        self.define(text)
        if self.rng.random() < 0.3:
            self.define(text)

    def kernel(self) -> str:
        rng = self.rng
        for _ in range(int(rng.integers(1, 4))):
            self.load()
        for _ in range(int(rng.integers(0, 4))):
            op = str(rng.choice(["add", "sub", "mul", "maximum"]))
            self.define(f"{op}({self.value()}, {self.value()})")
        if self.dtype[0] == "f" and rng.random() < 0.3:
            self.define(f"div({self.value()}, {self.value()})")
        for _ in range(int(rng.integers(1, 3))):
            buffer, place = self.access(written=True)
            self.lines.append(f"store {buffer}[{place}], {self.value()}")
            if rng.random() < 0.3:
                self.define(f"load {buffer}[{place}]")
                other, place = self.access(written=True)
                self.lines.append(f"store {other}[{place}], {self.value()}")
        head = [f"kernel @random({', '.join(self.buffers)}) {{"]
        loops = [f"for {name} in 0:{size} {{" for name, size in zip(self.names, self.sizes, strict=True)]
        return "\n".join([*head, *loops, *self.lines, *["}"] * len(loops), "}"])


def _step(rng: np.random.Generator, kernel: Kernel) -> str:
    """A random step of a schedule for `kernel`; it need not apply."""
    loops = [loop.index for loop in loops_in(kernel.body) if loop.kind != TASKS] or ["i"]
    first, other = (str(rng.choice(loops)) for _ in range(2))
    name, number = str(rng.choice(list(PASSES))), int(rng.choice([1, 2, 3, 4, 8]))
    outs = [buffer.name for buffer in kernel.buffers if buffer.out]
    begin = int(rng.integers(0, 6))
    part = f"{first}, {begin}, {begin + int(rng.integers(1, 8))}"
    arguments = {
        "split": part,
        "specialize": part,
        "normalize": "",
        "forward": "",
        "tile": f"{first}, {other}, {int(rng.choice([2, 4]))}, {int(rng.choice([1, 2]))}",
        "transpose_reads": "r",
        "unroll": first if number == 1 else f"{first}, {number}",
        "poll": first,
        "stream": str(rng.choice(outs)),
        "ask": f"{rng.choice(outs)}+0",
        "invert": first,
    }
    if name == "transpose_reads":
        return f"peel({first}, {number}) transpose_reads(r)"
    return f"{name}({arguments.get(name, f'{first}, {number}')})"


@pytest.mark.parametrize("part", range(4))
def test_random_kernels_mean_the_same_by_any_schedule(part: int) -> None:
    applied = 0
    for number in range(part, KERNELS, 4):
        rng = np.random.default_rng([SEED, number])
        text = _Writer(rng).kernel()
        print(f"kernel {number} of seed {SEED}\n{text}")
        kernel = result = parse_kernel(text)
        verify_kernel(kernel)
        for _ in range(int(rng.integers(2, 7))):
            for name, arguments in parse_schedule(_step(rng, result)):
                try:
                    result = PASSES[name](result, *arguments)
                except NotApplicable:
                    continue
                applied += 1
                print(f"{name}{arguments}")
                check_same(kernel, result)
    assert applied >= LEAST_STEPS * len(range(part, KERNELS, 4)), f"{applied} passes were applied"


def test_the_walk_finds_a_pass_that_is_wrong() -> None:
    """A kernel of one iteration is another one, and a kernel of too many is not valid."""
    found = 0
    for number in range(12):
        kernel = parse_kernel(_Writer(np.random.default_rng([1, number])).kernel())
        wrong = parse_kernel(print_kernel(kernel).replace(f"in 0:{_first_size(kernel)} ", "in 0:1 ", 1))
        found += _first_size(kernel) > 1 and outcome(wrong, 0, {}) != outcome(kernel, 0, {})
        further = print_kernel(kernel).replace(f"in 0:{_first_size(kernel)} ", "in 0:99 ", 1)
        with pytest.raises(LoopFormError):
            verify_kernel(parse_kernel(further))
    assert found >= 6


def _first_size(kernel: Kernel) -> int:
    return loops_in(kernel.body)[0].hi[0].constant
