"""Cost of a user's elementwise op beside a built-in, in one run: ``python -m benchmarks.user_ops``.

One formula is computed three times in a compiled reduction: as a built-in op, as a registered op whose kernel
emits the same code, and as a registered op whose kernel is the C library's function, called once per element.
"""

from __future__ import annotations

import ctypes
import statistics

import numpy as np

import tracejit as tj

from .timing import FULL, QUICK, call_turn, interleave

SIZE = 1_000_000


def main(*, quick: bool = False) -> dict[str, float]:
    """Print and return the ratios to the built-in, medians over rounds."""
    effort = QUICK if quick else FULL
    with tj.extend.isolated():
        emitted = tj.register_op("user_exp", inputs="x", elementwise=True, cycles=12.0)
        tj.register_kernel("user_exp", "llvm", lambda b, x: b.exp(x))
        library = ctypes.CDLL("libm.so.6").exp
        library.argtypes, library.restype = [ctypes.c_double], ctypes.c_double
        called = tj.register_op("library_exp", inputs="x", elementwise=True, cycles=12.0)
        tj.register_kernel("library_exp", "llvm", library)
        x = tj.tensor(np.random.default_rng(0).standard_normal(SIZE))
        contenders = {
            "built-in": tj.jit(lambda x: (tj.exp(x) * 2.0 + 1.0).sum()),
            "emitted by the user": tj.jit(lambda x: (emitted(x) * 2.0 + 1.0).sum()),
            "C function": tj.jit(lambda x: (called(x) * 2.0 + 1.0).sum()),
        }
        values = [f(x).item() for f in contenders.values()]
        assert values[0] == values[1]
        assert abs(values[2] / values[0] - 1) < 1e-12
        turns = {name: call_turn(f, (x,), None, effort.turn_seconds) for name, f in contenders.items()}
        samples = interleave(turns, effort.rounds)
    ratios = {}
    for name, seconds in samples.items():
        each = [second / built_in for second, built_in in zip(seconds, samples["built-in"], strict=True)]
        ratios[name] = statistics.median(each)
        print(f"{name:20} {statistics.median(seconds) * 1e3:8.3f} ms, ratio {ratios[name]:.2f}")
    return ratios


if __name__ == "__main__":
    main()
