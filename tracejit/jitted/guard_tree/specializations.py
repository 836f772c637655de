"""Specializations: the leaves of a guard tree, each with what was compiled and how it serves a call."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ...base.errors import AliasedError, GradientError, RunsAgainError, TracejitError
from ...base.records import field, record
from ...callback_results import KeptResults
from ...frontend.guards import Guard
from ...frontend.values import Source
from ...generator import Draws
from ...ir.dataflow import acts
from ...ir.dtypes import SHORT_NAME, as_dtype
from ...ir.graph import Function
from ...pytree import TreeDef, flatten
from ...state import STATE
from ...tensors.generator_states import GeneratorState
from ...tensors.tensor import Tensor, wrap
from ...tracing.branches import Decision
from ..aliasing import NoAlias
from ..argument_writes import COPIED_BYTES, ArgumentWrites
from ..calls import CompiledFunction, call, requiring_grad
from ..captures import Bindings
from ..signatures import MISS, LeafType, as_input, is_generator, miss, type_text
from .entries import entry_of, is_native, make_entries

if TYPE_CHECKING:
    from ...loops.reports import LoopReport

#: The test of gradients: the positions of the inputs that require one, and whether the call is recorded.
Gradients: TypeAlias = tuple[tuple[int, ...], bool]
#: The outcome for calls of which no input requires a gradient.
UNTRACKED: Final[Gradients] = (), False
#: Errors of native code, which may be those of another path than the one that a call is on.
_PROGRAM_ERRORS: Final = (TracejitError, ArithmeticError)


def gradients_of(inputs: Sequence[Any]) -> Gradients:
    """The outcome of the test of gradients for a call with `inputs`: arguments and captures."""
    wrt = requiring_grad(inputs)
    return (wrt, STATE.recording) if wrt else UNTRACKED


class LeafKind(enum.Enum):
    """Kinds of leaf: the ways in which a call is served, in the user's words."""

    NATIVE = "native entry"
    #: The entry runs the forward part, and `CallPlan.record` makes the node.
    RECORDING = "native entry, then a node on the tape"
    #: Python looks at the arguments before; it writes them, chooses among paths or makes containers after.
    WRAPPED = "native entry between Python's checks and writes"
    #: The entry takes leaves.
    FLAT = "native entry, behind Python that takes the arguments apart"
    #: Python reads the captures.
    EXECUTABLE = "native code, called from Python"
    IN_PLACE = "native code that writes the arguments, called from Python"
    #: The program says by its decisions whether the call is on its path.
    PATH = "native code of one path, called from Python"
    #: No specialization fits; the call adds one.
    TRACE = "traced and compiled"
    #: The function itself: under a trace, with `disable_jit`, and where a call cannot be compiled.
    PLAIN = "Python"


@record(eq=False, frozen=False)
class Specialization:
    """One compiled form of a jitted function, right for calls that pass its tests."""

    structure: TreeDef
    leaf_types: tuple[LeafType, ...]
    static: tuple[Any, ...]
    function: Function
    compiled: CompiledFunction
    bindings: Bindings
    result: TreeDef
    #: Ranges of the Python integers that meet a narrower dtype, by position.
    ranges: dict[int, tuple[int, int]]
    #: The kinds of leaf, by the outcome of the test of gradients, as far as such calls have come.
    kinds: dict[Gradients, LeafKind] = field(default_factory=dict)
    #: Native entries on flat leaves: for None where no input requires a gradient, else by the positions of
    #: the leaves that do.
    entries: dict[Gradients | None, Any] = field(default_factory=dict)
    #: The milliseconds that it took to trace the function.
    tracing: float = 0.0
    reason: str = ""
    #: The reasons of those that were compiled before for the same arguments.
    earlier: Sequence[str] = ()
    #: The values that Python code saw of traced values, in order; they are the Function's last results. See
    #: `paths`.
    decisions: Sequence[Decision] = ()
    #: The checks before a call runs the path, a `paths.Checks`; None until they are asked for.
    checks: Any = None
    #: The paths that are compiled together in this one; the last result is the number of that taken.
    together: Sequence[Specialization] = ()
    #: The results of callbacks from the trace of the path, for the call that it was traced for.
    callback_results: KeptResults | None = None
    #: The leaves whose memory results may take over.
    donated: frozenset[int] = frozenset()
    #: The calls that took a path.
    hits: int = 0
    #: The arguments that the function writes, None where it writes none.
    writes: ArgumentWrites | None = None
    #: The conditions on aliases of arguments; None where arguments may be anything.
    no_alias: NoAlias | None = None
    #: Handling of failures in linear algebra, where what was traced depends on it: see `STATE.linalg`.
    linalg: str | None = None
    #: Reports on the loops in the function.
    loops: tuple[LoopReport, ...] = ()
    #: The globals of the function, None where it has none.
    namespace: Any = None

    # -- captures ---------------------------------------------------------------------------------

    def fits(self) -> bool:
        """Whether what the function reads outside its arguments is what it was compiled for."""
        return isinstance(self._outside(), list)

    def captured(self) -> list[Tensor] | None:
        """The captured values now; None where `fits` is false.

        Where it gives values, and only then, the draws of the call have been taken from the generator."""
        values = self._outside()
        if not isinstance(values, list):
            return None
        return [
            wrap(value.claim()) if isinstance(value, Draws)
            else wrap(value.peek()) if isinstance(value, GeneratorState)
            else value
            for value in values
        ]  # fmt: skip

    def _outside(self) -> Any:
        """The captured values now; where `fits` is false the guard that does not hold, or the place that does
        not hold a tensor of the right type."""
        for guard in self.bindings.guards:
            if not guard.holds():
                return guard
        values: list[Any] = []
        params = self.function.params[len(self.leaf_types) :]
        for source, param in zip(self.bindings.sources, params, strict=True):
            value = source.read()
            data = value._data if isinstance(value, Tensor) else value
            if isinstance(value, (Draws, GeneratorState)):
                values.append(value)
            elif source.is_number and type(value) is float:
                values.append(wrap(np.asarray(value)))
            elif (
                not source.is_number
                and isinstance(data, np.ndarray)
                and data.shape == param.shape
                and as_dtype(data.dtype) is param.dtype
            ):
                values.append(as_input(value))
            else:
                return source
        return values

    def broken_guard(self) -> str:
        """Reason why `fits` is false."""
        problem = self._outside()
        if isinstance(problem, Guard):
            before, after = problem.shown()
            change = f" ({before} before, {after} now)" if len(before) + len(after) < 80 else ""
            return f"{problem.source}, which the function closes over, was bound to another value{change}"
        value = problem.read() if isinstance(problem, Source) else None
        data = value._data if isinstance(value, Tensor) else value
        if isinstance(data, np.ndarray):
            param = self.function.params[len(self.leaf_types) + self.bindings.sources.index(problem)]
            now = type_text((data.dtype, data.shape)) if data.dtype in SHORT_NAME else str(data.dtype)
            return f"{problem}, which the function closes over, changed from {param.type} to {now}"
        return "a tensor that the function closes over changed its type"

    # -- entries ----------------------------------------------------------------------------------

    def enter(self, gradients: Gradients, otherwise: Callable[[], Any]) -> Any:
        """Make the native entries for calls with `gradients`. Returns that for the arguments as they are
        given, which goes on with ``otherwise()``; None where there can be none."""
        if any(map(is_generator, self.leaf_types)):
            self.kinds[gradients] = LeafKind.EXECUTABLE if self.writes is None else LeafKind.IN_PLACE
            return None  # Python reads its state
        wrt, recorded = gradients
        finishes = self.writes is not None or bool(self.together) or self.has_python_containers
        wrapped = finishes or self.no_alias is not None or self.compiled.runs_again
        self.kinds[gradients] = LeafKind.EXECUTABLE if self.writes is None else LeafKind.IN_PLACE
        plan = None
        try:
            if wrt and (self.writes is not None or self.no_alias is not None or self.together):
                return None  # writes go on the tape too
            plan = self.compiled.plan(wrt) if recorded else None
        except GradientError:  # for those who differentiate the results: see `calls.call`
            return None
        if self.writes is not None and not self._writes_results():
            return None
        following = otherwise() if wrapped else None
        after = (lambda: miss) if finishes else (lambda: following) if wrapped else otherwise
        flat, direct = make_entries(self, miss, after, wrt, plan)
        if flat is not None and self.writes is None and self.no_alias is None:
            leaves = tuple([position for position in wrt if position < len(self.leaf_types)])
            self.entries[(leaves, recorded) if wrt else None] = flat
            self.kinds[gradients] = LeafKind.FLAT
        if direct is None:
            return None
        self.kinds[gradients] = LeafKind.RECORDING if recorded else LeafKind.NATIVE
        if wrapped:
            self.kinds[gradients] = LeafKind.WRAPPED
            direct = self._wrapped(direct, finishes, following)
        return direct

    @property
    def has_python_containers(self) -> bool:
        """Whether the result has containers that Python makes of their leaves."""
        return not is_native(self.result.shape)

    def _writes_results(self) -> bool:
        """Whether the arguments can be written from the results of a native entry."""
        assert self.writes is not None
        written = sum(self.function.params[position].type.nbytes for position in self.writes.positions)
        looked_at = self.static or self.bindings.sources or self.no_alias is not None
        return not looked_at and written <= COPIED_BYTES and not acts(self.function)

    def _wrapped(self, entry: Any, finishes: bool, following: Any) -> Any:
        """`entry` with a check of the arguments before it, and where something `finishes` its results behind
        it, when it gives `MISS` where it does not fit; `following` takes what only it can serve."""
        choose, inner, unflatten = self._choose, entry, self.result.unflatten
        no_alias: Any = self.no_alias
        writes: Any = self.writes  # where `written` is called, there are such

        def chosen(*args: Any, **kwargs: Any) -> Any:
            try:
                result = choose(inner(*args, **kwargs))
            except _PROGRAM_ERRORS:
                result = MISS
            return following(*args, **kwargs) if result is MISS else result

        def written(*args: Any, **kwargs: Any) -> Any:
            try:
                results = inner(*args, **kwargs)
            except Exception:  # the slow path runs the call as Python, if that is an error there as well
                return following(*args, **kwargs)
            if results is MISS:
                return following(*args, **kwargs)
            try:
                returned = writes.finish((args, kwargs), results)
            except AliasedError:
                return following(*args, **kwargs)
            return self.result.unflatten(returned)

        def built(*args: Any, **kwargs: Any) -> Any:
            try:
                results = inner(*args, **kwargs)
            except RunsAgainError:  # in the slow path
                return following(*args, **kwargs)
            return following(*args, **kwargs) if results is MISS else unflatten(results)

        def checked(*args: Any, **kwargs: Any) -> Any:
            if no_alias.problem((args, kwargs), flatten((args, kwargs))[0]):
                return following(*args, **kwargs)
            return entry(*args, **kwargs)

        def roomy(*args: Any, **kwargs: Any) -> Any:
            try:
                return inner(*args, **kwargs)
            except RunsAgainError:
                return following(*args, **kwargs)

        if self.compiled.runs_again:
            entry = roomy
        if finishes:
            entry = chosen if self.together else built if writes is None else written
        return entry_of(entry if no_alias is None else checked, self.namespace)

    def native(self, leaves: Sequence[Any]) -> Any:
        """The result by a native entry on `leaves`, `MISS` where none fits."""
        entries = self.entries
        try:
            results = entries.get(None, miss)(*leaves)
            if results is MISS:
                results = entries.get((requiring_grad(leaves), STATE.recording), miss)(*leaves)
        except _PROGRAM_ERRORS:
            if not self.together:
                raise
            return MISS
        if self.together:
            return self._choose(results)
        return results if results is MISS or self.result.is_leaf else self.result.unflatten(results)

    # -- calls ------------------------------------------------------------------------------------

    def run(self, arguments: Any, leaves: Sequence[Any], inputs: Sequence[Tensor]) -> Any:
        """The result for ``arguments = (positional, named)``, whose leaves are `leaves`; `inputs` are these
        as tensors, and the captures."""
        if self.writes is None:
            return self.result.unflatten(call(self.compiled, inputs))
        pending = self.writes.begin(arguments, leaves, inputs, self.bindings.sources)
        with pending.locked():
            return self.result.unflatten(pending.finish(pending.run(self.compiled)))

    def run_together(self, leaves: Sequence[Any]) -> Any:
        """The result by the paths that are compiled together, `MISS` where the call belongs to none of them,
        or where only they themselves can serve it: on tensors that require grad, or with an error, which
        another path may not have."""
        if self.entries:
            return self.native(leaves)
        captured = self.captured()
        if captured is None:
            return MISS
        inputs = [*map(as_input, leaves), *captured]
        try:
            return MISS if gradients_of(inputs)[1] else self._choose(call(self.compiled, inputs))
        except _PROGRAM_ERRORS:
            return MISS

    def _choose(self, results: Any) -> Any:
        """The result of paths together: that of the path that was taken, `MISS` where it is none of them."""
        if results is MISS:
            return MISS
        number = results[-1]._data.item()
        if number < 0:
            return MISS
        path = self.together[number]
        path.hits += 1
        return path.result.unflatten(results[:-1])
