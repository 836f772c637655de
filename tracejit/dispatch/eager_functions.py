"""Eager functions: the record of an op, a Python function, and a native one that follows from the record.

Which of the two runs is decided in `EagerFunction.take`, by the `Way` that calls take now. The Python
function serves every call; the native one serves what is common, with the same results, and hands on the
rest.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, assert_never

from ..ir.ops.define import ufunc_behind
from ..ir.registry import OPS, Builtin, Kind, Op
from ..state import STATE
from ..tape.plans import Composite, ops_of
from ..tape.recording import recorder
from ..tape.views import forget_dead, step_of
from .native_ops import counted, when_linked

if TYPE_CHECKING:
    from ..runtime.native.eager import NativeOps


class Way(enum.Enum):
    """The ways in which an eager function runs. In each of them, what requires a gradient is recorded."""

    #: The Python function puts the op into the graph, as this thread traces.
    TRACED = enum.auto()
    #: The Python function calls another kernel than the record's: a user's, a backend's, or an observer's.
    BACKEND = enum.auto()
    #: The native function calls NumPy's code for what the record means.
    NATIVE = enum.auto()
    #: The Python function calls the record's kernel; calls are counted until there are native functions.
    COUNTED = enum.auto()
    #: The Python function calls the record's kernel, as nothing native does that.
    PYTHON = enum.auto()


class EagerFunction:
    """An op, or what is written with ops, as eager code calls it.

    Attributes:
        op: the record.
        python: the Python function. Its arguments are those of the builtin function of NumPy's that does what
            the op does (`registry.Builtin`), of an elementwise op its operands, and of an op that joins any
            number of operands a list or tuple of them and the axis.
        builtin: that builtin function: the record's, or another one for arguments of its own.
        remember: records a result, as ``remember(result, *arguments)``.
        native: the native function, with the same arguments; None where there is none, or not yet.
        on_arrays: the native function of an elementwise op on ndarrays, for backward passes.
        run: the function to call.
        method: the Python function of an elementwise op that takes the operands alone and calls `run`: the
            method of Tensor.
    """

    __slots__ = (
        "_followers", "_meant", "_taken", "_ufunc", "_waits", "builtin", "method", "native", "on_arrays",
        "op", "python", "remember", "run",
    )  # fmt: skip

    def __init__(
        self, op: Op | Composite, python: Callable[..., Any], builtin: Builtin | None = None
    ) -> None:
        self.op, self.python, self.remember = op, python, recorder(op, builtin)
        self.builtin = builtin or op.builtin
        self.native: Callable[..., Any] | None = None
        self.on_arrays: Callable[..., Any] | None = None
        self.run, self._taken = python, Way.PYTHON
        self.method: Callable[..., Any] | None = None
        self._meant = [(each, OPS.meaning(each)) for each in ops_of(op)]
        self._ufunc = _ufunc_of(op) if self.builtin is None else None
        self._followers: list[Callable[[Callable[..., Any]], None]] = []
        self._waits = self.builtin is not None or self._ufunc is not None
        for each, _ in self._meant:
            OPS.follow_kernel(each, self._decide)
        if self._waits:
            when_linked(self._link)
        FUNCTIONS.append(self)

    @property
    def way(self) -> Way:
        """The way that a call of this thread takes now."""
        return Way.TRACED if STATE.tracer is not None else self._standing()

    def _standing(self) -> Way:
        if any(op.kernel is not own for op, own in self._meant):
            return Way.BACKEND
        if self.native is not None:
            return Way.NATIVE
        return Way.COUNTED if self._waits else Way.PYTHON

    def _decide(self, _kernel: Any = None) -> None:
        way = self._standing()
        if way is not self._taken:
            self.take(way)

    def take(self, way: Way) -> None:
        """Let calls run in this `way` from now on, and tell who follows."""
        self._taken = way
        match way:
            case Way.NATIVE:
                assert self.native is not None
                self.run = self.native
            case Way.COUNTED:
                self.run = counted(self.python)
            case Way.PYTHON | Way.BACKEND | Way.TRACED:
                self.run = self.python
            case _:
                assert_never(way)
        for become in self._followers:
            become(self.run)

    def follow(self, become: Callable[[Callable[..., Any]], None]) -> None:
        """Call ``become(run)`` now, and with each function that `run` will be."""
        self._followers.append(become)
        become(self.run)

    def _link(self, natives: NativeOps | None) -> None:
        """Make the native function, if there can be one."""
        self._waits = False
        if natives is not None:
            self.native = self.make(natives, self.python)
        self._decide()
        if self.on_arrays is not None:
            for tell in _CALLBACKS:
                tell()

    def make(self, natives: NativeOps, python: Callable[..., Any]) -> Callable[..., Any]:
        """The native function that the record asks for. What it does not serve, such as large arrays, goes to
        NumPy's function without a Python function around it, and then to `python`."""
        op, remember, builtin = self.op, self.remember, self.builtin
        if builtin is None:
            assert self._ufunc is not None
            ufunc, floats = self._ufunc
            kernel = self._meant[0][1]
            self.on_arrays = natives.make(ufunc, kernel, None, floats=floats)
            call = natives.make_call(kernel, python, remember, operands=ufunc.nin)
            return natives.make(ufunc, call, remember, floats=floats)
        if op.params[0].startswith("*"):
            call = natives.make_call(
                builtin.function, lambda axis, *arrays: python(arrays, axis), remember,
                first=len(builtin.arguments), operands=0,
            )  # fmt: skip

            def spread(arrays: Any, axis: Any) -> Any:
                if type(axis) is int and (type(arrays) is tuple or type(arrays) is list):
                    return call(axis, *arrays)
                return python(arrays, axis)

            return natives.make_join(spread, remember, stacking=isinstance(op, Composite))
        is_view = all(each.kind is Kind.VIEW for each in ops_of(op))
        return natives.make_call(
            builtin.function, python, remember, operands=len(op.params), second=builtin.second,
            writable=builtin.writable, step=step_of(op, builtin) if is_view else None,
            shorten=forget_dead if is_view else None,
        )  # fmt: skip


def _ufunc_of(op: Op | Composite) -> tuple[Any, bool] | None:
    """The ufunc that computes an elementwise op, and whether for floating dtypes alone; None without one."""
    behind = ufunc_behind(OPS.meaning(op)) if isinstance(op, Op) else None
    if behind is None or behind[0].nout != 1 or behind[0].nin != len(op.params):
        return None
    return behind


#: All eager functions.
FUNCTIONS: Final[list[EagerFunction]] = []
#: The eager functions of elementwise ops, by op.
ELEMENTWISE: Final[dict[Op, EagerFunction]] = {}
#: Callbacks to run when `kernel_on_arrays` has got native functions to give.
_CALLBACKS: Final[list[Callable[[], None]]] = []


def without_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The public `function` as it takes its operands alone, without the options of NumPy's ufuncs."""
    eager: EagerFunction | None = getattr(function, "eager", None)
    return function if eager is None or eager.method is None else eager.method


def kernel_on_arrays(op: Op) -> Callable[..., Any]:
    """``op.kernel``, or the native function on ndarrays that is as good."""
    function = ELEMENTWISE.get(op)
    if function is None or function.on_arrays is None or function._standing() is not Way.NATIVE:
        return op.kernel
    return function.on_arrays


def when_changed(tell: Callable[[], None]) -> None:
    """Call ``tell()`` when `kernel_on_arrays` has got native functions to give."""
    _CALLBACKS.append(tell)
