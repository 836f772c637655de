"""Passes objects that lie about themselves to compiled functions; run as a program, which must not crash.

``python -m tests.tracejit.bad_input.hostile_arguments`` prints ``alive`` where each of them gave a result or
an exception that is not SystemError, and the function was right again afterwards.
"""

from __future__ import annotations

import collections
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.state import STATE


class _Subclass(np.ndarray[Any, Any]):
    pass


class _LyingShape(np.ndarray[Any, Any]):
    shape = property(lambda self: (10**6,))  # type: ignore[assignment]
    strides = property(lambda self: (8,))  # type: ignore[assignment]
    size = property(lambda self: 10**6)  # type: ignore[assignment]


class _LyingLength(list[Any]):
    def __len__(self) -> int:
        return 10**9


class _NegativeLength:
    def __len__(self) -> int:
        return -1

    def __getitem__(self, key: Any) -> float:
        return 1.0


class _NullPointer:
    __array_interface__ = {"shape": (0,), "typestr": "<f8", "data": (0, False), "version": 3}  # noqa: RUF012


class _Raising:
    """Raises whatever it is asked."""

    def _raise(self, *args: Any) -> Any:
        raise KeyError("mine")

    __array__ = __len__ = __index__ = __bool__ = __eq__ = __float__ = _raise

    def __hash__(self) -> int:
        return 1


class _Unhashable:
    def __hash__(self) -> int:
        raise KeyError("mine")


class _ChangingHash:
    hashes = iter(range(10**9))

    def __hash__(self) -> int:
        return next(self.hashes)

    def __eq__(self, other: object) -> bool:
        return True


class _LyingIndex(int):
    def __index__(self) -> int:
        return 10**30


class _RaisingFloat(float):
    def __float__(self) -> float:
        raise KeyError("mine")


class _Dict(dict[Any, Any]):
    def __getitem__(self, key: Any) -> Any:
        raise KeyError("mine")

    def __iter__(self) -> Any:
        return iter(["absent"])


_Pair = collections.namedtuple("_Pair", "a b")  # what users have


def _cyclic_list() -> Any:
    result: list[Any] = [1.0]
    result.append(result)
    return result


def _cyclic_dict() -> Any:
    result: dict[str, Any] = {"a": 1.0}
    result["b"] = result
    return result


def _nested(make: Callable[[Any], Any], depth: int) -> Any:
    result: Any = 1.0
    for _ in range(depth):
        result = make(result)
    return result


def _read_only() -> Any:
    result = np.ones(4)
    result.flags.writeable = False
    return result


def hostile() -> dict[str, Any]:
    """The objects, by what they are."""
    strided = np.lib.stride_tricks.as_strided
    return {
        "subclass": np.ones(4).view(_Subclass),
        "lying shape": np.ones(4).view(_LyingShape),
        "masked": np.ma.masked_array(np.ones(4), [0, 1, 0, 1]),
        "record": np.rec.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]),
        "structured": np.zeros(4, [("a", "f8")]),
        "byte-swapped": np.ones(4, ">f8"),
        "byte-swapped integers": np.ones(4, ">i4"),
        "unaligned": np.frombuffer(bytearray(33), "u1")[1:].view("f8"),
        "zero strides": strided(np.ones(1), (4,), (0,)),
        "negative strides": np.ones(4)[::-1],
        "read-only": _read_only(),
        "rank 0": np.array(1.0),
        "rank 64": np.ones((1,) * 64),
        "empty": np.ones((0, 4)),
        "objects": np.array([1, None], object),
        "text": np.array(["a"]),
        "void": np.zeros(4, "V8"),
        "half": np.ones(4, "f2"),
        "long double": np.ones(4, "g"),
        "long complex": np.ones(4, "G"),
        "dates": np.zeros(4, "M8[s]"),
        "scalars": [np.float64(2), np.int8(2), np.bool_(True), np.longdouble(2)],
        "void scalar": np.zeros(1, "V8")[0],
        "lying length": _LyingLength([1.0]),
        "negative length": _NegativeLength(),
        "null pointer": _NullPointer(),
        "raising": _Raising(),
        "unhashable": _Unhashable(),
        "changing hash": _ChangingHash(),
        "lying index": _LyingIndex(3),
        "raising float": _RaisingFloat(2.0),
        "lying dict": _Dict(a=1.0),
        "ordered dict": collections.OrderedDict(a=1.0),
        "default dict": collections.defaultdict(list, a=1.0),
        "counter": collections.Counter("ab"),
        "raising keys": {_Raising(): 1.0},
        "mixed keys": {1: 1.0, "a": 2.0, None: 3.0},
        "pair": _Pair(1.0, 2.0),
        "cyclic list": _cyclic_list(),
        "cyclic dict": _cyclic_dict(),
        "deep list": _nested(lambda inner: [inner], 1000),
        "deep tuple": _nested(lambda inner: (inner,), 20_000),
        "deep dict": _nested(lambda inner: {"a": inner}, 1000),
        "tensor without a value": object.__new__(tj.Tensor),
        "class": tj.Tensor,
        "memory": memoryview(bytearray(8)),
        "huge": 10**30,
        "past 64 bits": 2**64,
        "surrogate": "\ud800",
        "none": None,
        "number": 2.0,
        "numbers": [1, 2.5, True],
    }


def attempts(function: Any, donating: Any, static: Any, value: Any) -> list[Callable[[], Any]]:
    """Every way in for `value`."""
    return [
        lambda: function(value),
        lambda: function(value),
        lambda: function([value]),
        lambda: function({"a": value}),
        lambda: donating(value),
        lambda: donating(value),
        lambda: donating((value, np.ones(2))),
        lambda: static(1.0, value),
        lambda: tj.jit(lambda x: x * value)(1.0),
        lambda: tj.jit(lambda x: value)(1.0),
        lambda: tj.vmap(lambda x: x)(value),
        lambda: tj.jit(tj.grad(lambda x: tj.sum(x)))(value),
    ]


def resized_while_called(calls: int = 5000) -> None:
    """An array that another thread resizes, where the function may see either size."""
    array = np.ones(16)
    function = tj.jit(lambda x: x + 1)
    stop = threading.Event()

    def resize() -> None:
        while not stop.is_set():
            for size in (64, 16, 0):
                array.resize(size, refcheck=False)

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        for _ in range(calls):
            try:
                assert function(array).size in (0, 16, 64)
            except tj.TracejitError:
                continue  # it changed between the look at its shape and the call
    finally:
        stop.set()
        thread.join()


def main() -> None:
    """Try everything."""
    warnings.simplefilter("ignore")

    def double(tree: Any) -> Any:
        return tj.tree_map(lambda leaf: leaf * 2, tree)

    function, donating = tj.jit(double), tj.jit(double, donate_argnums=0)
    static = tj.jit(lambda x, n: x, static_argnums=1)
    right = np.ones(4)
    for name, value in hostile().items():
        for number, attempt in enumerate(attempts(function, donating, static, value)):
            try:
                attempt()
            except (SystemError, AssertionError, UnboundLocalError) as error:
                raise SystemExit(f"{name}, attempt {number}: {error!r}") from error
            except Exception:  # of whichever class: it did not crash
                pass
            assert STATE.tracer is None
        assert function(right).tolist() == [2.0] * 4, name
        assert donating(np.ones(3)).tolist() == [2.0] * 3, name
    resized_while_called()
    print("alive")


if __name__ == "__main__":
    main()
