"""What nodes and hooks may ask of the backward pass that runs: see `engine.Engine`."""

from __future__ import annotations

from typing import Any, Protocol

from ..eager.tensor import Tensor


class Cotangents(Protocol):
    """How one backward pass represents cotangents: as ndarrays, or as Tensors."""

    tensors: bool
    namespace: Any

    def operand(self, node: Any, position: int, saved: Any) -> Any:
        """The saved operand at `position` as a Tensor in its place in the graph."""

    def output(self, node: Any, index: int, data: Any) -> Tensor:
        """A saved output of `node`, connected to the node again."""

    def as_tensor(self, cotangent: Any) -> Tensor:
        """A cotangent as hooks and users see it."""

    def from_tensor(self, tensor: Tensor, like: Tensor | None = None) -> Any:
        """What a hook or a user's backward returned, as a cotangent of the dtype of `like`."""

    def as_gradient(self, cotangent: Any) -> Tensor:
        """A cotangent as PyTorch's interface has it, where it is the conjugate."""

    def from_gradient(self, gradient: Tensor, like: Tensor | None = None) -> Any:
        """The cotangent that `as_gradient` gives `gradient` of, in the dtype of `like`."""

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """The cotangent of something that nothing depends on."""

    def fit(self, cotangent: Any, shape: Any, dtype: Any) -> Any:
        """`cotangent` with the shape and dtype of what it belongs to: the transpose of broadcasting."""

    def accumulate(self, tensor: Tensor, cotangent: Any) -> None:
        """Add `cotangent` into ``tensor.grad``."""
