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
import importlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..ir.errors import TracejitError
from ..ir.ops.define import ufunc_behind
from ..ir.process.forking import FORKS
from ..ir.process.locks import ForkLock
from ..ir.records import record
from ..ir.registry import OPS, Op
from ..ir.types import Shape
from .layout import entry_layout_of_tensors

if TYPE_CHECKING:
    from ..runtime.native.eager import NativeOp, NativeOps

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
_QUICK_CALLS: Final[list[_NativeFunction]] = []
#: The native functions on ndarrays, by op, with the kernels that they stand for.
_ON_ARRAYS: Final[dict[Op, tuple[Callable[..., Any], Callable[..., Any]]]] = {}
#: Whom to tell when there are native functions.
_WAITING: Final[list[Callable[[], None]]] = []
_PROGRESS: Final = _Progress()
_LOCK: Final = ForkLock()


def offer(
    op: Op,
    plain: Callable[..., Any],
    remember: Callable[..., Any],
    become: Callable[[Callable[..., Any]], None],
) -> None:
    """Offer the eager function `plain` of the elementwise `op`.

    ``become(function)`` is called with what is to run in its place. ``remember(*operands, result)`` puts a
    result on the tape where this thread records.
    """
    known = ufunc_behind(op.eval)
    if known is None or known[0].nout != 1 or known[0].nin != len(op.params):
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
    """What an eager function calls: ``run``, which is a Python function at first and then a native one.

    `ops` names the ops that it stands for: somebody else's kernel of one of them is called by `slow`.
    """

    __slots__ = ("_evals", "remember", "run", "slow")

    def __init__(self, slow: Callable[..., Any], remember: Callable[..., Any] | None, *ops: str) -> None:
        self.slow, self.remember = slow, remember
        self._evals = [(OPS[name], OPS[name].eval) for name in ops]
        self.run: Callable[..., Any] = slow
        _QUICK_CALLS.append(self)

    @abc.abstractmethod
    def make(self, natives: NativeOps, slow: Callable[..., Any]) -> NativeOp:
        """The native function, which gives what does not suit it to `slow`."""

    def change_over(self, natives: NativeOps) -> None:
        """Be native from now on."""
        native = self.make(natives, self.slow)

        def follow(used: Callable[..., Any]) -> None:
            native.switch(all(op.kernel is known for op, known in self._evals))

        for op, _ in self._evals:
            OPS.follow_kernel(op, follow)
        self.run = native.call


class NativeCall(_NativeFunction):
    """A `_NativeFunction` where one of NumPy's builtin functions can do all of the work.

    Natively it calls `kernel` with the arrays of the operands, which
    are `operands` arguments from `first` on (0: all of those), wraps the result, and calls
    ``remember(*arguments, result)`` where an operand requires a gradient and the result is floating; what
    does not suit it, and what `kernel` raises an exception or returns None for, goes to `slow`. With a
    `step`, what lies in the memory of the first argument becomes its view: see `views`. `second` says what
    the second argument must be: see `codegen.native.eager.arguments`.
    """

    __slots__ = ("_needs", "kernel")

    def __init__(
        self,
        kernel: Callable[..., Any],
        slow: Callable[..., Any],
        remember: Callable[..., Any] | None,
        *ops: str,
        first: int = 0,
        operands: int = 1,
        second: str = "any",
        step: Callable[[Any, Shape], Any] | None = None,
    ) -> None:
        super().__init__(slow, remember, *ops)
        self.kernel = kernel
        self._needs: dict[str, Any] = {"first": first, "operands": operands, "second": second, "step": step}
        self.run = _counted(slow)

    def make(self, natives: NativeOps, slow: Callable[..., Any]) -> NativeOp:
        return natives.make_call(self.kernel, slow, self.remember, **self._needs)


class NativeJoin(_NativeFunction):
    """A `_NativeFunction` that joins Tensors, as ``run(arrays, axis)``: see `codegen.native.eager.joins`.

    Calls are counted by what `slow` calls, which serves large arrays, views and numbers.
    """

    __slots__ = ("_stacking",)

    def __init__(
        self, slow: Callable[..., Any], remember: Callable[..., Any], *ops: str, stacking: bool
    ) -> None:
        super().__init__(slow, remember, *ops)
        self._stacking = stacking

    def make(self, natives: NativeOps, slow: Callable[..., Any]) -> NativeOp:
        assert self.remember is not None
        return natives.make_join(slow, self.remember, stacking=self._stacking)


def kernel_on_arrays(op: Op) -> Callable[..., Any]:
    """``op.kernel``, or the native function on ndarrays that is as good."""
    kernel = op.kernel
    found = _ON_ARRAYS.get(op)
    return found[1] if found is not None and found[0] is kernel else kernel


def when_changed(tell: Callable[[], None]) -> None:
    """Call ``tell()`` once `kernel_on_arrays` has native functions to give."""
    _WAITING.append(tell)


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
                for call in _QUICK_CALLS:
                    call.run = call.slow
            _PROGRESS.done = True
        return _PROGRESS.problem


def _change_over() -> str:
    layout = entry_layout_of_tensors()
    if layout is None:
        return "this interpreter has no native call entries"
    runtime = importlib.import_module(
        "..runtime.native.eager", __package__
    )  # nothing that a short program needs
    if problem := runtime.eager_problem():
        return str(problem)
    natives = runtime.NativeOps(layout)
    for offer in _OFFERS:
        _change_over_one(natives, offer)
    for call in _QUICK_CALLS:
        call.change_over(natives)
    for tell in _WAITING:
        tell()
    return ""


def _change_over_one(natives: NativeOps, offer: _Offer) -> None:
    known = ufunc_behind(offer.op.eval)
    if known is None:  # somebody has registered another kernel
        offer.become(offer.plain)
        return
    kernel = offer.op.eval
    ufunc, floats = known
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
