"""``tj.autograd.graph``: the graph itself, and what it saves. Semantics: ``torch.autograd.graph``."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import GradientError
from ..base.loading import LazyModule
from ..base.process.finalization import WeakTable, finalize
from ..state import STATE
from ..tape.hooks import RemovableHandle, register_hook
from ..tape.modes import Mode
from ..tape.nodes import AccumulateGrad, Node
from ..tape.recording import observe_recording
from ..tensors.tensor import Tensor, wrap

if TYPE_CHECKING:
    import pathlib
    import tempfile
else:
    pathlib = LazyModule("pathlib")
    tempfile = LazyModule("tempfile")

__all__ = [
    "AccumulateGrad",
    "MultiHandle",
    "Node",
    "RemovableHandle",
    "get_gradient_edge",
    "register_multi_grad_hook",
    "save_on_cpu",
    "save_on_disk",
    "saved_tensors_hooks",
]


class saved_tensors_hooks(Mode):
    """Operations inside keep ``pack_hook(tensor)`` of each tensor they save for backward, and backward works
    with ``unpack_hook`` of that.

    `unpack_hook` must return a tensor with the value, shape and dtype that was packed. Of nested pairs the
    innermost is used.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> with tj.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().tobytes(),
        ...                                            lambda b: tj.tensor(np.frombuffer(b))):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])

    Semantics: ``torch.autograd.graph.saved_tensors_hooks``.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise GradientError(
                    f"saved_tensors_hooks: {name} must be callable, got {type(hook).__name__}"
                )
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def _switch(self) -> Any:
        outer, STATE.saved_hooks = STATE.saved_hooks, (self.pack_hook, self.unpack_hook)
        observe_recording(+1)
        return outer

    def _restore(self, outer: Any) -> None:
        STATE.saved_hooks = outer
        observe_recording(-1)


class save_on_cpu(saved_tensors_hooks):
    """Operations inside keep copies of what they save for backward.

    PyTorch moves saved tensors from an accelerator to the host's memory; here they are there, and the name
    serves programs that are written for both.

    Semantics: ``torch.autograd.graph.save_on_cpu``.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> with tj.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False) -> None:
        super().__init__(lambda tensor: tensor._data.copy(), wrap)


class save_on_disk(saved_tensors_hooks):
    """Operations inside keep what they save for backward in files under `directory` (default: the system's
    folder for temporary files), so that it takes no memory. The files go with the graph.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> with tj.autograd.graph.save_on_disk():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])

    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        super().__init__(lambda tensor: _File(tensor, directory), lambda file: wrap(file.read()))


class _File:
    """An array in a file of its own, which is removed with this object."""

    def __init__(self, tensor: Tensor, directory: str | os.PathLike[str] | None) -> None:
        try:
            handle, name = tempfile.mkstemp(suffix=".npy", prefix="tracejit-saved-", dir=directory)
        except OSError as error:
            where = tempfile.gettempdir() if directory is None else directory
            raise GradientError(
                f"save_on_disk: cannot make a file in {where} ({error.strerror}); pass a directory that "
                "exists and may be written to"
            ) from error
        self.path = pathlib.Path(name)
        finalize(self, _unlink(), os.fsencode(name), at_exit=True)
        with os.fdopen(handle, "wb") as file:
            np.save(file, tensor._data, allow_pickle=False)

    def read(self) -> Any:
        return np.load(self.path, allow_pickle=False)


def _unlink() -> Callable[[bytes], object]:
    """A C function that removes a file. C's own does not raise where somebody else has removed it."""
    return ctypes.CDLL(None).unlink if os.name == "posix" else os.unlink


def get_gradient_edge(tensor: Tensor) -> tuple[Any, int]:
    """The node that the gradient of `tensor` comes to, and which of its outputs `tensor` is.

    Raises GradientError on a tensor that does not require grad. Semantics:
    ``torch.autograd.graph.get_gradient_edge``.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor(2.0, requires_grad=True)
        >>> tj.autograd.graph.get_gradient_edge(x)
        (<AccumulateGrad>, 0)
    """
    if not tensor._requires_grad:
        raise GradientError(
            "it is not possible to get a gradient edge of a tensor that does not require grad"
        )
    place = tensor._node
    if place is None:
        return AccumulateGrad(tensor), 0
    return place.node, getattr(place, "index", 0)


class MultiHandle:
    """Takes the hooks of several tensors away again.

    Example:
        >>> import tracejit as tj
        >>> x, y = (tj.tensor(v, requires_grad=True) for v in (2.0, 3.0))
        >>> with tj.autograd.graph.register_multi_grad_hook((x, y), print):
        ...     (x * y).backward()
        [tensor(3.), tensor(2.)]
        >>> (x * y).backward()
    """

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        """Take the hooks away. Doing it again changes nothing."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[[list[Any]], None]) -> MultiHandle:
    """Call ``fn(gradients)`` once in each backward that comes to any of `tensors`, when it has computed the
    gradients of all that it comes to. For the others there is None.

    Example:
        >>> import tracejit as tj
        >>> x, y = (tj.tensor(value, requires_grad=True) for value in (2.0, 3.0))
        >>> handle = tj.autograd.graph.register_multi_grad_hook([x, y], print)
        >>> (x * y).backward()
        [tensor(3.), tensor(2.)]
        >>> (x * 5).backward()
        [tensor(5.), None]

    Semantics: ``torch.autograd.graph.register_multi_grad_hook``.
    """
    places: list[tuple[weakref.ref[Any], int]] = []
    for tensor in tensors:
        place = tensor._node
        places.append((weakref.ref(place.node if place is not None else tensor), getattr(place, "index", 0)))
    passes: WeakTable[Any, tuple[list[Any], set[int]]] = WeakTable()

    def hook_for(position: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            walk = STATE.walk
            entry = passes.get(walk)
            if entry is None:
                missing = {i for i, (place, index) in enumerate(places) if walk.reaches(place(), index)}
                entry = passes[walk] = ([None] * len(places), missing)
            gradients, missing = entry
            if position not in missing:
                return
            gradients[position] = gradient
            missing.remove(position)
            if not missing:
                fn(gradients)

        return hook

    return MultiHandle([register_hook(tensor, hook_for(i)) for i, tensor in enumerate(tensors)])
