"""``jit``: compile a function for the types it is called with.

A call goes through three doors. The native entry of a signature checks and runs everything in machine code.
What it does not recognise comes to `_slow`, which flattens the arguments and looks for a compiled signature;
and a new signature is traced and compiled. Under a trace, or with ``disable_jit``, the function just runs.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, overload

import numpy as np

from .array.diagonals import trace as matrix_trace
from .calls import CompiledFunction, call
from .captures import locate
from .entries import make_entries
from .ir.dtypes import as_dtype, default_dtype
from .ir.errors import DTypeError, TraceError, TracejitError
from .ir.graph import Function, Value
from .ir.types import TensorType
from .lowered import Lowered
from .pytree import TreeDef, flatten, leaf_paths
from .runtime.bypass import bypass_native_entries
from .signatures import (
    MISS,
    SCALARS,
    LeafType,
    Signature,
    as_input,
    broken_guard,
    check_ranges,
    miss,
    native,
    parameter_names,
    read_captures,
    static_arguments,
    static_key,
    static_text,
    symbol_type,
    type_text,
)
from .state import STATE
from .tensor import Tensor
from .tracing import Traced, scalar_type, trace_flat
from .watched import watch

#: How many native entries are tried one after the other before the slow path looks the signature up.
_CHAIN = 6
_disabled = threading.local()


class JitFunction:
    """A function that compiles itself for the types it is called with. Made by ``tj.jit``."""

    def __init__(
        self,
        fn: Callable[..., Any],
        static_argnums: Sequence[int] = (),
        static_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._static_argnums, self._static_argnames = static_arguments(fn, static_argnums, static_argnames)
        self._lock = threading.RLock()
        self._signatures: dict[Any, Signature] = {}
        self._by_structure: dict[Any, Signature] = {}
        self._entry: Any = None
        self._chained, self._first = 0, "first call"
        watch(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entry = self._entry
        if entry is not None and not kwargs:
            return entry(*args)
        return self._slow(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {getattr(self._fn, '__qualname__', self._fn)!s}, {len(self._signatures)} signatures>"

    # -- calling ----------------------------------------------------------------------------------

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        if STATE.tracer is not None or getattr(_disabled, "on", False):
            return self._fn(*args, **kwargs)
        static, dynamic = self._split(args, kwargs)
        leaves, structure = flatten(dynamic)
        likely = self._by_structure.get((structure, static, default_dtype()))
        if likely is not None:
            results = native(likely, leaves)
            if results is not MISS:
                return results
        leaf_types = tuple([self._leaf_type(leaf, i, dynamic) for i, leaf in enumerate(leaves)])
        key = (structure, leaf_types, static, default_dtype())
        with self._lock:
            signature = self._signatures.get(key)
            captured = None if signature is None else read_captures(signature)
            if signature is None or captured is None:
                reason = self._reason(key) if signature is None else broken_guard(signature)
                signature = self._compile(args, kwargs, key, leaves, reason)
                captured = read_captures(signature)
                if captured is None:
                    raise TraceError(
                        f"{self._name}: a tensor that the function closes over changed while it was traced"
                    )
            self._by_structure[(structure, static, default_dtype())] = signature
        if signature is not likely:
            results = native(signature, leaves)
            if results is not MISS:
                return results
        check_ranges(self._name, signature, leaves)
        inputs = [as_input(leaf) for leaf in leaves] + captured
        return signature.result.unflatten(call(signature.compiled, inputs))

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Static arguments as a hashable tuple, and the others."""
        if not self._static_argnums and not self._static_argnames:
            return (), (args, kwargs)
        static: list[tuple[Any, Any]] = []
        positional = []
        for position, value in enumerate(args):
            if position in self._static_argnums:
                static.append((position, value))
            else:
                positional.append(value)
        named = {}
        for name, value in kwargs.items():
            if name in self._static_argnames:
                static.append((name, value))
            else:
                named[name] = value
        keys = tuple([static_key(self._name, which, value) for which, value in static])
        return keys, (tuple(positional), named)

    @property
    def _name(self) -> str:
        return getattr(self._fn, "__name__", "f")

    def _leaf_type(self, leaf: Any, position: int, dynamic: Any) -> LeafType:
        if type(leaf) is Tensor or isinstance(leaf, (Tensor, np.ndarray, np.generic)):
            data = leaf._data if isinstance(leaf, Tensor) else np.asarray(leaf)
            if isinstance(data, Value):
                raise TraceError(
                    f"{self._name}: argument {self._path(position, dynamic)} is a traced tensor of type "
                    f"{data.type} that outlived its trace; return it from the function instead of storing it"
                )
            return (self._checked_dtype(data.dtype, position, dynamic), data.shape)
        scalar = SCALARS.get(type(leaf))
        if scalar is not None:
            if scalar == "int":
                scalar_type(leaf)  # raises where it does not fit 64 bits
            return scalar
        if isinstance(leaf, TensorType):
            return (leaf.dtype, leaf.shape)
        raise DTypeError(
            f"{self._name}: argument {self._path(position, dynamic)} has type {type(leaf).__name__}; "
            "expected a tensor, an array, a number, or containers of those. Mark other arguments with "
            "static_argnums or static_argnames"
        )

    def _checked_dtype(self, dtype: Any, position: int, dynamic: Any) -> Any:
        try:
            return as_dtype(dtype)
        except DTypeError as error:
            raise DTypeError(f"{self._name}: argument {self._path(position, dynamic)}: {error}") from error

    def _path(self, position: int, dynamic: Any) -> str:
        path = leaf_paths(dynamic)[position]
        for prefix, name in (("[0]", "args"), ("[1]", "kwargs")):
            if path.startswith(prefix):
                return name + path[len(prefix) :]
        return path

    # -- compiling --------------------------------------------------------------------------------

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        """The Function for these arguments, what it captures, and (as `rest`) its result's structure."""
        _, dynamic = self._split(args, kwargs)
        leaves, structure = flatten(dynamic)
        types = [self._leaf_type(leaf, i, dynamic) for i, leaf in enumerate(leaves)]
        names = self._names(structure)

        def run(*symbols: Tensor) -> tuple[list[Any], TreeDef]:
            positional, named = structure.unflatten(symbols)
            result = self._fn(*self._with_static(args, positional), **{**kwargs, **named})
            results, result_structure = flatten(result)
            for position, one in enumerate(results):
                if not isinstance(one, (Tensor, np.ndarray, np.generic, bool, int, float)):
                    raise DTypeError(
                        f"{self._name}: result {leaf_paths(result)[position] or 'value'} has type "
                        f"{type(one).__name__}; a jitted function returns tensors, arrays and numbers"
                    )
            return results, result_structure

        run.__name__ = self._name if self._name.isidentifier() else "lambda"
        outer = STATE.recording, STATE.blocked
        STATE.recording, STATE.blocked = True, False
        try:
            symbols = [(*symbol_type(one), name) for one, name in zip(types, names, strict=True)]
            return trace_flat(run, symbols)
        finally:
            STATE.recording, STATE.blocked = outer

    def _names(self, structure: TreeDef) -> list[str]:
        """What the IR and messages call the leaves of the arguments."""
        paths = leaf_paths(structure.unflatten([0] * structure.leaves))
        return parameter_names(self._fn, paths, self._static_argnums)

    def _with_static(self, args: tuple[Any, ...], positional: Sequence[Any]) -> list[Any]:
        following = iter(positional)
        return [
            value if position in self._static_argnums else next(following)
            for position, value in enumerate(args)
        ]

    def _compile(self, args: Any, kwargs: Any, key: Any, leaves: list[Any], reason: str) -> Signature:
        start = time.perf_counter()
        traced = self._trace(args, kwargs)
        seconds = time.perf_counter() - start
        structure, leaf_types, static, _ = key
        bindings = locate(self._fn, traced.captured, [value for _, _, value, _ in static])
        compiled = CompiledFunction(traced.function)
        signature = Signature(
            structure, leaf_types, static, traced.function, compiled, bindings, traced.rest, traced.ranges
        )
        signature.reason = reason
        signature.milliseconds = {"trace": seconds * 1e3}
        tracked = any(isinstance(one, Tensor) and one._requires_grad for one in [*leaves, *traced.captured])
        if not tracked:
            signature.flat_entry, direct = make_entries(self._name, signature, miss, self._next_entry)
            self._entry = direct or self._entry
        self._signatures[key] = signature
        return signature

    def _next_entry(self) -> Any:
        """What a new entry calls where it does not fit: the one before, and at times the slow path."""
        self._chained += 1
        earlier = self._entry if self._chained % _CHAIN else None
        return earlier or self._slow

    def _reason(self, key: Any) -> str:
        """Why this signature is compiled although there are others."""
        if not self._signatures:
            return self._first
        structure, leaf_types, static, dtype = key
        for other, their_types, their_static, their_dtype in reversed(self._signatures):
            if other != structure:
                continue
            if their_static != static:
                return f"static arguments changed from {static_text(their_static)} to {static_text(static)}"
            if their_dtype != dtype:
                return f"the default dtype changed to {dtype.name}"
            names = self._names(structure)
            for name, old, new in zip(names, their_types, leaf_types, strict=True):
                if old != new:
                    return f"argument {name} changed from {type_text(old)} to {type_text(new)}"
        return "arguments of another structure"

    # -- looking inside ---------------------------------------------------------------------------

    def trace(self, *args: Any, **kwargs: Any) -> Function:
        """The IR Function for these arguments (arrays, numbers, or ``TensorType``s), before any pass."""
        return self._trace(args, kwargs).function

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function at every stage of compilation, as text: ``f.lower(x).as_text("loops")``."""
        return Lowered(self.trace(*args, **kwargs))

    def explain(self) -> str:
        """What was compiled, why, how long it took, and what runs by NumPy kernels instead of native code.

        Example:
            >>> import tracejit as tj
            >>> f = tj.jit(lambda x: x + 1)
            >>> _ = f(tj.ones(3))
            >>> print(f.explain().splitlines()[0])
            <lambda>: 1 signature compiled
        """
        count = len(self._signatures)
        lines = [f"{self._name}: {count} signature{'s' * (count != 1)} compiled"]
        for number, one in enumerate(self._signatures.values()):
            types = ", ".join(map(type_text, one.leaf_types))
            lines.append(f"  [{number}] ({types}): {one.reason}")
            if one.static:
                lines.append(f"      static: {static_text(one.static)}")
            if one.bindings.sources:
                lines.append(f"      captures: {', '.join(map(str, one.bindings.sources))}")
            executable = one.compiled.executable
            phases = {**one.milliseconds, **executable.milliseconds}
            spent = ", ".join(f"{name} {value:.1f}" for name, value in phases.items())
            lines.append(f"      milliseconds: {spent}")
            module = executable.module
            lines.append(f"      kernels: {len(module.kernels)}, arena {module.arena_bytes} bytes")
            if executable.not_lowered:
                lines.append(
                    f"      not compiled, run by their NumPy kernels: {', '.join(executable.not_lowered)}"
                )
            else:
                lines.append("      everything is native code")
        return "\n".join(lines)

    def clear_cache(self, reason: str = "first call") -> None:
        """Forget every compiled signature. `reason` is what ``explain()`` gives for compiling the next."""
        with self._lock:
            self._first = reason
            self._signatures.clear()
            self._by_structure.clear()
            self._entry = None


@overload
def jit(
    fn: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
) -> JitFunction: ...
@overload
def jit(
    fn: None = ...,
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
) -> Callable[[Callable[..., Any]], JitFunction]: ...
def jit(
    fn: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Any:
    """Compile `fn` to native code for the types it is called with; a decorator or a function.

    Arguments and results are pytrees of tensors, arrays and Python numbers. A change of shape, dtype or
    structure compiles again; a change of a Python number's value does not. Arguments named by
    `static_argnums` or `static_argnames` are constants: hashable, and a new value compiles again. Tensors
    that `fn` closes over are read afresh at each call. Python code in `fn` runs only while tracing.

    Example:
        >>> import tracejit as tj
        >>> @tj.jit
        ... def f(x, y):
        ...     return x * y + 1
        >>> f(tj.tensor([1.0, 2.0]), 3.0)
        tensor([4., 7.])

    Raises ConcretizationError where `fn` asks a traced value for its Python value (``if x:``). Semantics:
    ``jax.jit``.
    """
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if fn is None:
        return lambda f: JitFunction(f, nums, names)
    if not callable(fn):
        raise TracejitError(f"jit: expected a function, got {type(fn).__name__}")
    return JitFunction(fn, nums, names)


@contextmanager
def disable_jit() -> Iterator[None]:
    """Jitted functions run as plain Python inside the ``with`` block, for debugging.

    Example:
        >>> import tracejit as tj
        >>> with tj.disable_jit():
        ...     _ = tj.jit(lambda x: print("runs", x) or x)(tj.tensor(2.0))
        runs tensor(2.)
    """
    before = getattr(_disabled, "on", False)
    _disabled.on = True
    bypass_native_entries(+1)
    try:
        yield
    finally:
        bypass_native_entries(-1)
        _disabled.on = before


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
