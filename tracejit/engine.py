"""How a backward pass represents cotangents: as ndarrays, or as Tensors where the gradient itself is to be
differentiated or traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .dispatch import apply
from .ir.ops.shape import sum_to
from .ir.registry import OPS, Attrs, Op, OpNamespace
from .tensor import Tensor, wrap

if TYPE_CHECKING:
    from .tape import Node


class _NumpyOps(OpNamespace):
    """Ops on ndarrays: the fast way, where nobody differentiates the gradient."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return op.eval(*operands, **attrs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = OPS.get(name)
        if op is None:
            raise AttributeError(name)
        setattr(self, name, op.eval)  # nothing between a rule and the kernel
        return op.eval


class TensorOps(OpNamespace):
    """Ops on Tensors: recorded or traced like the user's own."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return apply(op, operands, attrs)


NUMPY_OPS = _NumpyOps()
TENSOR_OPS = TensorOps()


class Engine:
    """How one backward pass represents cotangents: ndarrays, or Tensors."""

    def __init__(self, *, tensors: bool) -> None:
        self.tensors = tensors
        self.namespace: Any = TENSOR_OPS if tensors else NUMPY_OPS

    def value(self, saved: Any) -> Any:
        if self.tensors or not isinstance(saved, Tensor):
            return saved
        return saved._data

    def output(self, node: Node, index: int, data: Any) -> Any:
        """A node's saved output; as a Tensor it is connected to the node again."""
        if not self.tensors:
            return data
        result = wrap(data)
        result._node = node
        result._requires_grad = True
        return result

    def fit(self, cotangent: Any, shape: Any, dtype: Any) -> Any:
        """`cotangent` with the shape and dtype of what it belongs to: the transpose of broadcasting."""
        if cotangent.shape != shape:
            cotangent = sum_to(self.namespace, cotangent, shape)
        if cotangent.dtype != dtype:
            cotangent = self.namespace.cast(cotangent, dtype=dtype)
        return cotangent
