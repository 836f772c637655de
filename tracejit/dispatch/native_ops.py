"""Native eager ops: elementwise ops become native functions in a program that runs many of them.

`dispatch` offers each op's Python function here. While it is on offer its calls are counted; after
`_CALLS` of all ops a thread in the background links the native code (`runtime.native.eager`), which takes
some milliseconds where the disk cache has it and a tenth of a second where it is compiled, and the ops
change over. The native functions give what does not suit them back to the Python functions, so nothing
depends on when that happens. Backward passes get native functions on ndarrays, `kernel_on_arrays`. Where
there can be no native code, `problem` says why, and ``tracejit doctor`` reports it.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import TracejitError
from ..base.loading import load_module
from ..base.process.forking import FORKS
from ..base.process.locks import ForkLock
from ..base.records import record
from ..ir.ops.define import ufunc_behind
from ..ir.registry import OPS, Builtin, Kind, Op
from ..tape.plans import Composite, ops_of
from ..tape.recording import recorder
from ..tape.views import forget_dead, step_of
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..codegen.native.entry.table import EntryLayout
    from ..runtime.native.eager import NativeOp, NativeOps

_SLOTS: Final = ("_data", "_grad", "_node", "_requires_grad", "_memory", "_aliases", "_hooks")


def entry_layout_of_tensors() -> EntryLayout | None:
    """The memory layout of Tensors for native code; None if this interpreter does not allow native access."""
    layout: EntryLayout | None = load_module("..runtime.native.entry", __package__).entry_layout(
        Tensor, _SLOTS
    )
    return layout


#: A program that runs fewer eager ops is over before native code could help it.
_CALLS: Final = 1000


@record(eq=False)
class _Offer:
    op: Op
    plain: Callable[..., Any]
    remember: Callable[..., Any]
    become: Callable[[Callable[..., Any]], None]


@record(eq=False, frozen=False)
class _Progress:
    calls: int = 0
    asked: bool = False
    done: bool = False
    problem: str = ""


_OFFERS: Final[list[_Offer]] = []
_NATIVE_FUNCTIONS: Final[list[_NativeFunction]] = []
#: The native functions on ndarrays, by op, with the kernels that they stand for.
_ON_ARRAYS: Final[dict[Op, tuple[Callable[..., Any], Callable[..., Any]]]] = {}
#: Callbacks to run once native functions are available.
_CALLBACKS: Final[list[Callable[[], None]]] = []
_PROGRESS: Final = _Progress()
_LOCK: Final = ForkLock()


def offer(
    op: Op,
    plain: Callable[..., Any],
    remember: Callable[..., Any],
    become: Callable[[Callable[..., Any]], None],
) -> None:
    """Offer the eager function `plain` of the elementwise `op`.

    ``become(function)`` is called with what is to run in its place. ``remember(result, *operands)`` puts a
    result on the tape where this thread records.
    """
    ufunc = ufunc_behind(op.eval)
    if ufunc is None or ufunc[0].nout != 1 or ufunc[0].nin != len(op.params):
        return
    _OFFERS.append(_Offer(op, plain, remember, become))
    become(_counted(plain))


def _counted(plain: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*operands: Any) -> Any:
        _PROGRESS.calls += 1
        if _PROGRESS.calls >= _CALLS and not _PROGRESS.asked:
            _load_in_background()
        return plain(*operands)

    return counted


class _NativeFunction(abc.ABC):
    """The implementation that an eager function calls for `op`. Its attribute ``run`` takes the arguments of
    the op's builtin function; it is the Python function `slow` at first, and a native one later.

    `slow` is called while a kernel other than the record's is registered for one of the ops that this stands
    for.
    """

    __slots__ = ("_evals", "_followers", "op", "remember", "run", "slow")

    def __init__(self, op: Op | Composite, slow: Callable[..., Any], builtin: Builtin | None = None) -> None:
        self.op, self.slow, self.remember = op, slow, recorder(op, builtin)
        self._evals = [(each, each.eval) for each in ops_of(op)]
        self.run: Callable[..., Any] = slow
        self._followers: list[Callable[[Callable[..., Any]], None]] = []
        _NATIVE_FUNCTIONS.append(self)

    def use(self, run: Callable[..., Any]) -> None:
        """Call `run` from now on, and so will whoever follows."""
        self.run = run
        for become in self._followers:
            become(run)

    def follow(self, become: Callable[[Callable[..., Any]], None]) -> None:
        """Call ``become(run)`` now, and with each function that `run` will be."""
        self._followers.append(become)
        become(self.run)

    @abc.abstractmethod
    def make(self, natives: NativeOps, slow: Callable[..., Any]) -> NativeOp:
        """The native function, which gives what does not suit it to `slow`."""

    def change_over(self, natives: NativeOps) -> None:
        """Switch to the native function."""
        native = self.make(natives, self.slow)

        def follow(used: Callable[..., Any]) -> None:
            native.switch(all(op.kernel is own for op, own in self._evals))

        for op, _ in self._evals:
            OPS.follow_kernel(op, follow)
        self.use(native.call)


class NativeCall(_NativeFunction):
    """A `_NativeFunction` that calls the op's builtin function of NumPy's (`registry.Builtin`), or
    another `builtin` function, which does what the op does for its own arguments.

    It wraps what that gives for the arrays of the operands, and records it where an operand requires a
    gradient and the result is floating. The result of a view in the memory of its operand becomes its view.
    """

    __slots__ = ("builtin", "step")

    def __init__(self, op: Op | Composite, slow: Callable[..., Any], builtin: Builtin | None = None) -> None:
        super().__init__(op, slow, builtin)
        builtin = builtin or op.builtin
        assert builtin is not None
        self.builtin = builtin
        #: The function that makes the steps of a view; None for other ops.
        self.step = step_of(op, builtin) if all(each.kind is Kind.VIEW for each in ops_of(op)) else None
        self.run = _counted(slow)

    def make(self, natives: NativeOps, slow: Callable[..., Any]) -> NativeOp:
        builtin, params = self.builtin, self.op.params
        first, operands = (len(builtin.arguments), 0) if params[0].startswith("*") else (0, len(params))
        return natives.make_call(
            builtin.function, slow, self.remember,
            first=first, operands=operands, second=builtin.second, writable=builtin.writable,
            step=self.step, shorten=None if self.step is None else forget_dead,
        )  # fmt: skip


class NativeJoin(_NativeFunction):
    """A `_NativeFunction` that joins Tensors, as ``run(arrays, axis)``: see `inner_loops` in codegen.
    Composites join them along a new axis.

    Calls are counted by what `slow` calls, which serves large arrays, views and numbers.
    """

    __slots__ = ()

    def make(self, natives: NativeOps, slow: Callable[..., Any]) -> NativeOp:
        return natives.make_join(slow, self.remember, stacking=isinstance(self.op, Composite))


def kernel_on_arrays(op: Op) -> Callable[..., Any]:
    """``op.kernel``, or the native function on ndarrays that is as good."""
    kernel = op.kernel
    native = _ON_ARRAYS.get(op)
    return native[1] if native is not None and native[0] is kernel else kernel


def when_changed(tell: Callable[[], None]) -> None:
    """Call ``tell()`` once `kernel_on_arrays` has native functions to give."""
    _CALLBACKS.append(tell)


def _load_in_background() -> None:
    _PROGRESS.asked = True
    try:
        # a fork waits for it: a child would have some of the ops changed over, and not the thread
        FORKS.threads.begin(load)
    except RuntimeError as error:  # the interpreter is shutting down, or there are too many threads
        _PROGRESS.problem = str(error)


def _ask_again_in_child() -> None:
    _PROGRESS.asked = _PROGRESS.done


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ask_again_in_child)


def load() -> str:
    """Change all ops on offer over to native functions now. Returns why that is impossible, empty if it is
    done."""
    with _LOCK:
        if not _PROGRESS.done:
            _PROGRESS.asked = True
            try:
                _PROGRESS.problem = _change_over()
            except (TracejitError, OSError, ImportError, AttributeError) as error:
                _PROGRESS.problem = f"{type(error).__name__}: {error}"
            if _PROGRESS.problem:
                for offer in _OFFERS:
                    offer.become(offer.plain)
                for call in _NATIVE_FUNCTIONS:
                    call.use(call.slow)
            _PROGRESS.done = True
        return _PROGRESS.problem


def _change_over() -> str:
    layout = entry_layout_of_tensors()
    if layout is None:
        return "this interpreter has no native call entries"
    runtime = load_module("..runtime.native.eager", __package__)  # nothing that a short program needs
    if problem := runtime.eager_problem():
        return str(problem)
    natives = runtime.NativeOps(layout)
    for offer in _OFFERS:
        _make_native(natives, offer)
    for call in _NATIVE_FUNCTIONS:
        call.change_over(natives)
    for tell in _CALLBACKS:
        tell()
    return ""


def _make_native(natives: NativeOps, offer: _Offer) -> None:
    behind = ufunc_behind(offer.op.eval)
    if behind is None:  # somebody has registered another kernel
        offer.become(offer.plain)
        return
    kernel = offer.op.eval
    ufunc, floats = behind
    # what its loops do not serve, such as other shapes, the ufunc does without a Python function around it
    whole = natives.make_call(kernel, offer.plain, offer.remember, operands=len(offer.op.params))
    native = natives.make(ufunc, whole.call, offer.remember, floats=floats)
    on_arrays = natives.make_for_arrays(ufunc, kernel, floats=floats)
    _ON_ARRAYS[offer.op] = kernel, on_arrays.call

    def follow(used: Callable[..., Any]) -> None:
        native.switch(used is kernel)
        whole.switch(used is kernel)
        on_arrays.switch(used is kernel)

    OPS.follow_kernel(offer.op, follow)
    offer.become(native.call)
