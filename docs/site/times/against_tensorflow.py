"""Times beside TensorFlow.js in Node, by turns, processor time.

``npm install @tensorflow/tfjs @tensorflow/tfjs-backend-wasm`` in a folder, then
``python -m docs.site.times.against_tensorflow FOLDER``.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj

PROGRAM = Path(__file__).with_name("tensorflow.mjs")


def grid(rows: int, columns: int) -> Any:
    """The numbers that both use."""
    return np.sin(np.arange(rows * columns, dtype=np.float32) * np.float32(0.37)).reshape(rows, columns)


def programs() -> dict[str, Callable[[], Any]]:
    """The programs, each a call that gives an array."""
    x, w, v, square, long = grid(512, 64), grid(64, 32), grid(32, 1), grid(256, 256), grid(1, 1_000_000)[0]
    small = np.array([1, 2, 3, 4], np.float32)
    add = tj.jit(lambda x: x * x + 1)
    product = tj.jit(lambda x: x @ x)
    chain = tj.jit(lambda x: tj.maximum(x * 1.5 + x, 0.1) * (x - 0.5) + tj.abs(x))
    network = tj.jit(tj.value_and_grad(lambda w, v: ((tj.tanh(x @ w) @ v) ** 2).mean(), argnums=(0, 1)))
    return {
        "small": lambda: add(small),
        "product": lambda: product(square),
        "chain": lambda: chain(long),
        "network": lambda: network(w, v)[1][0],
    }


class Node:
    """TensorFlow.js in a process of its own."""

    def __init__(self, folder: Path, backend: str) -> None:
        script = folder / PROGRAM.name
        shutil.copyfile(PROGRAM, script)
        command = ["node", str(script), backend]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, text=True)

    def run(self, name: str, repeats: int) -> tuple[float, float]:
        """Microseconds a call, and the first element of the result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{name} {repeats}\n")
        self.process.stdin.flush()
        while (line := self.process.stdout.readline()) and not line[0].isdigit():
            pass  # its greeting
        used, value = line.split()
        return float(used), float(value)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def microseconds(call: Callable[[], Any], repeats: int) -> float:
    """Processor time of a call."""
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats * 1e6


def main(folder: Path) -> None:
    """Print a row for each program."""
    nodes = {backend: Node(folder, backend) for backend in ("wasm", "cpu")}
    with tj.threads(1):
        for name, call in programs().items():
            expected = float(np.ravel(call())[0])
            cells = []
            for node in nodes.values():
                theirs, value = node.run(name, 3)
                assert np.isclose(value, expected, rtol=1e-3), (name, value, expected)
                repeats = max(1, int(30_000 / theirs)), max(1, int(30_000 / microseconds(call, 5)))
                rounds = [(node.run(name, repeats[0])[0], microseconds(call, repeats[1])) for _ in range(12)]
                there, here = (min(times) for times in zip(*rounds, strict=True))
                cells.append(f"{there:.3g} | {here:.3g} | {statistics.median(a / b for a, b in rounds):.2f}")
            print(f"| {name} | {' | '.join(cells)} |")
    for node in nodes.values():
        node.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
