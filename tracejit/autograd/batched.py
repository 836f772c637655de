"""``is_grads_batched``: one backward pass for many cotangents, mapped over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..eager.tensor import Tensor, as_array, wrap
from ..ir.errors import ShapeError
from ..tape.backward import run_backward, seed
from ..tape.engine import TENSOR_ENGINE
from ..transforms.vmap import vmap
from .modes import enable_grad, untaped


def batched_gradients(
    roots: list[Tensor], targets: list[Tensor], grad_outputs: Any, *, retain_graph: bool, create_graph: bool
) -> list[Tensor | None]:
    """The gradients of `roots` with respect to `targets`, for each cotangent along the first axis of
    `grad_outputs`; None where there is no path.

    The pass is traced on one cotangent and replayed on all (`mapping.vmap`). Raises ShapeError where the
    cotangents do not fit.
    """
    stacked = list(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else [grad_outputs]
    tensors = [
        tensor if isinstance(tensor, Tensor) or tensor is None else wrap(as_array(tensor))
        for tensor in stacked
    ]
    sizes = {tensor.shape[0] if tensor is not None and tensor.ndim else None for tensor in tensors}
    if len(tensors) != len(roots) or None in sizes or len(sizes) != 1:
        raise ShapeError(
            "grad: with is_grads_batched, each of grad_outputs needs a first dimension of the same size, got "
            f"shapes {[None if tensor is None else tensor.shape for tensor in tensors]} "
            f"for {len(roots)} outputs"
        )
    reached: list[bool] = []

    def gradients(*cotangents: Any) -> Sequence[Tensor]:
        seeds = [
            TENSOR_ENGINE.conjugated(seed(root, cotangent))
            for root, cotangent in zip(roots, cotangents, strict=True)
        ]
        results = run_backward(
            roots, seeds, retain_graph=retain_graph, create_graph=create_graph, targets=targets
        )
        reached[:] = [tensor is not None for tensor in results]
        return [TENSOR_ENGINE.conjugated(tensor) for tensor in results if tensor is not None]

    with enable_grad() if create_graph else untaped():
        following = iter(vmap(gradients)(*tensors))
    return [next(following) if flag else None for flag in reached]
