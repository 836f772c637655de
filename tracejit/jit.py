"""``jit``: compile a function for the types it is called with.

A call goes through three doors. The native entry of a signature checks and runs everything in machine code.
What it does not recognise comes to `_slow`, which flattens the arguments and looks for a compiled signature;
and a new signature is traced and compiled. Under a trace, or with ``disable_jit``, the function just runs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .argument_writes import ArgumentWrites, WatchedArguments
from .array.diagonals import trace as matrix_trace
from .branches import Branches
from .calls import CompiledFunction
from .captures import locate
from .disabling import jit_is_disabled
from .entries import make_entries
from .ir.dtypes import default_dtype
from .ir.errors import TraceError, TracejitError
from .ir.graph import Function
from .ir.locks import ForkLock
from .ir.types import TensorType
from .paths import MAX_PATHS, Paths
from .pytree import TreeDef, flatten, leaf_paths
from .reasons import argument_names, reason_for
from .shared_paths import SharedPaths
from .signatures import (
    MISS,
    Signature,
    as_input,
    broken_guard,
    captured_now,
    check_ranges,
    checked_results,
    donated_leaves,
    leaf_type,
    miss,
    native,
    parameter_names,
    selected_arguments,
    split_static,
    symbol_type,
    with_static,
    writing_entry,
)
from .state import STATE
from .tensor import Tensor
from .tracing import Traced, trace_flat
from .viewable import Viewable
from .watched import watch

if TYPE_CHECKING:
    from .explaining import Explanation
    from .lowered import Lowered

#: How many native entries are tried one after the other before the slow path looks the signature up.
_CHAIN = 6


class JitFunction(Viewable):
    """A function that compiles itself for the types it is called with. Made by ``tj.jit``."""

    # An instance's own ``__call__``, found through the class: the native entry without a Python frame around.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(
        self,
        fn: Callable[..., Any],
        static_argnums: int | Sequence[int] = (),
        static_argnames: str | Sequence[str] = (),
        max_paths: int = MAX_PATHS,
        donate_argnums: int | Sequence[int] = (),
        donate_argnames: str | Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fn)
        self._max_paths = max_paths
        self._fn = fn
        static = selected_arguments(fn, "static", static_argnums, static_argnames)
        self._static_argnums, self._static_argnames = static
        self._donated = selected_arguments(fn, "donate", donate_argnums, donate_argnames)
        both = sorted(map(str, (static[0] & self._donated[0]) or (static[1] & self._donated[1])))
        if both:
            raise TracejitError(f"jit: argument {both[0]} cannot be both static and donated")
        self._lock = ForkLock()
        self._signatures: dict[Any, Signature] = {}
        self._by_structure: dict[Any, Signature] = {}
        self._paths: dict[Any, Paths] = {}
        self._entry: Any = None
        self._use(None)
        self._chained, self._first = 0, "first call"
        watch(self)

    def _use(self, entry: Any) -> None:
        """Let calls begin at the native `entry`, or at the slow path where it is None."""
        self._entry = entry
        self.__call__ = self._slow if entry is None else entry

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {getattr(self._fn, '__qualname__', self._fn)!s}, {len(self._signatures)} signatures>"

    def __reduce__(self) -> str:
        """As of functions: a copy is the function itself, and a pickle says where it is found."""
        return str(getattr(self, "__qualname__", self))

    # -- calling ----------------------------------------------------------------------------------

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        if STATE.tracer is not None or jit_is_disabled():
            return self._fn(*args, **kwargs)
        static, dynamic = self._split(args, kwargs)
        leaves, structure = flatten(dynamic)
        likely = self._by_structure.get((structure, static, default_dtype()))
        if likely is not None:
            results = native(likely, leaves)
            if results is not MISS:
                return results
        leaf_types = tuple([leaf_type(self._name, leaf, i, dynamic) for i, leaf in enumerate(leaves)])
        key = (structure, leaf_types, static, default_dtype())
        with self._lock:
            signature = self._signatures.get(key)
            captured = None if signature is None else captured_now(signature)
            if signature is None or captured is None:
                reason = self._reason(key) if signature is None else broken_guard(signature)
                before = [*signature.earlier, signature.reason] if signature is not None else []
                signature = self._signatures[key] = self._compile(args, kwargs, key, leaves, reason)
                signature.earlier = before
                if signature.decisions:
                    self._paths[key] = Paths(self._name, signature, self._max_paths, self._enter_shared)
                captured = captured_now(signature)
                if captured is None:
                    raise TraceError(
                        f"{self._name}: a tensor that the function closes over changed while it was traced"
                    )
            self._by_structure[(structure, static, default_dtype())] = signature
            if not (signature.entered or signature.decisions):
                self._enter(signature, [*leaves, *captured])
                likely = None
        if signature.decisions:
            return self._paths[key].call(
                dynamic,
                leaves,
                lambda prefix, reason: self._compile(args, kwargs, key, leaves, reason, prefix),
                lambda: self._fn(*args, **kwargs),
            )
        if signature is not likely:
            results = native(signature, leaves)
            if results is not MISS:
                return results
        check_ranges(self._name, signature, leaves)
        inputs = [as_input(leaf) for leaf in leaves] + captured
        return signature.run(dynamic, leaves, inputs)

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Static arguments as a hashable tuple, and the others."""
        if not self._static_argnums and not self._static_argnames:
            return (), (args, kwargs)
        return split_static(self._name, args, kwargs, self._static_argnums, self._static_argnames)

    @property
    def _name(self) -> str:
        return getattr(self._fn, "__name__", "f")

    # -- compiling --------------------------------------------------------------------------------

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], prefix: Sequence[Any] = ()) -> Traced:
        """The Function, what it captures, and (as `rest`) its result's structure and its `ArgumentWrites`.
        Where the arguments have values, Python code may ask for them; `prefix` are the first answers."""
        _, dynamic = self._split(args, kwargs)
        leaves, structure = flatten(dynamic)
        types = [leaf_type(self._name, leaf, i, dynamic) for i, leaf in enumerate(leaves)]
        paths = leaf_paths(structure.unflatten([0] * structure.leaves))
        names = parameter_names(self._fn, paths, self._static_argnums)
        donated = self._donated_leaves(structure)

        def run(*symbols: Tensor) -> tuple[list[Any], tuple[TreeDef, ArgumentWrites | None]]:
            watched = WatchedArguments(self._name, structure, symbols, donated, argument_name)
            positional, named = watched.arguments
            result = self._fn(*with_static(args, positional, self._static_argnums), **{**kwargs, **named})
            results, result_structure = checked_results(self._name, result)
            return results, (result_structure, watched.writes(results))

        def argument_name(position: int) -> str:
            return argument_names(self._fn, self._static_argnums, structure)[position]

        run.__name__ = self._name if self._name.isidentifier() else "lambda"
        outer = STATE.recording, STATE.blocked
        STATE.recording, STATE.blocked = True, False
        try:
            symbols = [(*symbol_type(one), name) for one, name in zip(types, names, strict=True)]
            return trace_flat(run, symbols, self._branches(leaves, prefix))
        finally:
            STATE.recording, STATE.blocked = outer

    def _branches(self, leaves: list[Any], prefix: Sequence[Any]) -> Branches | None:
        """The values that Python code may ask for, None where it may not or there are none."""
        if self._max_paths == 0 or any(isinstance(leaf, TensorType) for leaf in leaves):
            return None
        return Branches([as_input(leaf) for leaf in leaves], prefix)

    def _donated_leaves(self, structure: TreeDef) -> frozenset[int]:
        return donated_leaves(structure, self._static_argnums, *self._donated)

    def _compile(
        self, args: Any, kwargs: Any, key: Any, leaves: list[Any], reason: str, prefix: Sequence[Any] = ()
    ) -> Signature:
        """Trace and compile for these arguments; with `prefix`, the path that begins with such decisions."""
        start = time.perf_counter()
        traced = self._trace(args, kwargs, prefix)
        seconds = time.perf_counter() - start
        structure, leaf_types, static, _ = key
        bindings = locate(self._fn, traced.captured, [value for _, _, value, _ in static])
        donated = self._donated_leaves(structure)
        result, writes = traced.rest
        compiled = CompiledFunction(traced.function, donated | (writes.positions if writes else frozenset()))
        signature = Signature(
            structure, leaf_types, static, traced.function, compiled, bindings, result, traced.ranges
        )
        signature.writes = writes
        signature.reason, signature.decisions, signature.donated = reason, traced.decisions, donated
        signature.milliseconds = {"trace": seconds * 1e3}
        return signature

    def _enter(self, signature: Signature, inputs: Sequence[Any]) -> None:
        """Make the native entries of `signature`, at the first call that needs no gradients."""
        if any(isinstance(one, Tensor) and one._requires_grad for one in inputs):
            return None
        signature.entered = True
        if signature.writes is not None:
            return self._use(writing_entry(signature, self._next_entry) or self._entry)
        signature.flat_entry, direct = make_entries(signature, miss, self._next_entry)
        if direct is not None:
            self._use(direct)

    def _enter_shared(self, shared: SharedPaths) -> None:
        """Make the native entry of paths that were compiled together."""
        if shared.direct is not None:
            self._use(shared.entry(self._next_entry()))

    def _next_entry(self) -> Any:
        """What a new entry calls where it does not fit: the one before, and at times the slow path."""
        self._chained += 1
        earlier = self._entry if self._chained % _CHAIN else None
        return earlier or self._slow

    def _reason(self, key: Any) -> str:
        """Why this signature is compiled although there are others."""
        if not self._signatures:
            return self._first
        return reason_for(self._fn, self._static_argnums, list(self._signatures), key)

    # -- looking inside ---------------------------------------------------------------------------

    def trace(self, *args: Any, **kwargs: Any) -> Function:
        """The IR Function for these arguments (arrays, numbers, or ``TensorType``s), before any pass."""
        return self._trace(args, kwargs).function

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function at every stage of compilation, as text: ``f.lower(x).as_text("loops")``."""
        from .lowered import Lowered

        return Lowered(self.trace(*args, **kwargs))

    def explain(self) -> Explanation:
        """What was compiled and why, guards and paths, compile times, and what is not native code.

        It is a str with the same as data: see `explaining.Explanation`.

        Example:
            >>> import tracejit as tj
            >>> f = tj.jit(lambda x: x + 1)
            >>> _ = f(tj.ones(3)), f(tj.ones(4))
            >>> print(f.explain().splitlines()[0])
            <lambda>: 2 signatures compiled
            >>> print(f.explain().signatures[1].reason)
            argument x changed from f64[3] to f64[4]
        """
        with self._lock:
            every = [(one, self._paths.get(key)) for key, one in self._signatures.items()]
        module: Any = import_module(".explaining", __package__)  # for those who look inside
        made: Explanation = module.explain(self._fn, self._name, self._static_argnums, every)
        return made

    def clear_cache(self, reason: str = "first call") -> None:
        """Forget every compiled signature. `reason` is what ``explain()`` gives for compiling the next."""
        with self._lock:
            self._first = reason
            self._signatures.clear()
            self._by_structure.clear()
            self._paths.clear()
            self._use(None)


@overload
def jit(
    fn: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    donate_argnames: str | Sequence[str] = ...,
    max_paths: int = ...,
    on_branch: str = ...,
) -> JitFunction: ...
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
) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    max_paths: int = MAX_PATHS,
    on_branch: str = "path",
) -> Any:
    """Compile `fn` to native code for the types it is called with; a decorator or a function.

    Arguments and results are pytrees of tensors, arrays and Python numbers. A change of shape, dtype or
    structure compiles again; a change of a Python number's value does not. Arguments named by
    `static_argnums` or `static_argnames` are constants: hashable, and a new value compiles again. Tensors
    that `fn` closes over are read afresh at each call. Python code in `fn` runs only while tracing; what it
    writes to its arguments, each call writes.

    Python code may branch on values (``if x:``, ``while x:``, ``float(x)``, indexing a list): each path that
    calls take is compiled once, up to `max_paths` of them. With ``on_branch="error"`` it may not.

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
    limit = max_paths if on_branch == "path" else 0
    if fn is not None and not callable(fn):
        raise TracejitError(f"jit: expected a function, got {type(fn).__name__}")

    def make(function: Callable[..., Any]) -> JitFunction:
        return JitFunction(function, static_argnums, static_argnames, limit, donate_argnums, donate_argnames)

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
