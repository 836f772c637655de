"""Files and texts: NumPy's formats, read to tensors and written from them. Eager only."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensors.tensor import Tensor, as_array, wrap
from ..operands import as_tensor


def _values(x: Any) -> Any:
    return (
        as_tensor(x).detach()._concrete("writing it as text or to a file", "the result outside the function")
    )


def save(file: Any, x: Any, allow_pickle: bool = False) -> None:
    """Write `x` to `file`, a path or a file object, in NumPy's ``.npy`` format. Its graph is not stored.

    Example:
        >>> import io, tracejit as tj
        >>> file = io.BytesIO()
        >>> tj.save(file, [1.0, 2.0])
        >>> tj.load(io.BytesIO(file.getvalue()))
        tensor([1., 2.])

    Semantics: ``numpy.save``.
    """
    np.save(file, _values(x), allow_pickle=allow_pickle)


def savez(file: Any, /, *arrays: Any, **named: Any) -> None:
    """Write several arrays to one ``.npz`` file, the `named` ones under their names.

    Example:
        >>> import io, tracejit as tj
        >>> file = io.BytesIO()
        >>> tj.savez(file, a=tj.arange(3))
        >>> tj.load(io.BytesIO(file.getvalue()))["a"]
        tensor([0, 1, 2])

    Semantics: ``numpy.savez``.
    """
    np.savez(file, *map(_values, arrays), **{name: _values(array) for name, array in named.items()})


def savez_compressed(file: Any, /, *arrays: Any, **named: Any) -> None:
    """Save arrays to a compressed ``.npz`` file.

    Example:
        >>> import io, tracejit as tj
        >>> file = io.BytesIO()
        >>> tj.savez_compressed(file, tj.arange(3))
        >>> tj.load(io.BytesIO(file.getvalue()))["arr_0"]
        tensor([0, 1, 2])

    Semantics: ``numpy.savez_compressed``.
    """
    values = {name: _values(array) for name, array in named.items()}
    np.savez_compressed(file, *map(_values, arrays), **values)


def load(
    file: Any,
    mmap_mode: str | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    """Read a ``.npy`` file as a tensor, or an ``.npz`` file as a dict of tensors.

    The other arguments are NumPy's; with `mmap_mode` the tensor shares the memory of the mapped file.

    Example:
        >>> import io, tracejit as tj
        >>> file = io.BytesIO()
        >>> tj.save(file, tj.arange(3))
        >>> tj.load(io.BytesIO(file.getvalue()))
        tensor([0, 1, 2])

    Semantics: ``numpy.load``, whose ``.npz`` files are read when an array is asked for.
    """
    read: Any = np.load
    content = read(file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size)
    if isinstance(content, np.ndarray):
        return wrap(as_array(content))
    with content:
        return {name: wrap(as_array(content[name])) for name in content.files}


def savetxt(file: Any, x: Any, fmt: str = "%.18e", delimiter: str = " ", **options: Any) -> None:
    """Write the rows of `x` as lines of text.

    Example:
        >>> import io, tracejit as tj
        >>> file = io.StringIO()
        >>> tj.savetxt(file, [[1.0, 2.0]], fmt="%.1f")
        >>> file.getvalue()
        '1.0 2.0\\n'

    Semantics: ``numpy.savetxt``.
    """
    np.savetxt(file, _values(x), fmt, delimiter, **options)


def loadtxt(file: Any, dtype: Any = float, **options: Any) -> Tensor:
    """The numbers in the lines of a text `file`.

    Example:
        >>> import io, tracejit as tj
        >>> tj.loadtxt(io.StringIO("1 2\\n3 4"))
        tensor([[1., 2.],
                [3., 4.]])

    Semantics: ``numpy.loadtxt``.
    """
    return wrap(as_array(np.loadtxt(file, dtype, **options)))


def genfromtxt(file: Any, dtype: Any = float, **options: Any) -> Tensor:
    """The numbers in the lines of a text `file`, NaN where there are none.

    Example:
        >>> import io, tracejit as tj
        >>> tj.genfromtxt(io.StringIO("1,\\n3,4"), delimiter=",")
        tensor([[ 1., nan],
                [ 3.,  4.]])

    Semantics: ``numpy.genfromtxt``.
    """
    return wrap(as_array(np.genfromtxt(file, dtype, **options)))


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0) -> Tensor:
    """The numbers in a binary `file`, or with `sep` in a text.

    Example:
        >>> import tempfile, tracejit as tj
        >>> with tempfile.TemporaryFile() as file:
        ...     _ = file.write(bytes([1, 0, 2, 0]))
        ...     _ = file.seek(0)
        ...     tj.fromfile(file, "int16")
        tensor([1, 2], dtype=int16)

    Semantics: ``numpy.fromfile``.
    """
    return wrap(as_array(np.fromfile(file, dtype, count, sep, offset)))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Tensor:
    """The numbers in `string`, between which `sep` stands.

    Example:
        >>> import tracejit as tj
        >>> tj.fromstring("1, 2", sep=",")
        tensor([1., 2.])

    Semantics: ``numpy.fromstring``.
    """
    return wrap(as_array(np.fromstring(string, dtype, count, sep=sep)))


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Tensor:
    """The numbers in the memory of `buffer`, which the tensor shares.

    Example:
        >>> import tracejit as tj
        >>> tj.frombuffer(bytes([1, 0, 2, 0]), "int16")
        tensor([1, 2], dtype=int16)

    Semantics: ``numpy.frombuffer``.
    """
    return wrap(as_array(np.frombuffer(buffer, dtype, count, offset)))


def fromiter(iter: Any, dtype: Any, count: int = -1) -> Tensor:
    """The numbers that an iterator gives.

    Example:
        >>> import tracejit as tj
        >>> tj.fromiter((i * i for i in range(3)), "int64")
        tensor([0, 1, 4])

    Semantics: ``numpy.fromiter``.
    """
    return wrap(as_array(np.fromiter(iter, dtype, count)))


def array_repr(x: Any, *places: Any, **options: Any) -> str:
    """NumPy's text of an array with these elements, as ``repr`` gives it.

    Example:
        >>> import tracejit as tj
        >>> tj.array_repr([1.0, 2.0])
        'array([1., 2.])'

    Semantics: ``numpy.array_repr``.
    """
    return np.array_repr(_values(x), *places, **options)


def array_str(x: Any, *places: Any, **options: Any) -> str:
    """NumPy's text of an array with these elements, as ``str`` gives it.

    Example:
        >>> import tracejit as tj
        >>> tj.array_str([1.0, 2.0])
        '[1. 2.]'

    Semantics: ``numpy.array_str``.
    """
    return np.array_str(_values(x), *places, **options)


def array2string(x: Any, *places: Any, **options: Any) -> str:
    """The elements as text, with NumPy's `options`.

    Example:
        >>> import tracejit as tj
        >>> tj.array2string([1.0, 2.0], separator=", ")
        '[1., 2.]'

    Semantics: ``numpy.array2string``.
    """
    return np.array2string(_values(x), *places, **options)
