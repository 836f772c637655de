"""Special functions beside SciPy's and JAX's: ``python -m benchmarks.special > docs/special-times.md``.

Runs on one processor, and takes the calls of the libraries in turn: each column is the least processor time
of several calls.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj

ELEMENTS = 100_000
#: Turns of a row, and seconds after which no further turn begins.
TURNS, SECONDS = 40, 2.0
Interval = tuple[float, float]
#: Arguments are uniform in these intervals; equal ends are a number.
ARGUMENTS: dict[str, tuple[Interval, ...]] = {
    "gammaln": ((0.1, 50),), "gamma": ((0.1, 50),), "digamma": ((0.1, 50),), "zeta": ((1.1, 20), (0.1, 20)),
    "beta": ((0.1, 20), (0.1, 20)), "betaln": ((0.1, 20), (0.1, 20)),
    "gammainc": ((0.1, 20), (0.1, 20)), "gammaincc": ((0.1, 20), (0.1, 20)),
    "betainc": ((0.1, 20), (0.1, 20), (0, 1)), "erf": ((-4, 4),), "erfc": ((-4, 4),), "erfcx": ((-3, 10),),
    "erfinv": ((-1, 1),), "erfcinv": ((0, 2),), "ndtr": ((-5, 5),), "log_ndtr": ((-5, 5),),
    "ndtri": ((0, 1),), "expit": ((-5, 5),), "logit": ((0, 1),), "log_expit": ((-5, 5),),
    "xlogy": ((0, 3), (0, 3)), "xlog1py": ((0, 3), (0, 3)), "entr": ((0, 3),),
    "rel_entr": ((0, 3), (0, 3)), "kl_div": ((0, 3), (0, 3)), "i0": ((0, 20),), "i0e": ((0, 20),),
    "i1": ((0, 20),), "i1e": ((0, 20),), "j0": ((0, 20),), "j1": ((0, 20),), "y0": ((0.1, 20),),
    "y1": ((0.1, 20),), "k0": ((0.1, 20),), "k1": ((0.1, 20),), "jv": ((0, 10), (0.1, 20)),
    "iv": ((0, 10), (0.1, 20)), "kv": ((0, 10), (0.1, 20)), "exp1": ((0.1, 20),), "expi": ((0.1, 20),),
    "expn": ((3, 3), (0.1, 20)), "sici": ((0.1, 20),), "spence": ((0, 5),), "ellipk": ((0, 1),),
    "ellipe": ((0, 1),), "hyp1f1": ((0.1, 5), (0.1, 5), (-5, 5)),
    "lambertw": ((-0.3, 10),), "softmax": ((-5, 5),),
    "logsumexp": ((-5, 5),),
}  # fmt: skip
HEAD = """\
# Times of the special functions

Milliseconds of processor time for 100,000 elements on one thread, the least of several turns in which the
libraries alternate, and how many times as long SciPy and JAX (with x64, jitted) take as the jitted function.
`eager` is a call without `jit`. Printed by `python -m benchmarks.special > docs/special-times.md`, which
needs SciPy and JAX, here on {machine} with SciPy {scipy} and JAX {jax}.

| function | dtype | jitted | eager | SciPy | JAX | SciPy / jitted | JAX / jitted |
|---|---|---|---|---|---|---|---|
"""
#: The steps of softmax.
PASSES: dict[str, Callable[[Any], Any]] = {
    "the largest element": tj.max,
    "the exponentials": tj.exp,
    "scaling": lambda x: x * 0.5,
}


def least(calls: list[Callable[[], object]]) -> list[float]:
    """The least milliseconds of processor time of each of `calls`, which take turns.

    Each is called once more before: Intel's processors take some 50 us to power wide vector units up after a
    millisecond of other code.
    """
    best = [float("inf")] * len(calls)
    start = time.process_time()
    for turn in range(TURNS):
        if turn > 2 and time.process_time() - start > SECONDS:
            break
        for place, call in enumerate(calls):
            call()
            before = time.process_time()
            call()
            best[place] = min(best[place], (time.process_time() - before) * 1e3)
    return best


def row(name: str, dtype: str, scipy: Any, jax: Any) -> str:
    """The line of one function in one dtype."""
    rng = np.random.default_rng(0)
    arrays = [
        (rng.uniform(low, high, ELEMENTS) if low < high else np.full(ELEMENTS, low)).astype(dtype)
        for low, high in ARGUMENTS[name]
    ]
    function = getattr(tj.scipy.special, name)
    tensors = [tj.tensor(array) for array in arrays]
    jitted = tj.jit(function)
    calls: list[Callable[[], object]] = [
        lambda: jitted(*tensors), lambda: function(*tensors), lambda: getattr(scipy, name)(*arrays)
    ]  # fmt: skip
    peer = getattr(jax.scipy.special, name, None)
    if peer is not None:
        theirs, compiled = [jax.numpy.asarray(array) for array in arrays], jax.jit(peer)
        calls.append(lambda: jax.block_until_ready(compiled(*theirs)))
    for call in calls:
        call()
    time.sleep(0.3)  # until optimized code is there
    own, eager, *others = least(calls)
    times = [f"{value:.2f}" for value in (own, eager, *others)] + [""] * (2 - len(others))
    ratios = [f"{value / own:.1f}" for value in others] + [""] * (2 - len(others))
    return f"| `{name}` | {dtype} | {' | '.join([*times, *ratios])} |\n"


def passes(dtype: str) -> str:
    """The times of softmax and of its parts, each as a function of its own."""
    x = tj.tensor(np.random.default_rng(0).uniform(-5, 5, ELEMENTS).astype(dtype))
    functions = [*map(tj.jit, PASSES.values()), tj.jit(tj.scipy.special.softmax)]
    for function in functions:
        function(x)
    time.sleep(0.3)
    *parts, whole = least([lambda function=function: function(x) for function in functions])
    listed = ", ".join(f"{name} {value:.3f}" for name, value in zip(PASSES, parts, strict=True))
    return f"- {dtype}: {listed}: together {sum(parts):.3f}, softmax {whole:.3f}\n"


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tj.set_num_threads(1)
    jax, scipy = importlib.import_module("jax"), importlib.import_module("scipy.special")
    importlib.import_module("jax.scipy.special")
    jax.config.update("jax_enable_x64", True)
    with open("/proc/cpuinfo") as lines:
        machine = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    version = importlib.import_module("scipy").__version__
    print(HEAD.format(machine=machine, scipy=version, jax=jax.__version__), end="", flush=True)
    for name in sys.argv[1:] or ARGUMENTS:
        for dtype in ("float64", "float32"):
            print(row(name, dtype, scipy, jax), end="", flush=True)
    print("\nsoftmax beside its three steps, each a jitted function of its own with a pass over memory:\n")
    print(passes("float64") + passes("float32"), end="")


if __name__ == "__main__":
    main()
