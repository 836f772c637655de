"""Methods and properties of ndarray whose functions load at first use, that write in place, or that are
about memory and files."""

from __future__ import annotations

import os
import reprlib
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from ...base.errors import ArgumentError, DTypeError, GradientError, ShapeError
from ...base.loading import load_module
from ...dispatch.native_ops import entry_layout_of_tensors, when_linked
from ...ir.dtypes import is_complex
from ...provided import NAMESPACE
from ...tape.hooks import move_retained
from ...tape.views import views_of
from ...tensors.tensor import Tensor, wrap
from ..indexing import inplace
from ..indexing.access import getitem
from ..indexing.nonzero import nonzero
from ..manipulation import ravel
from ..operands import as_given, as_number, given_as, run
from ..ordering import sorting
from ..view_calls import RESHAPE

__all__ = ["METHODS", "PROPERTIES", "FlatElements"]


def _function(name: str) -> Callable[..., Any]:
    """The public function `name`, whose module may load now."""
    return getattr(NAMESPACE(), name)  # type: ignore[no-any-return]


def _host(x: Tensor, asked: str) -> Any:
    return x.detach()._concrete(asked, "the result outside the function")


def _choose(x: Tensor, choices: Any, out: Any = None, mode: str = "raise") -> Tensor:
    """``choose`` by the numbers in `x`."""
    return _function("choose")(x, choices, out, mode)  # type: ignore[no-any-return]


def _compress(
    x: Tensor,
    condition: Any,
    axis: int | None = None,
    out: Any = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
) -> Tensor:
    """``compress(condition, x, axis)``."""
    options = {"out": out, "size": size, "fill_value": fill_value}
    return _function("compress")(condition, x, axis, **options)  # type: ignore[no-any-return]


def _conj(x: Tensor) -> Tensor:
    """The conjugate; `x` itself where that is real."""
    return as_given(x, run("conj", x)) if is_complex(x.dtype) else as_number(x)


def _put(x: Tensor, indices: Any, values: Any, mode: str = "raise") -> None:
    """``put`` in place."""
    _function("put")(x, indices, values, mode)


def _partition(x: Tensor, kth: Any, axis: int = -1, kind: str = "introselect", order: None = None) -> None:
    """``partition`` in place, as NumPy's method; ``tj.partition(x, kth)`` does not change `x`."""
    inplace.write(x, "partition", (), lambda old: sorting.partition(old, kth, axis, kind, order))


def _tobytes(x: Tensor, order: str = "C") -> bytes:
    """The elements as bytes, in C order or as `order` says."""
    return _host(x, "tobytes()").tobytes(order)  # type: ignore[no-any-return]


def _tofile(x: Tensor, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the elements to a file or path: as bytes, or as text with `sep` between them."""
    if not isinstance(fid, (str, os.PathLike)) and not hasattr(fid, "fileno"):
        raise ArgumentError(f"tofile: fid must be a path or an open file, got {reprlib.repr(fid)}")
    for name, value in (("sep", sep), ("format", format)):
        if not isinstance(value, str):
            raise ArgumentError(f"tofile: {name} must be text, got {reprlib.repr(value)}")
    array = _host(x, "tofile()")
    try:
        array.tofile(fid, sep, format)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"tofile: format {reprlib.repr(format)} does not fit an element: {error}"
        ) from error


def _dump(x: Tensor, file: Any) -> None:
    """Pickle the values to a file or path, without the graph."""
    _host(x, "dump()").dump(file)


def _dumps(x: Tensor) -> bytes:
    """The values as pickled bytes, without the graph."""
    return _host(x, "dumps()").dumps()  # type: ignore[no-any-return]


def _buffer(x: Tensor, flags: int) -> memoryview:
    """``memoryview(x)``, which Python 3.12 asks for here; before, `become_buffers` fills the slot."""
    array: Any = x.numpy()
    return memoryview(array)


def become_buffers() -> None:
    """Let Tensors be buffers on a Python that does not ask for ``__buffer__``."""
    if sys.version_info < (3, 12):
        buffers = load_module("...runtime.native.buffers", __package__)
        slot = buffers.BufferSlot(Tensor, Tensor.numpy, entry_layout_of_tensors)
        slot.fill()
        when_linked(lambda natives: None if natives is None else slot.link())


METHODS: Final[dict[str, Callable[..., Any]]] = {
    "choose": _choose,
    "compress": _compress,
    "conj": _conj,
    "conjugate": _conj,
    "dump": _dump,
    "dumps": _dumps,
    "nonzero": nonzero,
    "partition": _partition,
    "put": _put,
    "tobytes": _tobytes,
    "tofile": _tofile,
    "__buffer__": _buffer,
}


class FlatElements:
    """``x.flat``: the elements in C order, to be read, written and iterated over as those of a line."""

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    @property
    def base(self) -> Tensor:
        """The tensor whose elements these are."""
        return self._x

    def __len__(self) -> int:
        return self._x.size

    def __iter__(self) -> Iterator[Tensor]:
        return iter(ravel(self._x))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return ravel(self._x).__array__(dtype, copy)

    def __getitem__(self, key: Any) -> Tensor:
        return run("copy", getitem(ravel(self._x), key))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write `value`, again and again, to the elements that `key` names."""
        _put(self._x, getitem(np.arange(self._x.size), key), value)

    def copy(self) -> Tensor:
        """The elements as a line of their own."""
        return run("copy", ravel(self._x))


def _set_flat(x: Tensor, value: Any) -> None:
    FlatElements(x)[:] = value


def _real(x: Tensor) -> Tensor:
    return as_given(x, run("real", x)) if is_complex(x.dtype) else as_number(x)


def _set_real(x: Tensor, value: Any) -> None:
    _real(x)[...] = value


def _set_imag(x: Tensor, value: Any) -> None:
    if not is_complex(x.dtype):
        raise DTypeError(f"imag: x is real, of dtype {x.dtype.name}, so it has no imaginary part to set")
    _imag(x)[...] = value


def _imag(x: Tensor) -> Tensor:
    if is_complex(x.dtype):
        return as_given(x, run("imag", x))
    return as_given(x, given_as(x, run("full", value=0, shape=x.shape, dtype=as_number(x).dtype)))


def _strides(x: Tensor) -> tuple[int, ...]:
    data = x._data
    if isinstance(data, np.ndarray):
        return data.strides
    steps, step = [], x.dtype.itemsize
    for size in reversed(x.shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


def _flags(x: Tensor) -> Any:
    return x._concrete("x.flags", "an array in C order, which traced ones are").flags


def _version(x: Tensor) -> int:
    return 0 if x._memory is None else int(x._memory[0])


def _set_shape(x: Tensor, shape: Any) -> None:
    """``x.shape = shape``: `x` becomes a view, of that shape, of what it was."""
    if x._node is None and x._requires_grad:
        raise GradientError("shape: a leaf that requires grad keeps its shape; use x.reshape")
    was = wrap(x._data)
    was._node, was._requires_grad = x._node, x._requires_grad
    was._memory, was._aliases = x._memory, x._aliases
    new = RESHAPE.run(was, shape)
    if type(new._aliases) is not tuple:
        raise ShapeError(
            f"shape: a tensor of shape {x.shape} cannot become {new.shape} without a copy; use x.reshape"
        )
    if type(was._aliases) is list:  # `was` is the base now
        for view in views_of(x):
            view._aliases = (was, *view._aliases[1:])
        was._aliases.append(weakref.ref(x))
    if new._node is not None:
        move_retained(x, new._node)
    x._data, x._node, x._requires_grad = new._data, new._node, new._requires_grad
    x._memory, x._aliases = new._memory, new._aliases


PROPERTIES: Final = {
    "_version": property(_version, doc="How often the memory was written in place. PyTorch's."),
    "shape": vars(Tensor)["shape"].setter(_set_shape),
    "flags": property(_flags, doc="How the elements lie in memory, as of NumPy's arrays."),
    "flat": property(FlatElements, _set_flat, doc="The elements in C order, as a line."),
    "imag": property(_imag, _set_imag, doc="The imaginary part, a view; zeros of a real tensor."),
    "real": property(_real, _set_real, doc="The real part, a view; a real tensor itself."),
    "strides": property(
        _strides, doc="Bytes from one element to the next along each axis; traced, in C order."
    ),
}
