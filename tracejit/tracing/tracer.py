"""Tracing: run a Python function on symbolic tensors to get a Function.

A Tracer is a Builder whose operands may also be Tensors. Concrete tensors and arrays that the function
closes over become extra parameters (captures), read afresh at each call. Python scalars passed to a
jitted function are symbols too, of weak type: they adopt the dtype of what they meet.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..base.errors import DTypeError, TraceError
from ..base.user_code import is_user_file
from ..frontend.guards import kept_content, same_content
from ..frontend.rewritten import original, original_site
from ..generator import Draws, Generator
from ..ir.builder import PLANS, Builder, operand_of
from ..ir.dtypes import (
    BOOL,
    BY_NAME,
    COMPLEX128,
    FLOAT64,
    INT64,
    NUMBERS,
    DType,
    Number,
    Operand,
    as_dtype,
    complex_dtype,
    default_dtype,
)
from ..ir.graph import Instruction, Value
from ..ir.registry import OPS, Attrs, Op
from ..ir.types import Shape, TensorType, tensor_type
from ..location import user_location
from ..runtime.bypass import bypass_while_tracing
from ..state import STATE
from ..tape.views import ViewStep, share
from ..tensors.foreign_arrays import check_class
from ..tensors.generator_states import LAYOUTS, GeneratorState
from ..tensors.tensor import Array, Tensor, as_array, wrap
from .branches import Branches, follow
from .integers import Integers
from .merged_arrays import OUTDATED, WRITTEN, MergedArrayError, MergedArrays
from .merged_containers import MergedContainers

if TYPE_CHECKING:
    from ..frontend.usage import Numbers
    from .handled_errors import HandledErrors

#: Python's operators that take bools as integers.
_ARITHMETIC: Final = frozenset((
    "abs", "add", "bitwise_not", "div", "floor_divide", "mul", "neg", "pow", "remainder", "shift_left",
    "shift_right", "sub",
))  # fmt: skip
#: Python's operators that give a bool of bools, and else take them as integers.
_BITWISE: Final = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor"))
#: Operators whose results are bools.
_COMPARISONS: Final = frozenset(("eq", "ge", "gt", "le", "lt", "ne"))
#: Ops that give a Python number where all operands are such.
_OPERATORS: Final = _ARITHMETIC | _BITWISE | _COMPARISONS

#: Operators of Python integers that are an error for some second operands, with the test for these and the
#: error.
_CHECKED: Final[dict[str, tuple[Op, str]]] = {
    "floor_divide": (OPS["eq"], "ZeroDivisorError: integer division or modulo by zero"),
    "remainder": (OPS["eq"], "ZeroDivisorError: integer division or modulo by zero"),
    "shift_left": (OPS["lt"], "DomainError: negative shift count"),
    "shift_right": (OPS["lt"], "DomainError: negative shift count"),
}

#: Operators of Python numbers that may do something else where the second operand is not positive.
_BY_SIGN: Final = frozenset((*_CHECKED, "pow"))

#: The Python types of weak values, by the kinds of their dtypes.
_WEAK_TYPES: Final[dict[str, type[int] | type[float] | type[complex]]] = {
    "i": int, "u": int, "f": float, "c": complex,
}  # fmt: skip

_SLICE, _RESHAPE = OPS["slice"], OPS["reshape"]
_SCALAR: Final[Attrs] = {"shape": ()}


class MadeGenerator:
    """A generator of NumPy's that a traced function has made from a seed, with its real `state`.

    The trace's own draws are made while it is traced: they are the same in each call. From the first draw on
    that a loop or a branch makes, its `words` are in the trace, and the real state stays.
    """

    def __init__(self, state: GeneratorState) -> None:
        self.state = state
        self.words: Tensor | None = None
        self._before: Array | None = None

    def begin(self, words: Tensor, before: Array) -> None:
        """Draw by `words`, whose elements are `before`, from now on."""
        self.words, self._before = words, before

    def is_mixed(self) -> bool:
        """Whether NumPy has drawn from it behind the trace."""
        return self._before is not None and not np.array_equal(self.state.peek(), self._before)


class Tracer(Builder):
    """The graph of one running trace."""

    #: Whether it is that of a region: asked at each item and test of rewritten code, where `isinstance` of a
    #: subclass of an abstract class takes longer than the rest.
    is_region = False

    def __init__(
        self,
        parent: Tracer | None = None,
        branches: Branches | None = None,
        numbers: Numbers | None = None,
    ) -> None:
        super().__init__()
        #: The Python numbers that become inputs where they meet tensors.
        self._numbers = numbers if numbers else None
        self._number_codes = numbers.codes() if numbers else set()
        #: The decisions by values that Python code asked for; None where it may not ask.
        self.branches = branches
        self.parent = parent
        #: The reason, as an error's message, why nothing may be drawn from a generator in this trace;
        #: empty where it may.
        self.no_draws = ""
        self.captures: dict[int, tuple[Any, Value]] = {}
        self._owned: set[Value] = set()
        self._weak: set[Value] = set()
        #: Python integers that decisions told, and what follows from them.
        self.integers = Integers()
        #: Narrower dtypes that weak integers were combined with.
        self.narrowed: dict[Value, tuple[int, int]] = {}
        #: Tensors of rank 0 that are arrays to Python code, by identity; see `is_scalar`.
        self._rank_0_arrays: dict[int, weakref.ref[Tensor]] = {}
        #: Values of rank 0 that must be arrays for tensors noted so to be arrays, by the tensors' identity.
        self._array_sources: dict[int, Value] = {}
        #: Parameters of rank 0 that are immutable scalars.
        self._scalars: set[Value] = set()
        #: Parameters among them that the trace relies on being scalars.
        self.treated_as_scalars: set[Value] = set()
        #: Values of rank 0 that the trace relies on being arrays.
        self.treated_as_arrays: set[Value] = set()
        #: The elements of captured arrays when they were captured, by identity.
        self.contents: dict[int, Array] = {}
        #: Tensors from outside whose elements Python code looked at, by identity.
        self.inspected: dict[int, Any] = {}
        #: Whether an array is written in place.
        self.has_written = False
        #: Values of which the trace takes for granted that they lie in C order in memory.
        self.taken_in_order: set[Value] = set()
        #: Tensors with views, and copies, that are such where values lie in C order, and these, by identity.
        self.shown_in_order: dict[int, tuple[Tensor, list[Value]]] = {}
        #: The value in whose order in memory one lies that does not tell, None where that is not C order.
        self.orders: dict[Value, Value | None] = {}
        #: Captured arrays of NumPy's that are written through tensors that share their memory.
        self.written: list[Array] = []
        self.merged_arrays: MergedArrays = MergedArrays(None if parent is None else parent.merged_arrays)
        self.merged_containers: MergedContainers = MergedContainers(
            None if parent is None else parent.merged_containers
        )
        #: The values of merged arrays that may not be read any more: if they may where a loop had steps, with
        #: the number of its steps.
        self._outdated: dict[Value, Tensor | None] = {}
        #: The error that a write or read of a merged array was; the traced function may have handled it.
        self.merged_error: MergedArrayError | None = None
        #: The operations whose errors the traced function handles, where somebody asks for them.
        self.handled: HandledErrors | None = None if parent is None else parent.handled
        #: The generators of NumPy's whose states calls can read and write, by identity.
        self.generators: frozenset[int] = frozenset()
        #: The states that were drawn from, with the tensors that hold their words, by the identity of the bit
        #: generator.
        self.generator_states: dict[int, tuple[GeneratorState, Tensor]] = {}
        #: The generators of NumPy's that the function has made in this trace, by the same.
        self.made_generators: dict[int, MadeGenerator] = {}
        #: Set while a gradient rule runs: its ops belong to the forward op's line.
        self.pinned_location = False

    def argument(self, type: TensorType, name: str, *, weak: bool = False) -> Tensor:
        value = self.parameter(type, name)
        self._owned.add(value)
        if weak:
            self._weak.add(value)
        return wrap(value)

    def write(self, instruction: Instruction) -> None:
        self.body.append(instruction)
        self._owned.update(instruction.results)
        handled = self.handled
        if handled is not None and (handled.looks or instruction.op.kind.traits.can_fail):
            handled.note(instruction)

    def owns(self, value: Value) -> bool:
        """Whether `value` belongs to this trace, and not to one around it or one that is over."""
        return value in self._owned

    def show_in_order(self, tensor: Tensor, value: Value) -> None:
        """Note that `tensor` has views, or is a copy, where `value` lies in C order in memory."""
        self.shown_in_order.setdefault(id(tensor), (tensor, []))[1].append(value)

    def note_order(self, value: Value) -> None:
        """Note that the trace relies on the elements of `value` lying one after the other in memory."""
        self.taken_in_order.add(value)

    def is_weak(self, value: Value) -> bool:
        """Whether `value` is a Python number, or arithmetic on such."""
        return value in self._weak

    def mark_weak(self, value: Value) -> None:
        """Mark `value` as a Python number for type promotion."""
        self._weak.add(value)

    def note_array(self, tensor: Tensor, source: Tensor | None = None) -> None:
        """Note that `tensor`, of rank 0, is an array to Python code, if `source` is where it is given."""
        self._rank_0_arrays[id(tensor)] = weakref.ref(tensor)
        if source is not None:
            self._array_sources[id(tensor)] = self._source_of_array(source)

    def _source_of_array(self, tensor: Tensor) -> Value:
        """The value that must be an array for `tensor` to be one."""
        base = tensor._aliases[0] if type(tensor._aliases) is tuple else tensor
        source: Value = self._array_sources.get(id(base), base._data)
        return source

    def note_scalar(self, tensor: Tensor) -> None:
        """Note that `tensor`, a parameter of rank 0, is an immutable scalar to Python code."""
        self._scalars.add(tensor._data)

    def is_scalar(self, tensor: Tensor) -> bool:
        """Whether a traced tensor of rank 0 is an immutable scalar to Python code, as NumPy's are: a Python
        number, an element of an array, and what is computed.

        Arguments, new arrays (``zeros(())``, ``x.copy()``), what was written in place and views are arrays.
        """
        value = tensor._data
        if self.is_weak(value):
            return True
        if tensor._aliases is not None:
            return False
        tracer: Tracer | None = self
        while tracer is not None:
            noted = tracer._rank_0_arrays.get(id(tensor))
            if noted is not None and noted() is tensor:
                return False
            if value in tracer._owned:
                is_input = any(value is param for param in tracer.params) or any(
                    value is symbol for _, symbol in tracer.captures.values()
                )
                if is_input and value not in tracer._scalars:
                    tracer.note_array(tensor)
                    return False
            tracer = tracer.parent
        return True

    def treats_as_scalar(self, tensor: Tensor) -> bool:
        """Whether `tensor` is a scalar, where what is traced depends on that: it is noted of parameters."""
        is_scalar = self.is_scalar(tensor)
        tracer: Tracer | None = self
        while tracer is not None:
            if not is_scalar:
                tracer.treated_as_arrays.add(tracer._source_of_array(tensor))
            elif tensor._data in tracer._scalars:
                tracer.treated_as_scalars.add(tensor._data)
            tracer = tracer.parent
        return is_scalar

    def operand_kind(self, value: Any) -> Operand:
        if type(value) is not Value:
            return operand_of(value)
        dtype = value.type.dtype
        return _WEAK_TYPES[dtype.kind] if value in self._weak and dtype is not BOOL else dtype

    def narrow(self, value: Value, dtype: DType) -> None:
        """Note that `value` becomes one of `dtype`: calls with an integer that does not fit raise."""
        if value in self._weak and value.dtype.kind == "i" and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            low, high = self.narrowed.get(value, (-(2**63), 2**63 - 1))
            self.narrowed[value] = (max(low, int(limits.min)), min(high, int(limits.max)))

    def _converted(self, operand: Any, dtype: DType, shape: Shape) -> Value:
        if isinstance(operand, Value):
            self.narrow(operand, dtype)
        return super()._converted(operand, dtype, shape)

    def lift(self, value: Any) -> Any:
        """The operand for `value` in the graph: a Value, or a Python scalar as it is."""
        if isinstance(value, Tensor):
            data = value._data
            if not isinstance(data, Value):
                return self._capture(value)
            if data not in self._owned:
                self.check_current(data)
            if data not in self._owned:
                raise TraceError(
                    f"a traced tensor of type {data.type} outlived its trace: it was stored outside the "
                    "function (in a global, an attribute or a list) while tracing. Return it instead."
                )
            return data
        if type(value) in NUMBERS:
            return value
        return self._capture(as_array(value) if not isinstance(value, np.ndarray) else value)

    def symbolic(self, value: Any) -> Any:
        """The symbol for an array, or a number that user code read outside its arguments; else `value`."""
        if type(value) is np.ndarray:
            return wrap(self.lift(as_array(value)))
        if type(value) is not float:
            return value
        tracer = self
        while tracer.parent is not None and tracer._numbers is None:
            tracer = tracer.parent
        return value if tracer._numbers is None else tracer._input_number(value)

    def _input_number(self, value: float) -> Any:
        assert self._numbers is not None
        frame = sys._getframe(2)
        while frame is not None and not is_user_file(frame.f_code.co_filename):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None or id(original(frame.f_code)) not in self._number_codes:
            return value
        number = self._numbers.input_for(value, *original_site(frame.f_code, frame.f_lasti))
        if number is None:
            return value
        capture = self.captures.get(id(number))
        if capture is None:
            symbol = Value(tensor_type(FLOAT64, ()), f"number{len(self.captures)}")
            self._owned.add(symbol)
            self._weak.add(symbol)
            capture = self.captures[id(number)] = (number, symbol)
        return wrap(capture[1])

    def outdate(self, value: Value) -> None:
        """Note that the memory which has `value` is written: merged arrays that may be it are not read any
        more. Raises if it is a merged array itself."""
        if self.merged_arrays.forbids_writing(value, self._has_steps):
            raise self._merged_error(WRITTEN)
        outdated = self.merged_arrays.outdated_by(value)
        self._outdated |= outdated
        self._owned.difference_update(outdated)

    def is_merged(self, value: Value) -> bool:
        """Whether `value` is that of a merged array of this trace, or of one around it."""
        tracer: Tracer | None = self
        while tracer is not None and tracer.merged_arrays.sources_of(value) is None:
            tracer = tracer.parent
        return tracer is not None

    def check_current(self, value: Value) -> None:
        """Raise where `value` is that of a merged array which is outdated."""
        if value not in self._outdated:
            return
        steps = self._outdated[value]
        if steps is None or not self._has_steps(steps):
            raise self._merged_error(OUTDATED)
        for other, same in [*self._outdated.items()]:
            if same is steps:
                del self._outdated[other]
                self._owned.add(other)

    def check_merged(self) -> None:
        """Raise MergedArrayError where what was traced is not what Python does: where the function has
        written a merged array, also if it has handled that error, or changed a container with several
        names."""
        if self.merged_error is not None:
            raise self.merged_error
        self.merged_containers.check(self._has_steps)

    @property
    def has_several_names(self) -> bool:
        """Whether an object that has several names in Python, by a loop or a traced condition, is several
        objects here."""
        return self.merged_arrays.is_any or self.merged_containers.is_any

    def _merged_error(self, message: str) -> MergedArrayError:
        error = MergedArrayError(message)
        if STATE.tracer is self:
            self.merged_error = error
        return error

    def _has_steps(self, steps: Tensor) -> bool:
        """Whether the number `steps` is not 0 in the call that is traced."""
        if self.is_region or not self.can_decide(steps._data):
            return False
        with tracing(self):
            return bool(steps > 0)

    def note_inspected(self, tensor: Any) -> None:
        """Python code looks at the elements of `tensor`, or array, which has some."""
        tracer = self
        while tracer.parent is not None:
            tracer = tracer.parent
        tracer.inspected[id(tensor)] = tensor

    def can_decide(self, value: Value) -> bool:
        """Whether Python code may ask for the value of `value`."""
        return self.branches is not None and value in self._owned

    def decide(self, value: Value) -> Array:
        """The value of `value` in the call that is traced."""
        assert self.branches is not None
        seen = self.branches.decide(self, value)
        if value in self._weak and value.dtype is INT64:
            self.integers.learn(value, int(seen))
        return seen

    def known_integer(self, value: Value) -> int | None:
        """The number that a Python integer of this trace, or of one around it, has on this path; None where
        no decision told."""
        tracer: Tracer | None = self
        while tracer is not None:
            if value in tracer._owned:
                return tracer.integers.number(value)
            tracer = tracer.parent
        return None

    def known_truth(self, value: Value) -> bool | None:
        """The truth of `value`, of this trace or of one around it, where it follows on this path from known
        integers; else None."""
        tracer: Tracer | None = self
        while tracer is not None and value not in tracer._owned:
            tracer = tracer.parent
        if tracer is None or not tracer.integers.known:
            return None
        told: dict[Value, Any] = {}
        producers = {result: step for step in tracer.body for result in step.results}
        return bool(told[value]) if follow(value, producers, told, tracer.integers) else None

    def is_constant(self, value: Value) -> bool:
        """Whether `value` is a number or an array of NumPy's that was captured: nobody can ask for a gradient
        by it."""
        return any(
            symbol is value and not isinstance(holder, Tensor) for holder, symbol in self.captures.values()
        )

    def as_captured(self) -> list[Any]:
        """The holders of what is captured, in its order: arrays that the function has written since as they
        were."""
        kept = [(holder, self.contents.get(id(holder))) for holder, _ in self.captures.values()]
        return [holder if old is None or same_content(holder, old) else old for holder, old in kept]

    def _capture(self, holder: Any) -> Value:
        """The parameter for something the function closes over, read from `holder` at each call."""
        capture = self.captures.get(id(holder))
        if isinstance(holder, np.ndarray):
            if type(holder) is not np.ndarray and self.handled is not None:
                check_class("a captured array", holder)
            if capture is not None and not same_content(holder, self.contents[id(holder)]):
                holder, capture = holder.copy(), None  # the function wrote it since
            if capture is None:
                self.contents[id(holder)] = kept_content(holder)
        if capture is not None:
            return capture[1]
        array = holder._data if isinstance(holder, Tensor) else holder
        value = Value(tensor_type(as_dtype(array.dtype), array.shape), f"captured{len(self.captures)}")
        self._owned.add(value)
        self.captures[id(holder)] = (holder, value)
        return value

    def draw(self, generator: Generator) -> tuple[Value, int]:
        """The parameter for `generator`'s state as a call finds it (see `Draws`), and how many keys the trace
        has drawn before this one."""
        if self.no_draws:
            raise TraceError(self.no_draws)
        if self.parent is not None:
            raise TraceError(
                "random.next_key: inside a trace within a trace it is not known how often the draw will run; "
                "make a key outside with tj.random.next_key(), and split or fold it where it is used"
            )
        capture = self.captures.get(id(generator))
        if capture is None:
            state = Value(TensorType(BY_NAME["u64"], (2,)), "generator")
            self._owned.add(state)
            capture = self.captures[id(generator)] = (Draws(generator), state)
        draws, state = capture
        draws.count += 1
        return state, draws.count - 1

    def generator_words(self, state: GeneratorState, *, inside: bool = False) -> Tensor | None:
        """The tensor of the words of a generator's `state`, which a call reads before and writes after unless
        the function makes the generator. None where that is not so: in traces within a trace, in those that
        are no call's, and of one that the trace has made, unless a region `inside` of it draws."""
        made = self.made_generators.get(id(state.bits))
        if made is not None:
            if made.state.kind != state.kind:
                return None
            if made.words is None and inside:
                self._begin_draws(made)
            return made.words
        known = self.generator_states.get(id(state.bits))
        if known is None:
            if id(state.generator) not in self.generators:
                return None
            words = Value(TensorType(BY_NAME["u64"], (LAYOUTS[state.kind].size,)), "generator")
            self._owned.add(words)
            self.captures[id(state.bits)] = (state, words)
            known = self.generator_states[id(state.bits)] = (state, wrap(words))
        # a RandomState has words of its own, beside those of the bit generator: the number that it keeps
        is_another = state.kind == "RandomState" and known[0].generator is not state.generator
        return None if is_another or known[0].kind != state.kind else known[1]

    def make_generator(self, state: GeneratorState) -> None:
        """Note that the function has made a generator with this `state`."""
        self.made_generators[id(state.bits)] = MadeGenerator(state)

    def _begin_draws(self, made: MadeGenerator) -> None:
        words = made.state.peek()
        value = self.constant(data=tuple(words.tolist()), shape=words.shape, dtype=words.dtype)
        made.begin(wrap(self.apply(OPS["copy"], (value,), {})), words)

    def written_generators(self) -> list[tuple[int, Tensor]]:
        """The positions, among what is captured, of the states that were drawn from, and their words now."""
        states = self.generator_states
        return [
            (position, states[identity][1])
            for position, (identity, (_, words)) in enumerate(self.captures.items())
            if identity in states and states[identity][1]._data is not words
        ]

    def detach(self, tensor: Tensor) -> Tensor:
        """`tensor` without its gradient. Both share memory, as it were: writes to either reach the other."""
        stop = OPS["stop_gradient"]
        result = wrap(self.run(stop, (tensor,), {}))
        share(tensor, result, ViewStep(stop, {}))
        return result

    def run(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Any:
        """Record `op` on Tensors, arrays and scalars; returns Values."""
        if not self.pinned_location:
            self.location = user_location(skipped=2)  # who runs ops of a trace are functions for users
        owned = self._owned
        values = tuple(
            [
                data
                if type(operand) is Tensor and type(data := operand._data) is Value and data in owned
                else self.lift(operand)
                for operand in operands
            ]
        )
        return self.run_lifted(op, values, attrs)

    def run_lifted(self, op: Op, values: tuple[Any, ...], attrs: Attrs) -> Any:
        """Record `op` on Values of this trace and scalars; returns Values."""
        if op.name not in _OPERATORS:
            return self.apply(op, values, attrs)
        weak = self._weak
        for value in values:
            if value not in weak if type(value) is Value else type(value) not in NUMBERS:
                return self.apply(op, values, attrs)
        numbers = values
        if op.name in _ARITHMETIC or (op.name in _BITWISE and not all(map(_is_bool, values))):
            numbers = tuple([self.as_number(value) for value in values])
        if op.name in _CHECKED:
            numbers = (numbers[0], self._checked(op, *numbers))
        elif op.name == "pow" and type(numbers[1]) is int and numbers[1] < 0:  # of an integer a float
            numbers = (self._as_float(numbers[0]), numbers[1])
        result = self.apply(op, numbers, attrs)
        self._note_number(op, numbers, result)
        return result

    def element(self, x: Tensor, slice_attrs: Attrs) -> Value:
        """Record the only element of a slice of `x` that lies inside, as a value of rank 0, on behalf of a
        function for users."""
        if not self.pinned_location:
            self.location = user_location(skipped=2)
        value = self.lift(x)
        dtype = value.type.dtype
        part = self._valid(_SLICE, (value,), slice_attrs, dtype, slice_attrs["size"])
        return self._valid(_RESHAPE, (part,), _SCALAR, dtype, ())

    def elementwise(self, op: Op, operands: tuple[Any, ...]) -> Value:
        """Record the elementwise `op`, without attributes, as `run` does: mostly in one step. To be called on
        behalf of a function of this package."""
        owned, weak = self._owned, self._weak
        values: list[Any] = []
        key = [id(op), id(default_dtype())]
        all_weak = True
        for operand in operands:
            kind = type(operand)
            if kind is Tensor and type(value := operand._data) is Value and value in owned:
                values.append(value)
                if value in weak:
                    key.append(~id(value.type))
                else:
                    all_weak = False
                    key.append(id(value.type))
            elif kind is float or kind is int:
                values.append(operand)
                key.append(id(kind))
            else:
                return self.run(op, operands, {})  # type: ignore[no-any-return]
        plan = PLANS.get(tuple(key))
        if plan is None or (all_weak and op.name in _BY_SIGN and not _is_positive(operands[-1])):
            return self.run(op, operands, {})  # type: ignore[no-any-return]
        if not self.pinned_location:
            self.location = user_location(skipped=3)
        result = self.write_planned(plan, op, tuple(values))
        if all_weak and op.name in _OPERATORS:
            self._note_number(op, values, result)
        return result

    def _note_number(self, op: Op, operands: Sequence[Any], result: Value) -> None:
        """Note that `result` is what Python's operator gives for `operands`, which are numbers."""
        self._weak.add(result)
        if op.name not in _ARITHMETIC:
            return
        self.integers.define(result, op, operands)
        if self.handled is not None:
            self.handled.note_operator(op, operands[-1])

    def _checked(self, op: Op, number: Any, operand: Any) -> Any:
        """`operand`, the second one of `op`, with the check for which Python raises an error where both are
        integers: the result has no value that would tell of it, as NaN does."""
        for each in (number, operand):
            if type(each) is not int and (type(each) is not Value or each.dtype is not INT64):
                return operand
        test, error = _CHECKED[op.name]
        known = operand if type(operand) is int else self.known_integer(operand)
        if known is not None and not test.eval(known, 0):
            return operand
        if type(operand) is int:
            operand = self.scalar(operand, INT64)
        return self.checked(operand, self.apply(test, (operand, 0), {}), error)

    def checked(self, integer: Value, fails: Value, error: str) -> Value:
        """The `integer`, which raises the `error` where `fails` holds as it is needed."""
        zeros = self.full(value=0, shape=(1,), dtype=INT64)
        index = self.cast(fails, dtype=INT64)
        zero = self.apply(OPS["check"], (zeros, index), {"axes": (), "error": error})
        result: Value = self.add(integer, zero)
        return result

    def numpy_scalar(self, number: Tensor) -> Value:
        """The Python `number` as the scalar that NumPy makes of it."""
        copied: Value = self.apply(OPS["copy"], (as_value(self, number),), {})
        return copied

    def _as_float(self, value: Any) -> Any:
        """The Python number `value`, an integer as a float."""
        if isinstance(value, Value) and value.dtype.kind == "i":
            value = self.cast(value, dtype=FLOAT64)
            self._weak.add(value)
        return value

    def as_number(self, value: Any) -> Any:
        """`value`, which is a Python number; a bool as the integer that it is to Python's arithmetic."""
        if isinstance(value, Value) and value.dtype is BOOL:
            value = self.cast(value, dtype=INT64)
            self._weak.add(value)
        return int(value) if type(value) is bool else value


class tracing:
    """Context manager: operations of this thread go to `tracer`."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def __enter__(self) -> Tracer:
        self._outer = STATE.tracer
        bypass_while_tracing(True)
        STATE.tracer = (
            self._tracer
        )  # last, and first at the exit: a signal's handler may raise behind any call
        return self._tracer

    def __exit__(self, *exc: object) -> None:
        STATE.tracer = self._outer
        bypass_while_tracing(self._outer is not None)


class not_tracing:
    """Context manager: operations of this thread run at once, whatever is traced around."""

    def __enter__(self) -> None:
        self._outer, STATE.tracer = STATE.tracer, None
        bypass_while_tracing(False)

    def __exit__(self, *exc: object) -> None:
        bypass_while_tracing(self._outer is not None)  # which traces inside have ended
        STATE.tracer = self._outer


def _is_bool(operand: Any) -> bool:
    return operand.dtype is BOOL if isinstance(operand, Value) else type(operand) is bool


def _is_positive(operand: Any) -> bool:
    return type(operand) is int and operand > 0


def is_weak(value: Any) -> bool:
    """Whether `value` is a Python number."""
    return type(value) in NUMBERS


def scalar_type(value: Number) -> TensorType:
    """The type of a Python number as a parameter."""
    if isinstance(value, bool):
        return tensor_type(BOOL, ())
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise DTypeError(f"the Python integer {value} does not fit 64 bits")
    if isinstance(value, complex):
        return tensor_type(COMPLEX128, ())
    return tensor_type(as_dtype(np.int64 if isinstance(value, int) else np.float64), ())


def as_value(tracer: Tracer, leaf: Any) -> Value:
    """A result as a Value: numbers become constants."""
    lifted = tracer.lift(leaf)
    if isinstance(lifted, Value):
        if (
            lifted.dtype in (FLOAT64, COMPLEX128)
            and default_dtype() is not FLOAT64
            and tracer.is_weak(lifted)
        ):
            own = default_dtype() if lifted.dtype is FLOAT64 else complex_dtype(default_dtype())
            cast: Value = tracer.cast(lifted, dtype=own)  # what a Python number becomes
            return cast
        return lifted
    return tracer.scalar(lifted, scalar_type(lifted).dtype)
