"""Traces of whole functions: a Function, with what it captured and which decisions it took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..base.records import field, record
from ..callback_results import KeptResults
from ..ir.graph import Function
from ..ir.types import TensorType
from ..runtime.bypass import bypass_while_tracing
from ..state import STATE
from ..tensors.tensor import Array
from .branches import Branches, Decision
from .memory_orders import taken_in_order
from .tracer import Tracer, as_value, tracing

if TYPE_CHECKING:
    from ..frontend.usage import Numbers


@record(eq=False, frozen=False)
class Traced:
    """A Function; what it captures, in the order of its last parameters; the ranges of its integer
    parameters that meet narrower dtypes; what else the traced function handed back; and the decisions that
    it took by values, which are the Function's last results."""

    function: Function
    captured: list[Any]
    ranges: dict[int, tuple[int, int]]
    rest: Any
    decisions: list[Decision]
    #: Tensors from outside whose elements Python code looked at.
    inspected: list[Any] = field(default_factory=list)
    #: The elements of captured arrays when they were captured, by identity.
    contents: dict[int, Array] = field(default_factory=dict)
    #: Captured arrays of NumPy's that were written through tensors.
    written: list[Array] = field(default_factory=list)
    #: Whether something has several names in Python, by a loop or a traced condition, and is several objects.
    has_several_names: bool = False
    #: Results of callbacks that ran while the values of decisions were computed.
    callback_results: KeptResults | None = None
    #: The positions of the parameters that are taken to lie in C order in memory, and whether what does not
    #: lie so is, too: see `memory_orders`.
    in_order: tuple[frozenset[int], bool] = (frozenset(), False)
    #: The report on each loop in the functions that ran.
    loops: tuple[Any, ...] = ()


def trace_flat(
    fn: Callable[..., Any],
    types: Sequence[tuple[TensorType, bool, str]],
    branches: Branches | None = None,
    numbers: Numbers | None = None,
) -> Traced:
    """Run `fn` on symbols of `types` (type, weak, name), collecting captures and, by `branches`, decisions.

    `fn` returns ``(leaves, rest)``: the results as a flat list of Tensors, arrays and numbers, and
    anything else to hand back. The Function's parameters are the arguments and then the captures.
    """
    outer = STATE.tracer
    tracer = Tracer(outer, branches, numbers)
    try:
        with tracing(tracer):
            arguments = [tracer.argument(type, name, weak=weak) for type, weak, name in types]
            leaves, rest = fn(*arguments)
            tracer.check_merged()
            results = [as_value(tracer, leaf) for leaf in leaves]
    except BaseException as error:  # a signal's handler may have raised on the way into `__exit__`
        STATE.tracer = outer
        bypass_while_tracing(outer is not None)
        if branches is not None and isinstance(error, Exception):
            branches.unfinished = tracer
        raise
    holders = [holder for holder, _ in tracer.captures.values()]
    tracer.params += [value for _, value in tracer.captures.values()]
    ranges = {i: tracer.narrowed[param] for i, param in enumerate(tracer.params) if param in tracer.narrowed}
    ranges = {i: limits for i, limits in ranges.items() if limits != (-(2**63), 2**63 - 1)}
    decisions = [] if branches is None else branches.made
    results += [decision.value for decision in decisions]
    function = tracer.finish(getattr(fn, "__name__", "f"), results)
    inspected = list(tracer.inspected.values())
    kept = branches.callback_results if decisions and branches is not None else None
    return Traced(
        function,
        holders,
        ranges,
        rest,
        decisions,
        inspected,
        tracer.contents,
        tracer.written,
        tracer.has_several_names,
        kept,
        taken_in_order(tracer),
    )
