"""Functions that compile themselves for the types they are called with: what ``jit`` makes.

A call goes through three doors. The native entry of a signature checks and runs everything in machine code;
where gradients are recorded, that is an entry of its own, which ends in `CallPlan.record`. What no entry
recognises comes to `_slow`, which flattens the arguments and looks for a compiled signature. A new
signature is traced and compiled. Under a trace, or with ``disable_jit``, the function just runs.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import AliasedError, GradientError, HandledError, TraceError, TracejitError
from ..base.loading import LazyModule, load_module
from ..base.process.collector import collector_paused
from ..base.process.locks import ForkLock
from ..generator import DEFAULT
from ..ir.graph import Function
from ..provided import VIEW
from ..pytree import TreeDef, flatten
from ..state import STATE
from ..tensors.array_callers import frame_above, takes_arrays
from ..tensors.tensor import Tensor
from ..tracing.traces import Traced
from .aliasing import arrays_in, check_aliases, own_results, read_outside, refusal_kept, warn_uncompiled
from .call_traces import trace_call
from .calls import CompiledFunction, requiring_grad
from .captures import bind, renewed_at_each_call, warn_of_frozen
from .entries import make_entries, results_as_arrays
from .exporting import Carriable, Exportable
from .methods import Bindable, is_instance, is_method
from .paths import MAX_PATHS, Paths
from .recompilation import reason_for
from .registry import jit_is_disabled, watch
from .shared_paths import SharedPaths
from .signatures import (
    MISS,
    Signature,
    as_input,
    broken_guard,
    captured_first,
    captured_now,
    check_ranges,
    checked_results,
    donated_leaves,
    leaf_type,
    miss,
    native,
    no_alias_entry,
    plain_leaves,
    settings,
    writing_entry,
)
from .static_arguments import ordered_keywords, selected_arguments, split_static

if TYPE_CHECKING:
    from ..tools.viewer import View
    from . import lowered
    from .explaining import Explanation
    from .lowered import Lowered
else:
    lowered = LazyModule(".lowered", __package__)

#: Most native entries that are tried one after the other before the slow path looks the signature up.
_CHAIN = 6
#: Most specializations that are kept for values of what the function closes over.
_MOST_VARIANTS = 8
#: Number of times that a function is traced anew where what it reads changes meanwhile.
_MOST_ATTEMPTS = 4


class JitFunction(Exportable, Carriable, Bindable):
    """A function that compiles itself for the types it is called with. Made by ``tj.jit``.

    Example:
        >>> import tracejit as tj
        >>> tj.jit(lambda x: tj.exp(x).sum())(tj.zeros(3))
        tensor(3.)
    """

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
        loops: str = "auto",
        flush_denormals: bool = False,
        checkpoint_every: int | None = None,
        fastmath: bool = False,
    ) -> None:
        functools.update_wrapper(self, fn)
        self._max_paths = max_paths
        self._loops, self._flush_denormals = loops, flush_denormals
        self._checkpoint_every, self._fastmath = checkpoint_every, fastmath
        self._fn = fn
        self._owner, self._is_method = None, is_method(fn)
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
        #: Reasons why calls ran as Python; by the keys of signatures, reasons why these cannot be compiled.
        self._uncompiled: dict[Any, Any] = {}
        self._use(None)
        self._chained, self._first = 0, "first call"
        watch(self)

    def _use(self, entry: Any) -> None:
        """Let calls begin at the native `entry`, or at the slow path where it is None."""
        self._entry = entry
        self.__call__ = self._slow if entry is None else entry

    def __repr__(self) -> str:
        return f"<jit of {getattr(self._fn, '__qualname__', self._fn)!s}, {len(self._signatures)} signatures>"

    # -- calling ----------------------------------------------------------------------------------

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        if STATE.tracer is not None:
            return self._fn(*args, **kwargs)
        result = self._outside_traces(args, kwargs)
        return results_as_arrays(result) if takes_arrays(frame_above(1)) else result

    def _outside_traces(self, args: Any, kwargs: Any) -> Any:
        """The result of a call that no native entry recognises."""
        if jit_is_disabled():
            return self._fn(*args, **kwargs)
        if self._is_method and args and 0 not in self._static_argnums and is_instance(args[0]):
            return self.__get__(args[0])(*args[1:], **kwargs)
        static, dynamic = self._split(args, kwargs)
        random = DEFAULT.state
        try:
            return self._called(args, kwargs, static, dynamic)
        except AliasedError as error:
            if self._loops == "compiled":
                raise
            problem = error
        DEFAULT.state = random  # the draws belong to the call as Python
        warn_uncompiled(problem, self._uncompiled)
        return self._as_python(args, kwargs)

    def _as_python(self, args: Any, kwargs: Any) -> Any:
        """The result of a call that is not compiled."""
        before = arrays_in((args, kwargs))
        results, structure = checked_results(self._name, self._fn(*args, **kwargs))
        return structure.unflatten(own_results(results, before, (args, kwargs)))

    def _called(self, args: Any, kwargs: Any, static: tuple[Any, ...], dynamic: Any) -> Any:
        """The result of a call with arguments of which `static` and `dynamic` are the parts."""
        leaves, structure = flatten(dynamic, exact=True)
        likely = self._by_structure.get((structure, static, settings()))
        if likely is not None:
            results = native(likely, leaves)
            if results is not MISS:
                return results
        if (plain := plain_leaves(self._name, leaves, 0, dynamic)) is not leaves:
            leaves, likely = plain, None  # a signature takes them by its native entry, too
        leaf_types = tuple([leaf_type(self._name, leaf, i, dynamic) for i, leaf in enumerate(leaves)])
        key = (structure, leaf_types, static, settings())
        with self._lock:
            latest = self._signatures.get(key)
            if latest is not None and latest.no_alias is not None:
                latest.no_alias.check(dynamic, leaves)
            signature, captured = self._fitting(key)
            if key in self._uncompiled and (captured is None or (signature and signature.decisions)):
                refusal, reason = self._uncompiled[key]
                raise refusal(reason)
            with collector_paused(captured is None):
                if signature is None or captured is None:
                    signature, captured = self._specialize(args, kwargs, key, leaves)
                self._by_structure[(structure, static, settings())] = signature
                if not signature.decisions and self._enter(signature, [*leaves, *captured]):
                    likely = None
        if signature.decisions:
            return self._paths[key].call(
                dynamic,
                leaves,
                lambda prefix, reason: self._compile(args, kwargs, key, leaves, reason, prefix),
                lambda: self._as_python(args, kwargs),
            )
        if signature is not likely:
            results = native(signature, leaves)
            if results is not MISS:
                return results
        check_ranges(self._name, signature, leaves)
        inputs = [as_input(leaf) for leaf in leaves] + captured
        return signature.run(dynamic, leaves, inputs)

    def _fitting(self, key: Any) -> tuple[Signature | None, list[Tensor] | None]:
        """The specialization for `key` whose guards hold, with what it captures now."""
        latest = self._signatures.get(key)
        if latest is None:
            return None, None
        for signature in (latest, *latest.variants):
            captured = captured_now(signature)
            if captured is not None:
                if signature is not latest:
                    others = (variant for variant in latest.variants if variant is not signature)
                    signature.variants = [latest, *others]
                    latest.variants = []
                    self._signatures[key] = signature
                return signature, captured
        return latest, None

    def _specialize(
        self, args: Any, kwargs: Any, key: Any, leaves: list[Any]
    ) -> tuple[Signature, list[Tensor]]:
        """A new specialization for `key`, and what it captures.

        Raises TraceError where what the function reads changes all the time."""
        for _ in range(_MOST_ATTEMPTS):
            before = self._signatures.get(key)
            if before is not None and before.writes is not None:  # what it reads may be what calls write
                check_aliases(before.writes, self._split(args, kwargs)[1], leaves, (), ())
            reason = self._reason(key) if before is None else broken_guard(before)
            signature = self._compile(args, kwargs, key, leaves, reason)
            if before is not None:
                renewed_at_each_call(self._name, before.bindings, signature.bindings)
                signature.earlier = [*before.earlier, before.reason]
                older = () if signature.decisions else (before, *before.variants)
                signature.variants, before.variants = [*older[:_MOST_VARIANTS]], []
            self._signatures[key] = signature
            if signature.decisions:
                self._paths[key] = Paths(self._name, signature, self._max_paths, self._enter_shared)
            captured = captured_first(signature)
            if captured is not None:
                return signature, captured
        raise TraceError(
            f"{self._name}: {broken_guard(signature)}, each time while it was traced; another thread must "
            "not change the values that a jitted function reads while it is traced"
        )

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Static arguments as a hashable tuple, and the others."""
        kwargs = ordered_keywords(self._fn, kwargs)
        return split_static(self._name, args, kwargs, self._static_argnums, self._static_argnames)

    @property
    def _name(self) -> str:
        return getattr(self._fn, "__name__", "f")

    # -- compiling --------------------------------------------------------------------------------

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        """The Function for these arguments, what it captures, and (as `rest`) its result's structure
        and its `ArgumentWrites`."""
        return trace_call(self, args, kwargs).traced

    def _donated_leaves(self, structure: TreeDef, types: Sequence[Any]) -> frozenset[int]:
        return donated_leaves(structure, types, self._static_argnums, *self._donated)

    def _compile(
        self, args: Any, kwargs: Any, key: Any, leaves: list[Any], reason: str, prefix: Sequence[Any] = ()
    ) -> Signature:
        """Trace and compile for these arguments; with `prefix`, the path that begins with such decisions."""
        start, asked = time.perf_counter(), STATE.linalg_asked
        with refusal_kept(self._uncompiled, key):
            trace = trace_call(self, args, kwargs, prefix, acts=True)
            seconds = time.perf_counter() - start
            uses, traced = trace.uses, trace.traced
            structure, leaf_types, static, _ = key
            bindings, donated = bind(uses, trace.numbers, traced), self._donated_leaves(structure, leaf_types)
            warn_of_frozen(self._name, uses)
            result, writes = traced.rest
            reused = donated | (writes.positions if writes else frozenset())
            compiled = CompiledFunction(traced.function, reused, self._flush_denormals)
            if trace.handled and (problem := trace.handled.problem(compiled.executable.errors)):
                raise HandledError(f"{self._name}: {problem}")
        signature = Signature(
            structure, leaf_types, static, traced.function, compiled, bindings, result, traced.ranges
        )
        if writes is not None:
            writes.beside = read_outside(
                bindings.guards, bindings.sources, containers=bool(writes.containers)
            )
        signature.writes, signature.loops, signature.no_alias = writes, traced.loops, trace.no_alias
        signature.reason, signature.decisions, signature.donated = reason, traced.decisions, donated
        signature.namespace = getattr(inspect.unwrap(self._fn), "__globals__", None)
        signature.callback_results = traced.callback_results
        signature.linalg = STATE.linalg if STATE.linalg_asked > asked else None
        signature.milliseconds = {"trace": seconds * 1e3}
        return signature

    def _enter(self, signature: Signature, inputs: Sequence[Any]) -> bool:
        """Make the native entries of `signature` for calls with gradients by the same of its `inputs`, at the
        first of them. Whether it did."""
        wrt = requiring_grad(inputs)
        recorded = bool(wrt) and STATE.recording
        if (wrt, recorded) in signature.entered:
            return False
        signature.entered.add((wrt, recorded))
        if wrt:
            return self._enter_gradients(signature, wrt, recorded)
        if signature.writes is not None:
            self._use(writing_entry(signature, self._next_entry) or self._entry)
            return True
        if signature.no_alias is not None:
            self._use(no_alias_entry(signature, self._next_entry) or self._entry)
            return True
        signature.flat_entry, direct = make_entries(signature, miss, self._next_entry)
        if direct is not None:
            self._use(direct)
        return True

    def _enter_gradients(self, signature: Signature, wrt: tuple[int, ...], recorded: bool) -> bool:
        """Make the native entries of calls of `signature` whose inputs at `wrt` require gradients.

        There are none where the gradients do not exist, or where the function writes its arguments, which
        goes on the tape too."""
        if signature.writes is not None or signature.no_alias is not None:
            return False
        try:
            plan = signature.compiled.plan(wrt) if recorded else None
        except GradientError:  # for those who differentiate the results: see `calls.call`
            return False
        entry, direct = make_entries(signature, miss, self._next_entry, wrt, plan)
        if entry is not None:
            leaves = tuple([position for position in wrt if position < len(signature.leaf_types)])
            signature.gradient_entries[leaves, recorded] = entry
        if direct is not None:
            self._use(direct)
        return True

    def _enter_shared(self, shared: SharedPaths) -> None:
        """Make the native entry of paths that were compiled together."""
        if shared.direct is not None:
            self._use(shared.entry(self._next_entry()))

    def _next_entry(self) -> Any:
        """The function that a new entry calls where it does not fit: the previous entry, and at times the
        slow path."""
        self._chained += 1
        earlier = self._entry if self._chained % _CHAIN else None
        return earlier or self._slow

    def _reason(self, key: Any) -> str:
        """Reason why this signature is compiled although there are others."""
        if not self._signatures:
            return self._first
        return reason_for(self._fn, self._static_argnums, list(self._signatures), key)

    # -- looking inside ---------------------------------------------------------------------------

    def trace(self, *args: Any, **kwargs: Any) -> Function:
        """The IR Function for these arguments (arrays, numbers, or ``TensorType``s), before any pass."""
        return self._trace(args, kwargs).function

    def result_types(self, *args: Any, **kwargs: Any) -> Any:
        """The result for these arguments with each leaf as its ``TensorType``."""
        traced = self._trace(args, kwargs)
        structure, _ = traced.rest
        return structure.unflatten([result.type for result in traced.function.results[: structure.leaves]])

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function at every stage of compilation, as text: ``f.lower(x).as_text("loops")``."""
        return lowered.Lowered(self.trace(*args, **kwargs))

    def view(self, *args: Any, **kwargs: Any) -> View:
        """Show a call with these arguments as a page: source, every stage, passes, graph, times.

        In a notebook the result shows itself; ``.open()`` shows it in the browser, ``.save(path)`` writes it.
        Arguments are as for a call, or ``TensorType``s, for which random values are timed. See docs/view.md.

        Example:
            >>> import tracejit as tj
            >>> shown = tj.jit(lambda x: tj.exp(x).sum()).view(tj.ones(100))
            >>> len(shown.document["ops"]), shown.html.startswith("<!doctype html>")
            (2, True)

        Raises what tracing raises, and TracejitError for a function that is too large to show.
        """
        shown: View = VIEW()(self, *args, **kwargs)
        return shown

    def explain(self) -> Explanation:
        """Explain what was compiled and why, with guards, paths, compile times, and what is not native code.

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
            every = [(signature, self._paths.get(key)) for key, signature in self._signatures.items()]
        module: Any = load_module(".explaining", __package__)  # for those who look inside
        explanation: Explanation = module.explain(self._fn, self._name, self._static_argnums, every)
        return explanation

    def clear_cache(self, reason: str = "first call") -> None:
        """Forget every compiled signature. `reason` is what ``explain()`` gives for compiling the next."""
        with self._lock:
            self._first = reason
            self._signatures.clear()
            self._by_structure.clear()
            self._paths.clear()
            self._uncompiled.clear()
            self._use(None)
