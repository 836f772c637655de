"""A script whose functions go to other processes: ``python functions.py WAY``, or a module: ``run(WAY)``.

`WAYS` says how they are sent. Each must give there what it gives here, by the machine code that lies on
disk.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import tracejit as tj

SCALE = 3.0


@tj.jit
def scaled(x):
    return x.sum() * SCALE


def loss(w):
    return (w * w).sum() * tj.tensor(0.5)


@tj.jit
def steps(w):
    for _ in range(100):
        w = w - 0.01 * slope(w)
    return w


@tj.jit(static_argnames="power")
def powers(x, power=2):
    return (x**power).sum()


class Model:
    def __init__(self, factor):
        self.factor = factor

    @tj.jit
    def predict(self, x):
        return (self.factor * x).sum()


slope = tj.grad(loss)
jitted_slope = tj.jit(tj.grad(loss))
curvature = tj.hessian(scaled)
#: Functions that the standard library can pickle: everything that has a name, and what is made of it.
NAMED = {
    "jitted": scaled,
    "transform": slope,
    "jitted transform": jitted_slope,
    "of transforms": curvature,
    "mapped": tj.vmap(scaled, in_axes=None, axis_size=2),
    "of elements": tj.elementwise_grad(loss),
    "loop": steps,
    "with static arguments": partial(powers, power=3),
    "method": Model(2.0).predict,
    "plain": tj.value_and_grad(loss),
}


def unnamed() -> dict[str, Any]:
    """Functions that only cloudpickle can pickle."""
    offset = tj.tensor(1.0)

    @tj.jit
    def inner(x):
        return (x + offset).sum() * SCALE

    return {
        "lambda": tj.jit(lambda x: (x * SCALE).sum()),
        "closure": inner,
        "grad of a lambda": tj.grad(lambda x: (x * x).sum() * SCALE),
    }


def numbers(tree: Any) -> Any:
    """Nested lists of numbers, for what functions return."""
    return [numbers(leaf) for leaf in tree] if isinstance(tree, tuple) else np.asarray(tree).tolist()


def called(function: Callable[..., Any]) -> tuple[Any, bool]:
    """The result of `function` for an array, and whether LLVM was loaded here to compile it."""
    return numbers(function(np.arange(1.0, 4.0))), "llvmlite.binding" in sys.modules


def by_pool(method: str) -> dict[str, Any]:
    with multiprocessing.get_context(method).Pool(1) as pool:
        return dict(zip(NAMED, pool.map(called, NAMED.values()), strict=True))


def by_futures() -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        futures = {name: executor.submit(called, function) for name, function in NAMED.items()}
        return {name: future.result() for name, future in futures.items()}


def by_joblib() -> dict[str, Any]:
    from joblib import Parallel, delayed

    functions = {**NAMED, **unnamed()}
    results = Parallel(n_jobs=2)(delayed(called)(function) for function in functions.values())
    return dict(zip(functions, results, strict=True))


def by_dask() -> dict[str, Any]:
    from distributed import Client

    functions = {**NAMED, **unnamed()}
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        futures = {name: client.submit(called, function, pure=False) for name, function in functions.items()}
        return {name: future.result() for name, future in futures.items()}


def by_ray() -> dict[str, Any]:
    import ray

    functions = {**NAMED, **unnamed()}
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        task = ray.remote(called)
        return dict(zip(functions, ray.get([task.remote(f) for f in functions.values()]), strict=True))
    finally:
        ray.shutdown()


WAYS: dict[str, Callable[[], dict[str, Any]]] = {
    "fork": partial(by_pool, "fork"),
    "spawn": partial(by_pool, "spawn"),
    "forkserver": partial(by_pool, "forkserver"),
    "futures": by_futures,
    "joblib": by_joblib,
    "dask": by_dask,
    "ray": by_ray,
}


def run(way: str) -> None:
    """Compile all functions here, send them, and compare."""
    here = {name: called(function)[0] for name, function in {**NAMED, **unnamed()}.items()}
    for name, (values, compiled) in WAYS[way]().items():
        assert values == here[name], (name, values, here[name])
        assert way == "fork" or not compiled, f"{name} was compiled again"
    print("all equal")


if __name__ == "__main__":
    run(sys.argv[1])
