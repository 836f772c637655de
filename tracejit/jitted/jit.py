"""Functions that compile or trace a function for types of arguments: ``jit``, ``trace``, ``make_ir``,
``eval_shape``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

import numpy as np

from ..array.diagonals import trace as matrix_trace
from ..base.errors import ArgumentError, TracejitError
from ..base.loading import LazyModule
from ..ir.graph import Function
from ..loops.conversion import MODES
from ..tensors.tensor import Tensor
from .function import JitFunction
from .guard_tree.nodes import MAX_PATHS

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

if TYPE_CHECKING:
    from ..runtime import denormals

    class Jitted(JitFunction, Generic[P, R]):
        """A jitted function as type checkers see it: its parameters and its result are those of the
        function."""

        __call__: Callable[P, R]

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...
        @overload
        def __get__(
            self: Jitted[Concatenate[Any, Q], R], instance: object, owner: type | None = None
        ) -> Jitted[Q, R]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...
else:
    denormals = LazyModule("..runtime.denormals", __package__)


class _Decorator(Protocol):
    """``jit`` with its options: type checkers find the signature where it meets the function."""

    def __call__(self, fn: Callable[P, R], /) -> Jitted[P, R]: ...


@overload
def jit(
    fn: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    donate_argnames: str | Sequence[str] = ...,
    max_paths: int = ...,
    on_branch: str = ...,
    loops: str = ...,
    flush_denormals: bool = ...,
    checkpoint_every: int | None = ...,
    fastmath: bool = ...,
) -> Jitted[P, R]: ...
@overload
def jit(
    fn: None = ...,
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    donate_argnames: str | Sequence[str] = ...,
    max_paths: int = ...,
    on_branch: str = ...,
    loops: str = ...,
    flush_denormals: bool = ...,
    checkpoint_every: int | None = ...,
    fastmath: bool = ...,
) -> _Decorator: ...
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    max_paths: int = MAX_PATHS,
    on_branch: str = "path",
    loops: str = "auto",
    flush_denormals: bool = False,
    checkpoint_every: int | None = None,
    fastmath: bool = False,
) -> Any:
    """Compile `fn` to native code for the types it is called with; a decorator or a function.

    Arguments and results are pytrees of tensors, arrays and Python numbers. A change of shape, dtype or
    structure compiles again; a change of a Python number's value does not. Arguments named by
    `static_argnums` or `static_argnames` are constants: hashable, and a new value compiles again. Tensors
    that `fn` closes over are read afresh at each call, and so is what a method finds through ``self``, which
    is no argument. Python code in `fn` runs only while tracing; what it writes to its arguments, each call
    writes.

    Python code may branch on values (``if x:``, ``while x:``, ``float(x)``, indexing a list): each path that
    calls take is compiled once, up to `max_paths` of them; calls on others run as Python, and a warning says
    so. With ``on_branch="error"`` it may not.

    ``for`` and ``while`` statements become loops of the compiled code where their steps can be traced as one,
    and are unrolled otherwise, with the reason in ``explain()``; short ones are unrolled, too. With
    ``loops="compiled"`` a loop that cannot be compiled raises, with ``loops="unrolled"`` none is. See
    docs/loops.md. With ``checkpoint_every=k`` gradients of loops, but for those inside loops, keep what every
    k-th step begins with, and run k steps again at a time.

    With ``flush_denormals=True`` calls and their gradients take numbers smaller than the smallest normal one
    (1.2e-38 in float32) for zero, see `tj.flush_denormals`; of nested jitted functions the outermost decides.

    With ``fastmath=True`` sums of products are rounded once on numbers and in the steps of loops, too, as in
    code on arrays: where the machine has multiply-adds, loops of them are faster, and no longer give Python's
    bits (docs/maths.md). Nothing else is relaxed; of nested jitted functions the outermost decides.

    The memory of arguments that `donate_argnums` or `donate_argnames` name may be reused: where a result has
    an array's shape and dtype, and nothing reads the array after that result is written, the array is updated
    in place and comes back as the result (a Tensor is the result itself). So it must not be used after the
    call as what it was. An array that cannot be reused is left as it is and the result is a new one: if it
    is not writable and contiguous, shares memory with another argument, has views or a gradient, or requires
    one. ``explain()`` tells how many are reused.

    Example:
        >>> import tracejit as tj
        >>> @tj.jit
        ... def f(x, y):
        ...     return x * y + 1
        >>> f(tj.tensor([1.0, 2.0]), 3.0)
        tensor([4., 7.])
        >>> step = tj.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)
        >>> w = tj.tensor([1.0, 2.0])
        >>> step(w, tj.tensor([2.0, 2.0])) is w
        True

    Raises ConcretizationError where there are more paths, and where `fn` asks for values that cannot be known
    while tracing. Semantics: ``jax.jit``, which has no paths and makes donated arrays unusable.
    """
    if on_branch not in ("path", "error"):
        raise TracejitError(f'jit: on_branch must be "path" or "error", got {on_branch!r}')
    if not isinstance(max_paths, int) or max_paths < 1:
        raise TracejitError(f"jit: max_paths must be a positive integer, got {max_paths!r}")
    if loops not in MODES:
        raise TracejitError(f'jit: loops must be "auto", "compiled" or "unrolled", got {loops!r}')
    if not isinstance(flush_denormals, bool):
        raise TracejitError(f"jit: flush_denormals must be True or False, got {flush_denormals!r}")
    if not isinstance(fastmath, bool):
        raise TracejitError(f"jit: fastmath must be True or False, got {fastmath!r}")
    if flush_denormals:
        denormals.check_can_flush("jit")
    if checkpoint_every is not None and (type(checkpoint_every) is not int or checkpoint_every < 1):
        raise TracejitError(
            f"jit: checkpoint_every must be a positive integer or None, got {checkpoint_every!r}"
        )
    limit = max_paths if on_branch == "path" else 0
    if fn is not None and not callable(fn):
        raise TracejitError(f"jit: expected a function, got {type(fn).__name__}")

    def make(function: Callable[..., Any]) -> JitFunction:
        return JitFunction(
            function, static_argnums, static_argnames, limit, donate_argnums, donate_argnames, loops,
            flush_denormals, checkpoint_every, fastmath,
        )  # fmt: skip

    return make if fn is None else make(fn)


def trace(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The IR Function of `fn` for arguments like `args`: arrays, numbers, or ``TensorType``s.

    What `fn` closes over becomes parameters after the arguments. Given an array instead of a function, it is
    NumPy's ``trace``: the sum along a diagonal.

    Example:
        >>> import tracejit as tj
        >>> print(tj.trace(lambda x: x + 1, tj.ones(3)).results[0].type)
        f64[3]
    """
    if isinstance(fn, (Tensor, np.ndarray)):
        return matrix_trace(fn, *args, **kwargs)
    target = fn if isinstance(fn, JitFunction) else JitFunction(fn)
    return target.trace(*args, **kwargs)


def make_ir(
    fn: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[..., Function]:
    """A function of arguments like those of `fn` that returns its IR Function, as `trace` does.

    Example:
        >>> import tracejit as tj
        >>> print(tj.make_ir(lambda x: x + 1)(tj.ones(3)).results[0].type)
        f64[3]

    Semantics: ``jax.make_jaxpr``.
    """
    return _target("make_ir", fn, static_argnums, static_argnames).trace


def eval_shape(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of `fn` for arguments like `args`, each leaf as its ``TensorType``; nothing is computed.

    Arguments are arrays, numbers, or ``TensorType``s, in containers.

    Example:
        >>> import tracejit as tj
        >>> print(tj.eval_shape(lambda x, y: x @ y, tj.ones((2, 3)), tj.TensorType(tj.float64, (3, 4))))
        f64[2,4]

    Semantics: ``jax.eval_shape``.
    """
    return _target("eval_shape", fn, (), ()).result_types(*args, **kwargs)


def _target(
    name: str, fn: Any, static_argnums: int | Sequence[int], static_argnames: str | Sequence[str]
) -> JitFunction:
    if isinstance(fn, JitFunction):
        return fn
    if not callable(fn):
        raise ArgumentError(f"{name}: fn must be a function, got {fn!r}")
    return JitFunction(fn, static_argnums, static_argnames)
