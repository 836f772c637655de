"""Runtime of rewritten code: each statement decides whether it is traced once or runs as Python does."""

from __future__ import annotations

import functools
import operator
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from ..array import creation
from ..array.joining import stack
from ..array.operands import as_tensor
from ..base.errors import ConcretizationError, TraceError
from ..dispatch.dispatch import apply
from ..ir.dtypes import BOOL
from ..ir.registry import OPS
from ..pytree import tree_leaves
from ..state import STATE
from ..tensors.tensor import Tensor, wrap
from ..tracing.handled_errors import RaisedInLoopError
from . import iterations
from .branches import chosen, conditional
from .calls import Subarray, checked_callee, checked_method, checked_target, note_change
from .lists.buffered_dicts import BufferedDict, BufferedSet
from .lists.buffered_lists import BufferedList
from .lists.buffers import ChangesListError, is_searched
from .lists.stacked_lists import StackedList, as_tested
from .optional_values import OptionalValue, Presence, is_same_object, note_presence, presence, with_values
from .reports import CURRENT, LoopError, where
from .running import note, run_for, run_while
from .scalars import contains, opposite, truth
from .source.descriptions import Statement
from .source.functions import set_runtime
from .stand_ins import everywhere
from .unrolled import Comprehensions, watched
from .variables import Variables, has_memory_alone, is_integer, is_rank_0_array, is_traced

_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq,
    "NotEq": operator.ne, "Is": functools.partial(is_same_object, negated=False),
    "IsNot": functools.partial(is_same_object, negated=True),
    "In": lambda x, y: _contains(x, y), "NotIn": lambda x, y: _negated(_contains(x, y)),
}  # fmt: skip


def _in_float64(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function`, whose second argument is the dtype: NumPy's default, whatever ours is."""

    @functools.wraps(function)
    def made(*args: Any, **options: Any) -> Tensor:
        if len(args) <= 1:
            options.setdefault("dtype", np.float64)
        return function(*args, **options)

    return made


def _full(shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **options: Any) -> Tensor:
    """``numpy.full``: of a Python float in float64, whatever our default is."""
    if dtype is None and type(fill_value) is float:
        dtype = np.float64
    return creation.full(shape, fill_value, dtype, *args, **options)


def _uninitialized(
    shape: Any,
    dtype: Any = np.float64,
    buffer: None = None,
    offset: int = 0,
    strides: None = None,
    order: str | None = None,
) -> Any:
    """``numpy.ndarray``, without a buffer or strides, which only concrete memory has."""
    if buffer is not None or strides is not None:
        return np.ndarray(shape, dtype, buffer, offset, strides, order)
    return creation.empty(shape, dtype, order=order or "C")


_CREATIONS: Final[tuple[tuple[Any, Callable[..., Any]], ...]] = (
    (np.zeros, _in_float64(creation.zeros)),
    (np.ones, _in_float64(creation.ones)),
    (np.empty, _in_float64(creation.empty)),
    (np.ndarray, _uninitialized),
    (np.full, _full),
    (np.zeros_like, creation.zeros_like),
    (np.ones_like, creation.ones_like),
    (np.empty_like, creation.empty_like),
    (np.full_like, creation.full_like),
)


class Runtime(Comprehensions):
    """The functions of rewritten code."""

    # -- loops --------------------------------------------------------------------------------------

    def for_(self, iterable: Iterable[Any], body: Callable[[Any], Any], statement: Statement) -> None:
        """``for item in iterable``"""
        run_for(iterable, body, statement)

    def while_(self, test: Callable[[], Any], body: Callable[[], Any], statement: Statement) -> None:
        """``while test()``"""
        run_while(test, body, statement)

    def iteration(self, function: Any) -> Any:
        """`function`, or what stands in for ``range``, ``enumerate``, ``zip`` and ``reversed``."""
        try:
            return iterations.STAND_INS.get(function, function) if STATE.tracer is not None else function
        except TypeError:
            return function

    def refused(self, iterable: Iterable[Any], statement: Statement) -> Iterable[Any]:
        """The iterable of a loop that is not rewritten, with its operations counted during a trace."""
        session = CURRENT.session
        if STATE.tracer is None or session is None:
            return iterable
        reason = "" if session.mode == "unrolled" else note(statement, session, statement.refused)
        return watched(iterable, statement, session, reason)

    def refused_test(self, value: Any, statement: Statement) -> Any:
        """The test of a loop that stays as it is written."""
        session = CURRENT.session
        if STATE.tracer is not None and session is not None and session.mode != "unrolled":
            note(statement, session, statement.refused)
            session.count(where(statement), len(STATE.tracer.body), statement.refused)
        return value

    # -- errors -------------------------------------------------------------------------------------

    def is_plain(self) -> bool:
        """Whether the code is not traced, so that a loop may raise where it is written to."""
        return STATE.tracer is None

    def raised(self) -> BaseException:
        """The error of a trace in which a step of a loop raises."""
        return RaisedInLoopError("a step of a loop raises")

    # -- branches -----------------------------------------------------------------------------------

    def if_(self, test: Any, then: Any, orelse: Any, statement: Statement) -> None:
        """``if test``"""
        test = _told(_as_test(test))
        if type(test) is bool or not _is_structured(test):
            function = then if test else orelse
            if function is not None:
                function()
            return
        known, variables = presence(test), Variables(then, orelse)
        then, orelse = with_values(then, known.if_true), with_values(orelse, known.if_false)
        try:
            conditional(truth(test), then or _nothing, orelse or _nothing, statement, variables)
        except Exception as error:
            session = CURRENT.session
            if is_searched(error):
                return
            if not isinstance(error, LoopError):
                raise
            if session.attempts or session.sides:
                raise  # what stands around it is traced otherwise
            raise TraceError(
                f"{session.label}: the branch at {where(statement)} depends on a value that the trace does "
                f"not have, and cannot be compiled: {error}"
            ) from None

    def choose(self, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """``then() if test else orelse()``"""
        test = _told(_as_test(test))
        if not _is_structured(test):
            return then() if test else orelse()
        known = presence(test)
        return chosen(truth(test), with_values(then, known.if_true), with_values(orelse, known.if_false))

    def not_(self, value: Any) -> Any:
        """``not value``"""
        return _negated(value)

    def and_(self, value: Any, *more: Callable[[], Any]) -> Any:
        """``value and more()``"""
        return _conjunction(value, more, _as_operand, acts=True)

    def or_(self, value: Any, *more: Callable[[], Any]) -> Any:
        """``value or more()``"""
        return _disjunction(value, more, _as_operand, acts=True)

    def both(self, acts: bool, value: Any, *more: Callable[[], Any]) -> Any:
        """``value and more()`` as a test, where `more` may do something beside computing if it `acts`"""
        return _conjunction(value, more, _as_truth, acts=acts)

    def either(self, acts: bool, value: Any, *more: Callable[[], Any]) -> Any:
        """``value or more()`` as a test, where `more` may do something beside computing if it `acts`"""
        return _disjunction(value, more, _as_truth, acts=acts)

    def is_(self, value: Any, other: Any, negated: bool) -> Any:
        """``value is other``, ``value is not other``"""
        return is_same_object(value, other, negated=negated)

    def compare(self, names: tuple[str, ...], value: Any, *more: Callable[[], Any]) -> Any:
        """``value < more[0]() <= more[1]()``"""

        def following(position: int, left: Any) -> Any:
            right = more[position]()
            result = _COMPARISONS[names[position]](left, right)
            if position + 1 == len(more):
                return result
            if _is_structured(result):
                return chosen(truth(result), lambda: following(position + 1, right), lambda: False)
            return following(position + 1, right) if result else result

        return following(0, value)

    # -- effects ------------------------------------------------------------------------------------

    def callee(self, function: Any) -> Any:
        """`function`, which is about to be called."""
        session = CURRENT.session
        if session is None or STATE.tracer is None:
            return function
        of_container = isinstance(getattr(function, "__self__", None), (list, dict, deque, set))
        if of_container or STATE.tracer.merged_containers.groups:
            note_change(function)
        if session.attempts or (session.sides and (function is list or function is dict)):
            return checked_callee(function)
        return everywhere(checked_method(function) if of_container and session.sides else function)

    def creation(self, function: Any) -> Any:
        """`function`; for NumPy's that make arrays, tracejit's, which make Tensors of the same dtype."""
        if STATE.tracer is not None and CURRENT.session is not None:
            for theirs, ours in _CREATIONS:
                if function is theirs:
                    return ours
        return self.callee(function)

    def references(self, value: Any) -> int:
        """Number of references to `value` while a method is called with it."""
        return sys.getrefcount(value)

    def own(self, value: Any) -> Any:
        """`value`, whose elements the function writes; if it is an array of NumPy's that nothing else refers
        to, a Tensor, whose elements may be traced."""
        if (
            type(value) is np.ndarray
            and STATE.tracer is not None
            and CURRENT.session is not None
            and value.dtype.kind in "biufc"
            and sys.getrefcount(value) <= _ALONE
            and has_memory_alone(value)
        ):
            tensor: Tensor = apply(OPS["copy"], (wrap(value),), {})
            if not value.shape:
                STATE.tracer.note_array(tensor)
            return tensor
        return value

    def slice_of(self, start: Any, stop: Any, step: Any) -> slice:
        """``start:stop:step``"""
        return slice(start, stop, step)

    def item(self, value: Any, key: Any) -> Any:
        """``value[key]`` outside of loops; of an array of NumPy's by what is traced, too."""
        if type(value) is np.ndarray and any(map(is_traced, key if type(key) is tuple else (key,))):
            value = as_tensor(value)
        return value[key]

    def target(self, value: Any) -> Any:
        """`value`, whose items are about to be written."""
        value = self._target(value)
        is_plain = isinstance(value, dict) and not isinstance(value, BufferedDict)
        return (
            _WrittenItems(value)
            if is_plain and STATE.tracer is not None and STATE.tracer.is_region
            else value
        )

    def _target(self, value: Any) -> Any:
        session = CURRENT.session
        if session is None or STATE.tracer is None:
            return value
        STATE.tracer.merged_containers.write(value)
        if session.attempts or (session.sides and isinstance(value, (list, dict))):
            return checked_target(value)
        return value

    def fresh(self, value: Any) -> Any:
        """`value`, a list or dict that was made here, and that code here may change."""
        session = CURRENT.session
        if session is not None:
            session.note_fresh(value)
        return value

    def indexed(self, value: Any) -> Any:
        """`value`, an item of which is read, by an index that may be traced."""
        tracer = STATE.tracer
        if tracer is None or not tracer.is_region or isinstance(value, Tensor):
            return value
        if type(value) is np.ndarray:
            return tracer.symbolic(value)
        if isinstance(value, StackedList):
            if isinstance(value, BufferedList) and value.is_buffered:
                return value
            return value if value.selection() is not None else _stacked_or_list(value)
        if type(value) is tuple and _are_numbers(value):
            return _Numbers(value)
        if type(value) is list or (isinstance(value, dict) and not isinstance(value, BufferedDict)):
            return _ContainerItems(value)
        return value

    def part(self, value: Any, index: Any, to_write: bool) -> Any:
        """``value[index]``, an item of which is read or written."""
        session = CURRENT.session
        if session is not None and session.attempts:
            value = value if isinstance(value, Subarray) else self.indexed(value)
            if (
                isinstance(value, (Subarray, Tensor))
                and value.ndim > 1
                and is_integer(index)
                and not is_rank_0_array(index)
            ):
                return Subarray.of(value, index)
        item = self.indexed(value)[index]
        return self.target(item) if to_write else self.indexed(item)

    def augmented(self, name: str, value: Any, operand: Any) -> Any:
        """The new value of a variable after an augmented assignment with the operator `name`."""
        value = self._target(value)
        return getattr(operator, f"i{name.rstrip('_')}")(value, operand)

    def attribute_target(self, value: Any) -> Any:
        """`value`, whose attribute is about to be written."""
        session = CURRENT.session
        if session is not None and session.attempts:
            raise LoopError(f"it sets an attribute of a {type(value).__name__}")
        return self._target(value)


def _are_numbers(items: Any) -> bool:
    """Whether `items` are Python numbers of one type."""
    return {*map(type, items)} in ({int}, {float})


def _are_traced_numbers(items: Any) -> bool:
    """Whether `items` are numbers of Python's of one type, which are traced, as those of a list that is an
    argument."""
    values = [item._data for item in items if is_traced(item) and STATE.tracer.is_weak(item._data)]
    return len(values) == len(items) and len({value.type for value in values}) == 1


def _number(element: Tensor) -> Tensor:
    """An `element` of an array of numbers, as the number of Python's that it is."""
    if not element.shape:
        STATE.tracer.mark_weak(element._data)
    return element


class _Numbers(tuple[Any, ...]):
    """Python numbers of one type in a tuple, or in a list that no step writes, which are read by what is
    traced, too."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if not is_traced(index):
            return super().__getitem__(index)
        return _number(wrap(np.array(self))[index])


class _ContainerItems:
    """The items of a list or dict, which becomes one that loops carry where an index is traced. Of a
    `defaultdict`, no read in a traced step makes another item."""

    def __init__(self, items: Any) -> None:
        self._items = items

    def __getitem__(self, index: Any) -> Any:
        is_list = isinstance(self._items, list)
        if is_list and is_integer(index) and is_traced(index):
            if _are_numbers(self._items):
                return _Numbers(self._items)[index]
            if _are_traced_numbers(self._items):
                return _number(stack(self._items)[index])
        if is_integer(index) and is_traced(index) if is_list else any(map(is_traced, tree_leaves(index))):
            kind = (
                "a list at an index that it needs as a Python integer"
                if is_list
                else "a dict by a traced key"
            )
            raise ChangesListError(f"it reads {kind}", id(self._items))
        if isinstance(self._items, defaultdict) and index not in self._items:
            problem = "it reads an item that a defaultdict does not have, and gets by that"
            raise ChangesListError(problem, id(self._items))
        return self._items[index]


class _WrittenItems(_ContainerItems):
    """The items of a dict that are written, which becomes one that loops carry where a key is traced."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check(key)
        self._items[key] = value

    def __delitem__(self, key: Any) -> None:
        self._check(key)
        del self._items[key]

    def _check(self, key: Any) -> None:
        if any(map(is_traced, tree_leaves(key))):
            raise ChangesListError("it writes a dict by a traced key", id(self._items))


def _is_structured(test: Any) -> bool:
    """Whether a test is traced where Python code cannot be told its value."""
    tracer = STATE.tracer
    return tracer is not None and tracer.is_region and is_traced(test)


def _stacked_or_list(value: StackedList) -> Any:
    stacked = value.stacked()
    return value if stacked is None else stacked


def _as_test(value: Any) -> Any:
    """`value` as it is tested; whether there is something in what is traced otherwise than as a tensor."""
    if isinstance(value, OptionalValue):
        return value.is_true()
    tracer, session = STATE.tracer, CURRENT.session
    is_traced_once = tracer is not None and (
        tracer.is_region or (session is not None and session.first_tests)
    )
    return as_tested(value) if is_traced_once else value


def _told(test: Any) -> Any:
    """`test`, or its truth where that follows from integers that are known on this path: then one side alone
    is traced."""
    if not _is_structured(test) or test.dtype is not BOOL:
        return test
    known = STATE.tracer.known_truth(test._data)
    return test if known is None else known


def _contains(value: Any, container: Any) -> Any:
    """``value in container``"""
    if isinstance(container, StackedList) and STATE.tracer is not None and STATE.tracer.is_region:
        selection = container.selection()
        if selection is not None and selection.ndim == 1:
            return (selection == value).any()
    if isinstance(container, (dict, set)) and any(map(is_traced, tree_leaves(value))):
        if isinstance(container, (BufferedDict, BufferedSet)):
            return container.has(value)
        if not container:
            return False
        if STATE.tracer.is_region:
            raise ChangesListError("it looks for what is traced in a dict or set", id(container))
    return contains(value, container)


def _as_operand(value: Any) -> Any:
    """`value`, an operand of ``and`` or ``or`` whose result may be it."""
    if isinstance(value, StackedList) and as_tested(value) is not value and STATE.tracer.is_region:
        raise LoopError("it uses the result of `and` or `or` of a list otherwise than as a test")
    return value


def _as_truth(value: Any) -> Any:
    """The truth of `value`, an operand of a test."""
    tested, session = _as_test(value), CURRENT.session
    is_first = session is not None and session.first_tests > 0 and is_traced(tested)
    return note_presence(truth(tested), presence(tested)) if is_first or _is_structured(tested) else tested


def _conjunction(
    value: Any, more: Iterable[Callable[[], Any]], operand: Callable[[Any], Any], *, acts: bool
) -> Any:
    """``value and more()``, of which each part is what `operand` makes of it."""
    value = operand(value)
    for thunk in more:
        result = _compiled(value, functools.partial(_both, value, thunk, operand), acts=acts)
        if result is not _ASKED:
            value = result
        elif not value:
            return value
        else:
            value = operand(thunk())
    return value


def _both(value: Any, thunk: Callable[[], Any], operand: Callable[[Any], Any]) -> Any:
    present = presence(value).if_true
    second = _Tested(with_values(thunk, present), operand)
    result = chosen(truth(value), second, _constantly(value))
    return note_presence(result, Presence(if_true=(*present, *second.known.if_true)))


def _disjunction(
    value: Any, more: Iterable[Callable[[], Any]], operand: Callable[[Any], Any], *, acts: bool
) -> Any:
    """``value or more()``, of which each part is what `operand` makes of it."""
    value = operand(value)
    for thunk in more:
        result = _compiled(value, functools.partial(_either, value, thunk, operand), acts=acts)
        if result is not _ASKED:
            value = result
        elif value:
            return value
        else:
            value = operand(thunk())
    return value


def _either(value: Any, thunk: Callable[[], Any], operand: Callable[[Any], Any]) -> Any:
    present = presence(value).if_false
    second = _Tested(with_values(thunk, present), operand)
    result = chosen(truth(value), _constantly(value), second)
    return note_presence(result, Presence(if_false=(*present, *second.known.if_false)))


def _compiled(value: Any, choice: Callable[[], Any], *, acts: bool) -> Any:
    """``choice()``, which chooses by a traced `value`; `_ASKED` where that is not to be compiled, or in the
    first test of a loop cannot be, so that the value is asked for: there nothing keeps what the side that is
    not taken does, if it `acts`."""
    if _is_structured(value):
        return choice()
    session = CURRENT.session
    if acts or session is None or not session.first_tests or not is_traced(value):
        return _ASKED
    try:
        return choice()
    except (LoopError, ConcretizationError):
        return _ASKED


def _negated(value: Any) -> Any:
    value = _as_test(value)
    if not _is_structured(value):
        return not value
    known = presence(value)
    return note_presence(opposite(value), Presence(known.if_false, known.if_true))


class _Tested:
    """An operand of ``and`` and ``or``, and what it tells where it was computed."""

    def __init__(self, thunk: Callable[[], Any], operand: Callable[[Any], Any]) -> None:
        self._thunk, self._operand, self.known = thunk, operand, Presence()

    def __call__(self) -> Any:
        value = self._operand(self._thunk())
        self.known = presence(value)
        return value


#: A mark instead of the value of an operator whose operand is asked for its value.
_ASKED: Final = object()


def _nothing() -> None:
    pass


def _constantly(value: Any) -> Callable[[], Any]:
    return lambda: value


_ALONE: Final = Runtime().references(np.empty(1))
set_runtime(Runtime())
