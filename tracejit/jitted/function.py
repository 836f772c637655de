"""Functions that compile themselves for the types they are called with: what ``jit`` makes.

A call walks down the function's guard tree (`guard_tree`) to a specialization that is right for it. Native
entries are branches of that tree in machine code: most calls are served by one, and Python sees nothing of
them. What no entry recognises comes to `_slow`. A call that no specialization fits is traced and compiled,
and adds one. Under a trace, or with ``disable_jit``, the function just runs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..base.errors import (
    AliasedError,
    HandledError,
    ListRoomError,
    RepeatedEffectError,
    TraceError,
    TracejitError,
    UncompilableError,
    UnfitNumberError,
)
from ..base.loading import LazyModule, load_module
from ..base.process.collector import collector_paused
from ..callback_results import KeptResults
from ..generator import DEFAULT
from ..ir.dataflow import acts
from ..ir.graph import Function
from ..provided import VIEW
from ..runtime.native.entry import is_linked_later
from ..state import STATE
from ..tensors.array_callers import frame_above, takes_arrays
from ..tensors.tensor import Tensor
from ..tracing.branches import Decision
from ..tracing.handled_errors import error_state_error, errors_asked
from ..tracing.inlined_calls import inlined
from ..tracing.traces import Traced
from .aliasing import arrays_in, check_aliases, own_results, read_outside, warn_uncompiled
from .argument_writes import CompiledOnlyError, FailedCall, WritesRank0
from .call_traces import trace_call
from .calls import CompiledFunction, runs_again
from .captures import bind, renewed_at_each_call, warn_of_frozen
from .disabling import jit_is_disabled
from .exporting import Carriable, Exportable
from .guard_tree.entries import results_as_arrays
from .guard_tree.nodes import MAX_PATHS, GuardTree, Signature
from .guard_tree.specializations import UNTRACKED, Gradients, Specialization, gradients_of
from .methods import Bindable, is_instance, is_method
from .registry import watch
from .signatures import (
    MISS,
    JittedCall,
    as_input,
    check_ranges,
    checked_results,
    donated_leaves,
)
from .static_arguments import ordered_keywords, selected_arguments, split_static

if TYPE_CHECKING:
    from ..tools.viewer.views import View
    from . import lowered, recompilation
    from .explaining import Explanation
    from .guard_tree import paths, shared_paths
    from .lowered import Lowered
else:
    lowered = LazyModule(".lowered", __package__)
    paths = LazyModule(".guard_tree.paths", __package__)
    recompilation = LazyModule(".recompilation", __package__)
    shared_paths = LazyModule(".guard_tree.shared_paths", __package__)

R = TypeVar("R")

#: Most native entries that are tried one after the other before Python walks down the guard tree.
_MAX_ENTRIES = 6
#: The factors by which the room for the items of lists grows at once, and in all.
_MORE_ROOM, _MOST_ROOM = 8, 8**7
#: Number of times that a function is traced anew where what it reads changes meanwhile.
_MAX_ATTEMPTS = 4


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
        self._tree = GuardTree()
        #: Reasons why calls ran as Python; by the keys of signatures, reasons why these cannot be compiled.
        self._uncompiled: dict[Any, Any] = {}
        #: Whether a call was traced while NumPy's error state asked for errors: then calls look at it.
        self._meets_error_states = False
        #: Whether an argument of rank 0 was written in place: then calls with scalars, which nothing writes,
        #: are other calls.
        self._tells_scalars = False
        #: The room for the items of lists that loops read and change, as a multiple of what is usual.
        self._room = 1
        self._use(None)
        self._entries, self._first = 0, "first call"
        watch(self)

    def _use(self, entry: Any) -> None:
        """Let calls begin at the native `entry`, or at the slow path where it is None."""
        self._entry = entry
        self.__call__ = self._slow if entry is None else entry

    def __repr__(self) -> str:
        name, count = getattr(self._fn, "__qualname__", self._fn), len(self._tree.signatures)
        return f"<jit of {name!s}, {count} signatures>"

    # -- calling ----------------------------------------------------------------------------------

    def _slow(self, *args: Any, **kwargs: Any) -> Any:
        if STATE.tracer is not None:
            return inlined(self._fn)(*args, **kwargs)
        result = self._outside_traces(args, kwargs)
        return results_as_arrays(result) if takes_arrays(frame_above(1)) else result

    def _outside_traces(self, args: Any, kwargs: Any) -> Any:
        """The result of a call that no native entry recognises."""
        if jit_is_disabled():
            return self._fn(*args, **kwargs)
        if self._is_method and args and 0 not in self._static_argnums and is_instance(args[0]):
            return self.__get__(args[0])(*args[1:], **kwargs)
        call, random = JittedCall(args, kwargs, *self._split(args, kwargs)), DEFAULT.state
        problem: AliasedError | None = None
        failed: BaseException | None = None
        try:
            return self._with_room(call, lambda: self._telling_scalars(lambda: self._descend(call)))
        except AliasedError as error:
            if self._loops == "compiled":
                raise
            problem = error
        except FailedCall as failure:
            failed = failure.error
        except UnfitNumberError as error:
            failed = error
        DEFAULT.state = random  # the draws belong to the call as Python
        if problem is None:
            assert failed is not None
            return self._failed(failed, call)
        warn_uncompiled(problem, self._uncompiled)
        return self._as_python(call)

    def _with_room(self, call: JittedCall, attempt: Callable[[], R]) -> R:
        """The result of `attempt`, which is made again with more room where a list of a loop needs it."""
        while True:
            random, room = DEFAULT.state, self._room
            try:
                return attempt()
            except ListRoomError:
                if room >= _MOST_ROOM:
                    raise
            with self._tree.lock:
                if self._room == room:  # no other thread has made more
                    self._room *= _MORE_ROOM
                    self.clear_cache("a list of a loop has more items than there was room for")
            DEFAULT.state = random

    def _failed(self, error: BaseException, call: JittedCall) -> Any:
        """Run as Python a `call` that has failed by `error`, so that it writes to its arguments what Python
        writes before it fails, and raise the error. Ours stands for one of Python's of the same kind."""
        try:
            result = self._as_python(call)
        except Exception as raised:
            if not (isinstance(error, TracejitError) and isinstance(error, type(raised))):
                raise
        else:
            warn_uncompiled(CompiledOnlyError(f"{self._name}: {error}"), self._uncompiled)
            return result
        raise error

    def _as_python(self, call: JittedCall) -> Any:
        """The result of a `call` that is not compiled."""
        arguments = call.args, call.kwargs
        before = arrays_in(arguments)
        results, structure = checked_results(self._name, self._fn(*call.args, **call.kwargs))
        return structure.unflatten(own_results(results, before, arguments))

    def _descend(self, call: JittedCall) -> Any:
        """The result of a `call`, which walks down the guard tree."""
        structure, own = self._tree.structure(call), call.leaves
        latest = None if structure is None else structure.latest
        if latest is not None and (result := latest.native(own)) is not MISS:
            return result
        signature = self._tree.signature(call.with_types(self._name, tells_scalars=self._tells_scalars))
        shared = None if signature is None else signature.shared
        if shared is not None and not (shared is latest and shared.entries):  # else it was tried
            if shared.no_alias is not None:
                shared.no_alias.check(call.dynamic, call.leaves)
            if (result := shared.run_together(call.leaves)) is not MISS:
                return result
        with self._tree.lock:
            leaf, captured = self._specialization(call)
            entered = not leaf.decisions and self._enter(leaf, gradients_of([*call.leaves, *captured]))
        if leaf.decisions:
            return self._by_values(call, leaf, captured)
        tried = leaf is latest and not entered and call.leaves is own  # else with other libraries' arrays
        later = entered and is_linked_later()
        if not (tried or later) and (result := leaf.native(call.leaves)) is not MISS:
            return result
        check_ranges(self._name, leaf.ranges, call.leaves)
        return leaf.run(call.dynamic, call.leaves, [*map(as_input, call.leaves), *captured])

    def _compile_for(self, args: tuple[Any, ...]) -> None:
        """Compile for arguments like `args`, with the native entry, whatever NumPy's error state is here."""

        def compile() -> None:
            call = self._typed_call(args, {})
            leaf, captured = self._specialization(call)
            if not leaf.decisions:
                self._enter(leaf, gradients_of([*call.leaves, *captured]))

        with self._tree.lock, np.errstate(all="ignore"):
            self._telling_scalars(compile)

    def _specialization(
        self, call: JittedCall, outcome: Sequence[Any] = (), decision: Decision | None = None
    ) -> tuple[Specialization, list[Tensor]]:
        """The specialization whose captures are those of a `call`, and whose decisions begin with `outcome`,
        with what it captures. It is compiled where there is none: because the last of `outcome` is not what
        a `decision` of another path has seen."""
        with self._tree.lock:
            call.random = DEFAULT.state
            signature = self._tree.signature(call)
            known = None if signature is None else signature.find(outcome)
            if self._uncompiled and not outcome and (known is None or known[0].decisions):
                refused = self._uncompiled.get(call.key)
                if refused is not None:
                    raise refused[0](refused[1])
            if known is None:
                with collector_paused():
                    signature, known = self._specialize(call, outcome, decision)
            assert signature is not None
            leaf = known[0]
            if leaf.no_alias is not None:
                leaf.no_alias.check(call.dynamic, call.leaves)
            if not leaf.decisions:
                signature.use(leaf)
            signature.parent.latest = signature.shared or leaf
            return known

    def _specialize(
        self, call: JittedCall, outcome: Sequence[Any], decision: Decision | None
    ) -> tuple[Signature, tuple[Specialization, list[Tensor]]]:
        """A new specialization for `call`, and what it captures.

        Raises TraceError where what the function reads changes all the time."""
        if self._meets_error_states and (asked := errors_asked()):
            raise error_state_error(self._name, asked)
        for _ in range(_MAX_ATTEMPTS):
            signature = self._tree.signature(call)
            before = None if signature is None else signature.before(outcome)
            if before is not None:
                if before.writes is not None:  # what it reads may be what calls write
                    check_aliases(before.writes, call.dynamic, call.leaves, (), ())
                reason = before.broken_guard()
            elif signature is None or decision is None:
                reason = self._reason(call.key)
            elif sum(leaf.fits() for leaf in signature.leaves) >= self._max_paths:
                raise paths.too_many_paths(self._name, decision, self._max_paths)
            else:
                reason = paths.reason_for_path(decision, outcome[-1])
            leaf = self._compile(call, reason, outcome)
            if before is not None:
                renewed_at_each_call(self._name, before.bindings, leaf.bindings)
                leaf.earlier = (*before.earlier, before.reason)
            signature = self._tree.add(call, leaf, leads=not outcome)
            captured = leaf.captured()
            if captured is not None:
                leaf.bindings.guards.extend(leaf.bindings.changed)
                return signature, (leaf, captured)
        raise TraceError(
            f"{self._name}: {leaf.broken_guard()}, each time while it was traced; another thread must "
            "not change the values that a jitted function reads while it is traced"
        )

    def _by_values(self, call: JittedCall, leaf: Specialization, captured: list[Tensor]) -> Any:
        """The result by the path that the values of a `call` take; `leaf` is tried first.

        Where rounding makes two paths each say that the call belongs to the other, it runs as Python."""
        with self._tree.lock:  # another thread may ask, too
            kept, leaf.callback_results = leaf.callback_results or KeptResults(), None
        outer, STATE.callback_results = STATE.callback_results, kept
        try:
            inputs, tried = list(map(as_input, call.leaves)), list[Specialization]()
            while leaf not in tried:
                tried.append(leaf)
                run = paths.PathRun(leaf, [*inputs, *captured], kept)
                with contextlib.ExitStack() as locks:
                    results, decided, pending = run.results(call.dynamic, call.leaves, locks)
                    if decided is None:
                        self._take(call, leaf)
                        return leaf.result.unflatten(results if pending is None else pending.finish(results))
                if captured:
                    DEFAULT.state = call.random  # the draws belong to the path that is taken
                leaf, captured = self._specialization(call, decided, leaf.decisions[len(decided) - 1])
            if captured:
                DEFAULT.state = call.random
        finally:
            STATE.callback_results = outer
            kept.clear()
        return self._as_python(call)

    def _take(self, call: JittedCall, path: Specialization) -> None:
        """Note that a call was on `path`. Where no new paths come, they are compiled together."""
        with self._tree.lock:
            path.hits += 1
            signature = self._tree.signature(call)
            if signature is None:
                return
            signature.use(path)
            signature.settled += 1
            if signature.settled == paths.SETTLED:
                shared = shared_paths.share_paths(
                    self._name, [leaf for leaf in signature.leaves if leaf.fits()]
                )
                if shared is not None:
                    self._enter(shared, UNTRACKED)
                    signature.shared = signature.parent.latest = shared

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """Static arguments as a hashable tuple, and the others."""
        kwargs = ordered_keywords(self._fn, kwargs)
        return split_static(self._name, args, kwargs, self._static_argnums, self._static_argnames)

    def _typed_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JittedCall:
        """The call with these arguments, whose types are known."""
        call = JittedCall(args, kwargs, *self._split(args, kwargs))
        return call.with_types(self._name, tells_scalars=self._tells_scalars)

    @property
    def _name(self) -> str:
        return getattr(self._fn, "__name__", "f")

    def watch_error_state(self) -> None:
        """Let calls look at NumPy's error state from now on, also those of what is compiled."""
        if not self._meets_error_states:
            self._meets_error_states = True
            self.clear_cache("NumPy's error state asked for errors")

    def _telling_scalars(self, attempt: Callable[[], R]) -> R:
        """The result of `attempt`, once more where arrays of rank 0 are found to be told from scalars."""
        random = DEFAULT.state
        try:
            return attempt()
        except WritesRank0:
            with self._tree.lock:
                self._tells_scalars = True
                self.clear_cache("an argument of rank 0 is written" if self._tree.signatures else self._first)
        DEFAULT.state = random
        return attempt()

    # -- compiling --------------------------------------------------------------------------------

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        """The Function for these arguments, what it captures, and (as `rest`) its result's structure
        and its `ArgumentWrites`."""
        return self._telling_scalars(lambda: trace_call(self, self._typed_call(args, kwargs)).traced)

    def _donated_leaves(self, call: JittedCall) -> frozenset[int]:
        return donated_leaves(call.structure, call.types, self._static_argnums, *self._donated)

    def _compile(self, call: JittedCall, reason: str, prefix: Sequence[Any] = ()) -> Specialization:
        """Trace and compile for a `call`; with `prefix`, the path that begins with such decisions."""
        start, asked = time.perf_counter(), STATE.linalg_asked
        try:
            trace = trace_call(self, call, prefix, acts=True)
            seconds = time.perf_counter() - start
            uses, traced = trace.uses, trace.traced
            bindings, donated = bind(uses, trace.numbers, traced), self._donated_leaves(call)
            warn_of_frozen(self._name, uses)
            result, writes = traced.rest
            reused = donated | (writes.positions if writes else frozenset())
            if runs_again(traced.function):  # where that lacks, the call runs again on the same arrays
                reused = frozenset()
            compiled = CompiledFunction(traced.function, reused, self._flush_denormals)
            if trace.handled and (problem := trace.handled.problem(compiled.executable.errors)):
                raise HandledError(f"{self._name}: {problem}")
            if compiled.runs_again and acts(traced.function):  # the effects would happen again
                raise RepeatedEffectError(
                    f"{self._name} has effects, and a list of a loop that may need more room than it has, or "
                    "a number that may not fit its dtype"
                )
        except UncompilableError as error:
            self._uncompiled[call.key] = type(error), str(error)
            raise
        if writes is not None:
            writes.beside = read_outside(
                bindings.guards, bindings.sources, containers=bool(writes.containers)
            )
        structure, static, _ = call.structure_key
        return Specialization(
            structure, call.types, static, traced.function, compiled, bindings, result, traced.ranges,
            tracing=seconds * 1e3, reason=reason, decisions=traced.decisions,
            callback_results=traced.callback_results, donated=donated, writes=writes,
            no_alias=trace.no_alias, linalg=STATE.linalg if STATE.linalg_asked > asked else None,
            loops=traced.loops, namespace=getattr(inspect.unwrap(self._fn), "__globals__", None),
        )  # fmt: skip

    def _enter(self, leaf: Specialization, gradients: Gradients) -> bool:
        """Make the native entries of `leaf` for calls with `gradients`, at the first of them. Whether it did.
        The lock is held since `leaf` was found: a registration may forget it."""
        if gradients in leaf.kinds:
            return False
        with collector_paused():
            entry = leaf.enter(gradients, self._next_entry)
            if entry is not None:
                self._use(entry)
        return True

    def _next_entry(self) -> Any:
        """The function that a new entry calls where it does not fit: the entry made before, and behind
        `_MAX_ENTRIES` of them the slow path."""
        self._entries += 1
        earlier = self._entry if self._entries % _MAX_ENTRIES else None
        return earlier or self._slow

    def _reason(self, key: Any) -> str:
        """Reason why this signature is compiled although there are others."""
        keys = [signature.key for signature in self._tree.signatures]
        return recompilation.reason_for(self._fn, self._static_argnums, keys, key) if keys else self._first

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
        module: Any = load_module(".explaining", __package__)  # for those who look inside
        explanation: Explanation = module.explain(self._fn, self._name, self._static_argnums, self._tree)
        return explanation

    def clear_cache(self, reason: str = "first call") -> None:
        """Forget every compiled signature. `reason` is what ``explain()`` gives for compiling the next."""
        with self._tree.lock:
            self._first = reason
            self._tree.clear()
            self._uncompiled.clear()
            self._use(None)
