"""The libraries that are compared, each behind the same few names, so that a program is written once."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np

from .control import python_control
from .limits.c_library import CLibrary, MissingCompilerError, pointer

Array = np.ndarray[Any, Any]

OURS: Final = "tracejit"
#: Rows of tracejit with `flush_denormals`: what JAX does always.
FLUSHING: Final = "tracejit-flushing"
COMPILED_TORCH: Final = "torch.compile"
#: C of our own, compiled for the machine; its arrays are pointers.
HANDWRITTEN: Final = "c"
#: Every library, ours first, in the order of the tables.
LIBRARIES: Final = (OURS, "jax", "torch", COMPILED_TORCH, "numba", "numpy")


def peers_option(parser: argparse.ArgumentParser, default: str = "") -> None:
    """Add ``--peers``, whose value is for `chosen_peers`."""
    parser.add_argument("--peers", metavar="A,B", default=default, help="peers to show in the same table")


def chosen_peers(parser: argparse.ArgumentParser, names: str) -> tuple[str, ...]:
    """The peers that are named, with commas between; the parser's error where one is unknown."""
    peers = tuple(filter(None, names.split(",")))
    if unknown := set(peers) - set(LIBRARIES):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(LIBRARIES[1:])}")
    return peers


@dataclass(frozen=True, slots=True)
class Library:
    """Functions of a library that programs use. A missing one is None, and no workload asks for it."""

    name: str
    version: str
    #: NumPy's names, and ``erf``, ``erfc``, ``rsqrt``, ``sigmoid``, ``softplus``, ``logsumexp``,
    #: ``index_add``, ``conv2d``, ``expm``, ``solve_triangular`` (lower), ``lu_factor``; for numba the
    #: module itself, for C a `CLibrary`.
    np: Any
    #: Compile a function; the identity where the library does not.
    jit: Callable[[Callable[..., Any]], Callable[..., Any]]
    #: The library's own array of an ndarray, and one that eager autograd records.
    array: Callable[[Array], Any]
    variable: Callable[[Array], Any] | None = None
    #: Eager gradients: ``backward(root, cotangent)`` into the leaves' ``grad``, keeping the graph.
    backward: Callable[[Any, Any], None] | None = None
    #: ``value_and_grad(f, argnums)``: a function that returns the value and a tuple of gradients.
    value_and_grad: Callable[[Callable[..., Any], tuple[int, ...]], Callable[..., Any]] | None = None
    #: The namespace of ``scan``, ``while_loop`` and ``fori_loop``.
    control: Any = None
    #: ``vmap(f)`` over the first axis.
    vmap: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
    #: Blocks until a result is there, None where it always is.
    wait: Callable[[Any], Any] | None = None
    #: Blocks until code that is improved in the background is as good as it gets, None where there is none.
    settle: Callable[[], Any] | None = None

    def put(self, x: Any, key: Any, value: Any) -> Any:
        """`x` with elements written; in place by NumPy: programs write to arrays of their own alone."""
        if self.name != "numpy":
            return x.at[key].set(value)
        x[key] = value
        return x


def _names(base: Any, **more: Any) -> ModuleType:
    """The public names of `base` with `more` in their places."""
    names = ModuleType(base.__name__)
    public = {name: getattr(base, name) for name in dir(base) if not name.startswith("_")}
    vars(names).update(public, **more)
    return names


def _tracejit() -> Library:
    import tracejit as tj
    from tracejit.dispatch import native_ops
    from tracejit.runtime.tiers import BACKGROUND

    def settle() -> None:
        native_ops.load()
        BACKGROUND.wait()

    def variable(array: Array) -> Any:
        return tj.tensor(array).requires_grad_()

    names = _names(
        tj,
        sigmoid=tj.nn.sigmoid,
        softplus=tj.nn.softplus,
        conv2d=lambda x, w, stride=1: tj.nn.conv2d(x, w, stride=stride, padding=w.shape[2] // 2),
        expm=tj.scipy.linalg.expm,
        lu_factor=tj.scipy.linalg.lu_factor,
        solve_triangular=lambda a, b: tj.scipy.linalg.solve_triangular(a, b, lower=True),
    )
    return Library(
        OURS,
        tj.__version__,
        names,
        tj.jit,
        tj.tensor,
        variable,
        lambda root, cotangent: root.backward(cotangent, retain_graph=True),
        tj.value_and_grad,
        control=tj,
        settle=settle,
        vmap=tj.vmap,
    )


def _flushing() -> Library:
    ours = _tracejit()
    return dataclasses.replace(ours, name=FLUSHING, jit=functools.partial(ours.jit, flush_denormals=True))


def _power_series(a: Array) -> Array:
    """The exponential of matrices whose norms are below 2^10 or so, where there is no SciPy."""
    term = result = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for power in range(1, 20):
        term = term @ a / (1024 * power)
        result = result + term
    return np.linalg.matrix_power(result, 1024)


def _numpy() -> Library:
    try:
        special = importlib.import_module("scipy.special")
        erf, erfc, sigmoid = special.erf, special.erfc, special.expit
    except ModuleNotFoundError:
        erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)
        sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731

    def logsumexp(x: Array, axis: int, *, keepdims: bool = False) -> Any:
        top = np.max(x, axis=axis, keepdims=True)
        total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
        return total if keepdims else np.squeeze(total, axis)

    def index_add(x: Array, index: Array, values: Array) -> Array:
        result = x.copy()
        np.add.at(result, index, values)
        return result

    def conv2d(x: Array, w: Array, stride: int = 1) -> Array:
        around = (w.shape[2] // 2,) * 2
        padded = np.pad(x, ((0, 0), (0, 0), around, around))
        windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))
        return np.einsum("nchwij,ocij->nohw", windows[:, :, ::stride, ::stride], w, optimize=True)

    try:
        scipy = importlib.import_module("scipy.linalg")
        expm, solve_triangular = scipy.expm, functools.partial(scipy.solve_triangular, lower=True)
        lu_factor = scipy.lu_factor
    except ModuleNotFoundError:
        expm, solve_triangular, lu_factor = _power_series, np.linalg.solve, None

    names = _names(
        np,
        erf=erf,
        erfc=erfc,
        rsqrt=lambda x: 1 / np.sqrt(x),
        sigmoid=sigmoid,
        softplus=lambda x: np.logaddexp(x, x.dtype.type(0)),
        logsumexp=logsumexp,
        index_add=index_add,
        conv2d=conv2d,
        expm=expm,
        solve_triangular=solve_triangular,
        lu_factor=lu_factor,
    )
    return Library(
        "numpy",
        np.__version__,
        names,
        lambda f: f,
        np.asarray,
        control=python_control(np.stack),
        vmap=lambda f: lambda x: np.stack([f(example) for example in x]),
    )


def _jax() -> Library:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)  # NumPy's dtypes, as ours
    jnp = importlib.import_module("jax.numpy")

    def index_add(x: Any, index: Any, values: Any) -> Any:
        return x.at[index].add(values)

    def conv2d(x: Any, w: Any, stride: int = 1) -> Any:
        around = (w.shape[2] // 2,) * 2
        return jax.lax.conv_general_dilated(x, w, (stride, stride), (around, around))

    names = _names(
        jnp,
        erf=jax.scipy.special.erf,
        erfc=jax.scipy.special.erfc,
        rsqrt=jax.lax.rsqrt,
        sigmoid=jax.nn.sigmoid,
        softplus=jax.nn.softplus,
        logsumexp=jax.nn.logsumexp,
        index_add=index_add,
        conv2d=conv2d,
        expm=jax.scipy.linalg.expm,
        solve_triangular=functools.partial(jax.scipy.linalg.solve_triangular, lower=True),
        lu_factor=jax.scipy.linalg.lu_factor,
    )
    return Library(
        "jax",
        jax.__version__,
        names,
        jax.jit,
        jnp.asarray,
        value_and_grad=jax.value_and_grad,
        control=jax.lax,
        vmap=jax.vmap,
        wait=jax.block_until_ready,
    )


def _torch_names(torch: Any) -> ModuleType:
    def along(reduction: Any) -> Callable[..., Any]:
        return lambda x, axis=None, keepdims=False: (
            reduction(x) if axis is None else reduction(x, axis, keepdim=keepdims)
        )

    def either(of_two: Any, least_or_most: str) -> Callable[[Any, Any], Any]:
        def apply(x: Any, y: Any) -> Any:
            return of_two(x, y) if isinstance(y, torch.Tensor) else torch.clamp(x, **{least_or_most: y})

        return apply

    return _names(
        torch,
        max=along(torch.amax),
        min=along(torch.amin),
        var=lambda x, axis: torch.var(x, axis, correction=0),
        sort=lambda x: torch.sort(x).values,
        maximum=either(torch.maximum, "min"),
        minimum=either(torch.minimum, "max"),
        power=torch.pow,
        softplus=torch.nn.functional.softplus,
        take=lambda x, index: x[index],
        index_add=lambda x, index, values: torch.index_add(x, 0, index, values),
        pad=lambda x, width: torch.nn.functional.pad(x, (width,) * (2 * x.ndim)),
        conv2d=lambda x, w, stride=1: torch.nn.functional.conv2d(
            x, w, stride=stride, padding=w.shape[2] // 2
        ),
        logsumexp=lambda x, axis, keepdims=False: torch.logsumexp(x, axis, keepdim=keepdims),
        expm=torch.linalg.matrix_exp,
        solve_triangular=lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
    )


def _torch() -> Library:
    torch = importlib.import_module("torch")

    def variable(array: Array) -> Any:
        return torch.tensor(array, requires_grad=True)

    def value_and_grad(f: Callable[..., Any], argnums: tuple[int, ...]) -> Callable[..., Any]:
        tree = importlib.import_module("torch.utils._pytree")

        def both(*args: Any) -> Any:
            flat, form = tree.tree_flatten([args[i] for i in argnums])
            flat = [leaf.detach().requires_grad_() for leaf in flat]
            fresh = dict(zip(argnums, tree.tree_unflatten(flat, form), strict=True))
            value = f(*(fresh.get(i, argument) for i, argument in enumerate(args)))
            gradients = torch.autograd.grad(value, flat)
            return value.detach(), tuple(tree.tree_unflatten(list(gradients), form))

        return both

    return Library(
        "torch",
        str(torch.__version__),  # a class of its own is no text elsewhere
        _torch_names(torch),
        lambda f: f,
        torch.tensor,
        variable,
        lambda root, cotangent: root.backward(cotangent, retain_graph=True),
        value_and_grad,
        control=python_control(torch.stack),
    )


def _torch_compile() -> Library:
    torch = importlib.import_module("torch")

    def value_and_grad(f: Callable[..., Any], argnums: tuple[int, ...]) -> Callable[..., Any]:
        both = torch.func.grad_and_value(f, argnums=argnums)

        def ordered(*args: Any) -> Any:
            gradients, value = both(*args)
            return value, gradients

        return ordered

    def compiled(f: Callable[..., Any]) -> Callable[..., Any]:
        torch.compiler.reset()  # it counts compilations by line of source, and refuses the ninth
        result: Callable[..., Any] = torch.compile(f, fullgraph=True, dynamic=False)
        return result

    return Library(
        COMPILED_TORCH,
        str(torch.__version__),  # a class of its own is no text elsewhere
        _torch_names(torch),
        compiled,
        torch.tensor,
        value_and_grad=value_and_grad,
        control=python_control(torch.stack),
    )


def _numba() -> Library:
    numba = importlib.import_module("numba")
    return Library("numba", numba.__version__, numba, lambda f: f, np.asarray, control=SimpleNamespace())


def _handwritten() -> Library:
    library = CLibrary()
    return Library(HANDWRITTEN, library.version, library, lambda f: f, pointer)


_LOADERS: Final = {
    OURS: _tracejit,
    FLUSHING: _flushing,
    "jax": _jax,
    "numpy": _numpy,
    "torch": _torch,
    COMPILED_TORCH: _torch_compile,
    "numba": _numba,
    HANDWRITTEN: _handwritten,
}


@functools.cache
def load(name: str) -> Library | None:
    """The library, None where it is not installed. Loaded when first asked for: some take seconds."""
    try:
        return _LOADERS[name]()
    except MissingCompilerError:
        return None
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "torch", "numba"):
            raise
        return None


def leaves(result: Any) -> list[Array]:
    """The arrays of a result in nested tuples and lists, as ndarrays."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    if hasattr(result, "detach"):
        result = result.detach()
    return [np.asarray(result)]
