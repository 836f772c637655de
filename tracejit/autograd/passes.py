"""Backward passes for users: ``backward`` and ``grad``. Semantics: ``torch.autograd``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..arguments.errors import checked
from ..backward.backward import run_backward, seed
from ..backward.engine import TENSOR_ENGINE, TENSOR_OPS
from ..base.errors import GradientError, ShapeError
from ..base.loading import load_module
from ..ir.dtypes import is_complex, is_differentiable
from ..provided import LIVE_GRAPH
from ..tape.hooks import register_hook, register_post_accumulate_grad_hook, retain_grad
from ..tape.modes import enable_grad, untaped
from ..tape.views import chain_of
from ..tensors.tensor import Tensor, as_array, wrap


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
        vmap = load_module("..transforms.vmap", __package__).vmap  # nothing that other passes need
        following = iter(vmap(gradients)(*tensors))
    return [next(following) if flag else None for flag in reached]


Tensors = Tensor | Sequence[Tensor]


def _as_list(value: Any, name: str, what: str) -> list[Tensor]:
    several = not isinstance(value, Tensor) and isinstance(value, (tuple, list))
    tensors = list(value) if several else [value]
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise GradientError(f"{name}: {what} must be tensors, got {type(tensor).__name__}")
    return tensors


def _seeds(name: str, roots: list[Tensor], gradients: Any) -> list[Tensor]:
    several = isinstance(gradients, (tuple, list))
    values = list(gradients) if several else [gradients] * (1 if gradients is not None else len(roots))
    if len(values) != len(roots):
        raise GradientError(
            f"{name}: expected {len(roots)} gradients, one per output, got {len(values)}; the gradient of an "
            "output of several elements is a tensor"
        )
    _check_roots(roots)
    for root, value in zip(roots, values, strict=True):
        if value is None and is_complex(root.dtype):
            raise GradientError(
                f"{name}: grad can be implicitly created only for real outputs, got {root.type}; reduce it "
                "to a real number first, as in abs(z).sum(), or pass a gradient"
            )
    return [TENSOR_ENGINE.conjugated(seed(root, value)) for root, value in zip(roots, values, strict=True)]


def _check_roots(roots: list[Tensor]) -> None:
    for position, root in enumerate(roots):
        if not root._requires_grad:
            kind = "" if is_differentiable(root.dtype) else f" of dtype {root.dtype.name}"
            raise GradientError(
                f"element {position} of tensors, of shape {root.shape}{kind}, does not require grad and does "
                "not have a grad_fn, so nothing can be differentiated. Call requires_grad_() on an input "
                "before computing it, and compute it without no_grad(), detach() and integers on the way"
            )


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to the ``grad`` of the leaves they were computed from.

    `grad_tensors` are the cotangents, needed where a tensor has more than one element. `retain_graph` keeps
    the graph for another call (default: as `create_graph`); `create_graph` records the gradients themselves.
    With `inputs`, only those accumulate.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> tj.autograd.backward((x * x).sum())
        >>> x.grad
        tensor([2., 4.])

    Raises GradientError where nothing requires grad or the graph was freed, ShapeError for gradients of
    other shapes. Semantics: ``torch.autograd.backward``.
    """
    roots = _as_list(tensors, "backward", "tensors")
    seeds = _seeds("backward", roots, grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    targets = None
    if inputs is not None:
        targets = _inputs("backward", inputs)
        if not targets:
            raise GradientError("backward: inputs cannot be empty; leave it out for all leaves")
    run_backward(
        roots, seeds, retain_graph=retain, create_graph=create_graph, targets=targets, accumulate=True
    )


def _inputs(name: str, inputs: Any) -> list[Tensor]:
    targets = _as_list(inputs, name, "inputs")
    if not targets:
        raise GradientError(f"{name}: inputs must not be empty")
    for position, target in enumerate(targets):
        if not target.requires_grad:
            raise GradientError(f"{name}: input {position}, of shape {target.shape}, does not require grad")
    return targets


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` with respect to `inputs`, without touching any ``grad``.

    With `materialize_grads`, inputs that were not used get zeros. With `is_grads_batched`, the first
    dimension of each of `grad_outputs` numbers several cotangents, and that of the results their gradients.
    The graph is walked once, as under ``vmap``: hooks and functions with gradients of their own see one
    symbolic cotangent, and those that ask for its value raise.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor(3.0, requires_grad=True)
        >>> (g,) = tj.autograd.grad(x**3, x, create_graph=True)
        >>> tj.autograd.grad(g, x)
        (tensor(18.),)

    Raises GradientError where an input is not used, unless `allow_unused` (then it is None). Semantics:
    ``torch.autograd.grad``.
    """
    if materialize_grads and allow_unused is False:
        raise GradientError(
            "grad: materialize_grads gives unused inputs zeros, so allow_unused cannot be False"
        )
    roots = _as_list(outputs, "grad", "outputs")
    targets = _inputs("grad", inputs)
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        _check_roots(roots)
        gradients = batched_gradients(
            roots, targets, grad_outputs, retain_graph=retain, create_graph=create_graph
        )
    else:
        seeds = _seeds("grad", roots, grad_outputs)
        gradients = [
            None if gradient is None else TENSOR_ENGINE.conjugated(gradient)
            for gradient in run_backward(
                roots, seeds, retain_graph=retain, create_graph=create_graph, targets=targets
            )
        ]
    for position, (target, gradient) in enumerate(zip(targets, gradients, strict=True)):
        if gradient is not None:
            continue
        if materialize_grads:
            shape = (_batch_of(grad_outputs), *target.shape) if is_grads_batched else target.shape
            gradients[position] = TENSOR_OPS.full(value=0.0, shape=shape, dtype=target.dtype)
        elif not allow_unused:
            raise GradientError(
                f"input {position} was not used to compute the outputs; pass allow_unused=True to get None, "
                "or materialize_grads=True to get zeros"
            )
    return tuple(gradients)


def _batch_of(grad_outputs: Any) -> int:
    first = grad_outputs[0] if isinstance(grad_outputs, (tuple, list)) else grad_outputs
    return int(first.shape[0])


def graph_of(tensor: Tensor) -> Any:
    """The graph behind an eager `tensor`: its Function and leaves. See ``tracejit.live_graph``.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([1.0, 2.0], requires_grad=True)
        >>> graph = tj.graph_of(tj.exp(x).sum())
        >>> [instruction.op.name for instruction in graph.to_ir().body]
        ['exp', 'sum']
        >>> graph.leaves[0] is x
        True
    """
    return LIVE_GRAPH()(tensor)


# -- what Tensor offers -------------------------------------------------------------------------------


def _backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add this tensor's gradients to the ``grad`` of the leaves. See ``tj.autograd.backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs)


def _detach_(self: Tensor) -> Tensor:
    """Take this tensor out of the graph that computed it: it becomes a leaf. Returns it.

    Raises GradientError on a view, whose gradient belongs to its base. Semantics: ``torch.Tensor.detach_``.
    """
    if chain_of(self) is not None:
        raise GradientError("detach_: a view cannot be detached in place; use detach() instead")
    self._node, self._requires_grad = None, False
    return self


def bind() -> None:
    """Attach what autograd offers to Tensor."""
    methods: dict[str, Callable[..., Any]] = {
        "backward": _backward,
        "register_hook": register_hook,
        "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
        "detach_": _detach_,
        "retain_grad": retain_grad,
    }
    for name, method in methods.items():
        setattr(Tensor, name, checked(name, method))


bind()
