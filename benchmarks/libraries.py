"""The libraries that are compared, each behind the same few names, so that a program is written once."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Library:
    """What programs use of a library. What it does not have is None, and no workload asks for it."""

    name: str
    version: str
    #: The namespace of array functions, with NumPy's names.
    np: Any
    #: Compile a function; the identity where the library does not.
    jit: Callable[[Callable[..., Any]], Callable[..., Any]]
    #: The library's own array of an ndarray, and one that eager autograd records.
    array: Callable[[Array], Any]
    variable: Callable[[Array], Any] | None = None
    #: Eager gradients: ``backward(root, cotangent)`` into the leaves' ``grad``, keeping the graph.
    backward: Callable[[Any, Any], None] | None = None
    value_and_grad: Callable[..., Any] | None = None
    logsumexp: Callable[..., Any] | None = None
    #: The namespace of ``scan`` and ``while_loop``.
    control: Any = None
    #: Blocks until a result is there, None where it always is.
    wait: Callable[[Any], Any] | None = None
    #: Of a jitted function: how the first call's milliseconds divide, as text.
    phases: Callable[[Any], str] | None = None


def _tracejit() -> Library:
    import tracejit as tj

    def variable(array: Array) -> Any:
        return tj.tensor(array).requires_grad_()

    def phases(f: Any) -> str:
        lines: list[str] = [line.strip() for line in f.explain().splitlines()]
        return next((line for line in lines if line.startswith("milliseconds:")), "")

    return Library(
        "tracejit",
        tj.__version__,
        tj,
        tj.jit,
        tj.tensor,
        variable,
        lambda root, cotangent: root.backward(cotangent, retain_graph=True),
        tj.value_and_grad,
        tj.logsumexp,
        control=tj,
        phases=phases,
    )


def _numpy() -> Library:
    return Library("numpy", np.__version__, np, lambda f: f, np.asarray)


def _jax() -> Library:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)  # NumPy's dtypes, as ours
    jnp = importlib.import_module("jax.numpy")
    return Library(
        "jax",
        jax.__version__,
        jnp,
        jax.jit,
        jnp.asarray,
        value_and_grad=jax.value_and_grad,
        logsumexp=jax.nn.logsumexp,
        control=jax.lax,
        wait=jax.block_until_ready,
    )


def _torch() -> Library:
    torch = importlib.import_module("torch")

    def variable(array: Array) -> Any:
        return torch.tensor(array, requires_grad=True)

    return Library(
        "torch",
        torch.__version__,
        torch,
        lambda f: f,
        torch.tensor,
        variable,
        lambda root, cotangent: root.backward(cotangent, retain_graph=True),
    )


OURS: Final = "tracejit"
_LOADERS: Final = {OURS: _tracejit, "jax": _jax, "numpy": _numpy, "torch": _torch}


@functools.cache
def load(name: str) -> Library | None:
    """The library, None where it is not installed. Loaded when first asked for: some take seconds."""
    try:
        return _LOADERS[name]()
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None


def leaves(result: Any) -> list[Array]:
    """The arrays of a result in nested tuples and lists, as ndarrays."""
    if isinstance(result, (tuple, list)):
        return [leaf for one in result for leaf in leaves(one)]
    if hasattr(result, "detach"):
        result = result.detach()
    return [np.asarray(result)]
