"""Traces of calls of jitted functions: what such a call reads outside its arguments, and its Function."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.errors import (
    AliasedError,
    AskedValueError,
    ConcretizationError,
    MemoryOrderError,
    TraceError,
    UncompilableError,
)
from ..base.loading import LazyModule
from ..base.process.collector import collector_paused
from ..base.records import record
from ..frontend.libraries.process_state import ProcessState
from ..frontend.reads import read_function
from ..frontend.usage import Numbers, Uses
from ..ir.dtypes import NUMBERS
from ..ir.types import TensorType
from ..loops.conversion import ROLLED, loops_traced, to_rewrite
from ..loops.reports import Growth
from ..loops.scipy_functions import handed_on
from ..pytree import TreeDef
from ..state import STATE
from ..tensors.tensor import Tensor
from ..tensors.texts import shows_traced
from ..tracing.branches import Branches
from ..tracing.handled_errors import HandledErrors, RaisedInLoopError, error_state_error
from ..tracing.merged_arrays import TOLD_APART, MergedArrayError
from ..tracing.outside_arrays import OutsideArrays
from ..tracing.random_draws import reached_generators, refuse_draws
from ..tracing.traces import Traced, trace_flat
from .aliasing import NoAlias, in_order, no_alias
from .argument_writes import ArgumentRecorder, ArgumentWrites, FailedCall, WritesRank0, is_of_python
from .methods import UnchangedAttributes
from .signatures import (
    JittedCall,
    argument_names,
    as_input,
    checked_results,
    is_generator,
    is_numpy_scalar,
    parameter_name,
    symbol_type,
)
from .static_arguments import with_static

if TYPE_CHECKING:
    from ..ir.passes.algebra import multiply_adds
    from .function import JitFunction
else:
    multiply_adds = LazyModule("..ir.passes.algebra.multiply_adds", __package__)


#: The least and the largest number of items, as powers of two, for which lists have room at first.
_LEAST_ROOM, _MOST_ROOM = 8, 16


class ChosenArrayError(UncompilableError):
    """A call that cannot run as compiled, since the function writes an array that traced values choose, or
    reads it after one of those was written."""

    advice = "write a copy"


class MixedDrawsError(UncompilableError):
    """A call that draws from one generator, which it makes, what is compiled and what is not."""

    advice = "draw from a generator for each"


@record(eq=False)
class CallTrace:
    """A trace of a call.

    Attributes:
        uses: what the function reads, and `numbers` which numbers are inputs.
        traced: the Function, and what it captures; its `rest` is the result's structure, and the
            `ArgumentWrites`.
        no_alias: what arguments must not be for the trace to be right, None where they may be anything.
        handled: operations whose errors code of the function would see.
    """

    uses: Uses
    numbers: Numbers
    traced: Traced
    no_alias: NoAlias | None
    handled: HandledErrors


def trace_call(
    jitted: JitFunction, call: JittedCall, prefix: Sequence[Any] = (), *, acts: bool = False
) -> CallTrace:
    """Trace a `call` of `jitted`. Where the arguments have values, Python code may ask for them; `prefix` are
    the first answers. Where the function raises and the trace `acts`, the effects before that happen.

    Raises WritesRank0 where calls are to be told apart by what arguments of rank 0 are, and AliasedError
    where the call cannot be compiled; arrays are then what they were.
    """
    function, name, static = jitted._fn, jitted._name, jitted._static_argnums
    args, kwargs, dynamic, leaves = call.args, call.kwargs, call.dynamic, call.leaves
    structure, types = call.structure, call.types
    donated = jitted._donated_leaves(call)
    uses = read_function(function, args, kwargs, static | jitted._static_argnames, name)
    if jitted._meets_error_states:
        ProcessState(uses).watch("the error state of NumPy")
    apart = no_alias(name, uses, dynamic, leaves)
    if apart is not None:
        apart.check(dynamic, leaves)

    asked = uses.asked_of_all or (any(type(leaf) in NUMBERS for leaf in leaves) and uses.asked_of_numbers)
    if asked:
        raise AskedValueError(f"{name} asks {asked}")
    outside = OutsideArrays(name, uses)
    handled: HandledErrors

    def run(*symbols: Tensor) -> tuple[list[Any], tuple[TreeDef, ArgumentWrites | None]]:
        STATE.tracer.handled = handled
        for symbol, type_ in zip(symbols, types, strict=True):
            if is_numpy_scalar(type_):
                STATE.tracer.note_scalar(symbol)
        kinds = {i: type_[2][1] for i, type_ in enumerate(types) if is_generator(type_)}
        watched = ArgumentRecorder(name, structure, symbols, donated, names.__getitem__, kinds)
        STATE.tracer.generators = reached_generators(uses)
        positional, named = watched.arguments
        with UnchangedAttributes(jitted._owner, name, uses.stores):
            outer, STATE.unformatted = STATE.unformatted, (unformatted := list[Exception]())
            try:
                result = handed_on(function)(*with_static(args, positional, static), **{**kwargs, **named})
            except RaisedInLoopError as error:
                if acts:
                    raise FailedCall(error) from error
                raise TraceError(f"{name}: with these arguments {error}; pass others to look at it") from None
            except Exception as error:
                if not jitted._tells_scalars and watched.has_written_rank_0():
                    raise WritesRank0 from error
                merged = STATE.tracer.merged_error
                if merged is not None and merged is not error:  # which the function has handled, and failed
                    raise merged from error
                if acts and handled.has_refused:
                    raise FailedCall(error) from error
                if (wanted := _wanted_value(error)) is not None:
                    raise wanted from error
                writes = watched.has_written() or STATE.tracer.written_generators()
                differs = unformatted or shows_traced(repr(error.args)) or writes
                if acts and is_of_python(error) and differs:
                    raise FailedCall(error) from error
                raise
            finally:
                STATE.unformatted = outer
            if unformatted:
                raise unformatted[0]
            if not jitted._tells_scalars and watched.has_written_rank_0():
                raise WritesRank0
            if any(made.is_mixed() for made in STATE.tracer.made_generators.values()):
                raise MixedDrawsError(
                    f"{name} draws from a generator that it makes also what is not compiled"
                )
        results, result_structure = checked_results(name, result)
        return results, (result_structure, watched.writes(results))

    run.__name__ = name if name.isidentifier() else "lambda"
    has_values = not any(isinstance(leaf, TensorType) for leaf in leaves)
    branches: Branches | None = None
    rewritten = to_rewrite(uses.followed.values(), uses.asking)
    names = argument_names(function, static, structure)
    symbols = [(*symbol_type(type_), parameter_name(name)) for type_, name in zip(types, names, strict=True)]

    def trace(mode: str, growth: Growth) -> CallTrace:
        nonlocal branches, handled
        if jitted._max_paths and has_values:
            branches = Branches(list(map(as_input, leaves)), prefix)
        handled, numbers = HandledErrors(run.__code__, sets_state=uses.sets_errors), uses.numbers()
        traced_loops = loops_traced(mode, name, rewritten, jitted._checkpoint_every, growth)
        with collector_paused(), traced_loops as reports:
            try:
                traced = refuse_draws(name, uses, trace_flat, run, symbols, branches, numbers)
            except Exception:
                outside.check()
                raise
            outside.check(traced.written)
        if traced.has_several_names and uses.compares_objects:
            raise MergedArrayError(TOLD_APART)
        if jitted._fastmath:
            traced.function = multiply_adds.multiply_adds(traced.function, everywhere=True)
        traced.loops = reports(len(traced.function.body))
        if acts and handled.callers and handled.asked == handled.callers:
            jitted.watch_error_state()
            raise error_state_error(name, handled.asked)
        positions, elsewhere = traced.in_order
        if elsewhere:
            raise MemoryOrderError(
                f"{name}: an array is written, and whether another is a view of it depends on the order of "
                "its elements in memory"
            )
        positions = frozenset(position for position in positions if position < len(leaves))
        separate = in_order(name, apart, positions)
        if separate is not None:
            separate.check(dynamic, leaves)
        return CallTrace(uses, numbers, traced, separate, handled)

    try:
        with _recording():
            room = jitted._room * _usual_room(leaves)
            mode, growth = jitted._loops, Growth(room=room)
            while True:
                try:
                    return trace(mode, growth)
                except Exception as error:
                    if isinstance(error, ConcretizationError) and branches is None and mode == "auto":
                        # a branch in a short loop can be traced where its test has no value
                        mode, growth = ROLLED, Growth(room=room)
                    elif growth.happens:
                        growth = Growth(f"the list is used where its length is to be known: {error}")
                    else:
                        raise
    except MergedArrayError as error:
        raise ChosenArrayError(f"{name}: {error}") from error
    except (AliasedError, FailedCall, WritesRank0):
        raise  # the call runs as Python, or is traced again, with all its effects
    except Exception as error:
        if isinstance(error, ConcretizationError):
            outside.check_possible()
        if acts and branches is not None:
            branches.act()
        raise


def _usual_room(leaves: Sequence[Any]) -> int:
    """The number of items for which lists of loops have room at first, in calls with these `leaves`: a power
    of two."""
    sizes = [math.prod(leaf.shape) for leaf in leaves if isinstance(getattr(leaf, "shape", None), tuple)]
    return 1 << min(max(max(sizes, default=0).bit_length(), _LEAST_ROOM), _MOST_ROOM)


def _wanted_value(error: Exception) -> ConcretizationError | None:
    """The error of a value that a library asked for, and that it has turned into another `error`."""
    reason: BaseException | None = error
    while reason is not None and not isinstance(reason, ConcretizationError):
        reason = reason.__cause__ or reason.__context__
    return None if reason is error else reason


@contextmanager
def _recording() -> Iterator[None]:
    """Record as code does that is not under ``no_grad``."""
    outer = STATE.recording, STATE.blocked
    STATE.recording, STATE.blocked = True, False
    try:
        yield
    finally:
        STATE.recording, STATE.blocked = outer
