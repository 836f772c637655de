"""JAX as a namespace `xp`, where it is installed: its values and gradients beside NumPy's and ours.

JAX has no writes in place and promotes integers otherwise, so it is asked about programs in float64 alone,
and only values are compared. A difference is looked at by a person: it may be JAX's.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from .comparing import Mismatch, Skipped
from .gradients import Derivatives
from .subject import Subject

#: Features that differ by design: integer promotion, indices outside, ties, strings for Python's numbers.
UNLIKE = (
    "special",
    "float32",
    "float16",
    "write",
    "written argument",
    "branch",
    "iteration",
    "stop_gradient",
)


class _Namespace(types.SimpleNamespace):
    """JAX's functions; a program that asks for what JAX does not have is skipped."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        super().__init__(**functions)

    def __getattr__(self, name: str) -> Any:
        raise Skipped


def is_installed() -> bool:
    return importlib.util.find_spec("jax") is not None


def namespace() -> Any:
    """The functions of programs, by JAX."""
    jax = importlib.import_module("jax")
    jnp = importlib.import_module("jax.numpy")
    lax, special = jax.lax, importlib.import_module("jax.scipy.special")
    jax.config.update("jax_enable_x64", True)
    xp = _Namespace(vars(jnp))
    names = (
        "cond",
        "switch",
        "while_loop",
        "fori_loop",
        "scan",
        "associative_scan",
        "map",
        "stop_gradient",
        "rsqrt",
    )
    for name in names:
        setattr(xp, name, getattr(lax, name))
    for name in ("vmap", "custom_vjp", "custom_jvp", "jit"):
        setattr(xp, name, getattr(jax, name))

    def ordered(name: str) -> Any:
        function = getattr(lax, name)
        return lambda x, axis, reverse=False: function(jnp.asarray(x), axis % x.ndim, reverse)

    def cumsum(x: Any, axis: Any = None, reverse: bool = False) -> Any:
        return jnp.flip(jnp.cumsum(jnp.flip(x, axis), axis), axis) if reverse else jnp.cumsum(x, axis)

    functions: dict[str, Any] = {
        "checkpoint": lambda f, *x: jax.checkpoint(f)(*x), "erf": special.erf, "erfc": special.erfc,
        "cummax": ordered("cummax"), "cummin": ordered("cummin"), "cumsum": cumsum,
        "logsumexp": special.logsumexp, "flatten": jnp.ravel,  "array": jnp.array,
        "index_update": lambda x, at, value: x.at[at].set(value),
        "index_add": lambda x, at, value: x.at[at].add(value),
    }  # fmt: skip
    for name, function in functions.items():
        setattr(xp, name, function)
    xp.nn = _Namespace(vars(jax.nn))
    xp.nn.gelu = functools.partial(jax.nn.gelu, approximate=False)  # its default is the one by tanh
    return xp


def beside_jax(subject: Subject) -> None:
    """JAX's values against NumPy's, and its gradients against ours."""
    if not is_installed() or subject.has(*UNLIKE) or not subject.double:
        raise Skipped
    jax, xp = importlib.import_module("jax"), namespace()
    function, _ = subject.fresh(xp)
    try:
        results = function(*map(xp.asarray, subject.arguments()))
    except NotImplementedError:
        raise Skipped from None
    for position, (got, expected, tolerance) in enumerate(
        zip(results, subject.expected, subject.tolerances, strict=True)
    ):
        got = np.asarray(got)
        if got.shape != expected.shape:
            raise Mismatch(f"JAX's shape: {got.shape} instead of {expected.shape} (result {position})")
        apart = np.abs(got.astype(np.float64) - expected.astype(np.float64)).max(initial=0)
        if not apart <= 10 * tolerance + 1e-13:
            raise Mismatch(f"JAX's value: {apart} from NumPy's, +- {tolerance:.1e} (result {position})")
    d = Derivatives(subject)
    loss = subject.loss(function, xp)
    try:
        gradients = jax.grad(loss, argnums=d.argnums)(*map(xp.asarray, d.floats))
    except NotImplementedError:
        raise Skipped from None
    except ValueError as error:
        if "Reverse-mode differentiation does not work" not in str(error):
            raise
        raise Skipped from None
    ways = [d.backward(d.moved(amount)) for amount in (1e-6, -1e-6)]
    if any(np.abs(g - h).max(initial=0) > 1e-3 * (1 + d.largest) for g, h in zip(*ways, strict=True)):
        return  # a kink, where conventions differ
    for position, (got, ours) in enumerate(zip(gradients, d.gradients, strict=True)):
        apart = np.abs(np.asarray(got) - ours).max(initial=0)
        if not apart <= 10 * d.tolerance and not subject.has("exact"):
            raise Mismatch(f"JAX's gradient: {apart} from ours, +- {d.tolerance:.1e} (argument {position})")
