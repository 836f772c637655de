"""The node of a primitive that was called with arrays eagerly, and gave an array.

It holds the arrays themselves, so that neither its rule nor the function that this returns meets a tensor,
unless its gradient is to be differentiated. Calls with containers, and calls in a trace, go the way of
``custom_vjp``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.errors import GradientError
from ...ir.dtypes import is_differentiable
from ...pytree import flatten, tree_map
from ...state import STATE
from ...tape.hooks import Cotangents
from ...tape.nodes import IsNeeded, Node
from ...tape.recording import memory_of
from ...tensors.tensor import Tensor, as_array, wrap
from ...transforms.custom.rule import checked_gradients, leaf_of
from .arrays import as_arrays

_RESULTS = (np.ndarray, np.float64, np.float32, float)


class Rules:
    """The derivatives of a primitive, as the definitions for several arguments at once have them."""

    def __init__(self) -> None:
        #: ``vjps(argnums, ans, args, kwargs)`` gives a function from the cotangent to products.
        self.vjps: Callable[..., Any] | None = None
        #: ``jvps(argnums, tangents, ans, args, kwargs)`` gives the tangent of the result.
        self.jvps: Callable[..., Any] | None = None


def of_dtypes(product: Any, argument: Any) -> Any:
    """The gradient of `argument`, in its dtypes: what rules compute in float64 is rounded."""
    return None if product is None else tree_map(_of_dtype, product, argument)


def _of_dtype(product: Any, argument: Any) -> Any:
    dtype = argument.dtype if hasattr(argument, "dtype") else as_array(argument).dtype
    if hasattr(product, "dtype") and product.dtype == dtype:
        return product
    return product.astype(dtype) if isinstance(product, Tensor) else np.asarray(product, dtype)


def takes(args: Sequence[Any], followed: Sequence[int]) -> bool:
    """Whether a call of these arguments, of which a derivative follows some, can have a `PrimitiveNode`."""
    if STATE.tracer is not None or not STATE.recording:
        return False
    if STATE.saved_hooks is not None or STATE.anomaly is not None:
        return False
    return all(type(args[position]) is Tensor for position in followed)


def values_at(args: Sequence[Any], followed: Sequence[int]) -> list[Any]:
    """The arguments of the primitive for `args`: arrays, and NumPy's scalars for rank 0."""
    values = list(args)
    for position in followed:
        data = args[position]._data
        values[position] = data if data.ndim else data[()]
    return values if len(values) == len(followed) else list(as_arrays(values))


def recorded(
    name: str,
    rules: Rules,
    followed: list[int],
    args: tuple[Any, ...],
    values: list[Any],
    kwargs: Any,
    ans: Any,
) -> Tensor | None:
    """The result `ans` as a tensor that remembers the call; None where it is no floating array."""
    if type(ans) not in _RESULTS:
        return None
    data = as_array(ans)
    if not is_differentiable(data.dtype):
        return None
    result = wrap(data)
    node = PrimitiveNode.__new__(PrimitiveNode)
    parents, types, inputs, memories = [], [], [], []
    for position in followed:
        tensor = args[position]
        array, memory = tensor._data, memory_of(tensor)
        parents.append(tensor._node or tensor)
        types.append((array.shape, array.dtype))
        inputs.append(array)
        memories.append((memory, memory[0]))
    result._memory = [0]
    memories.append((result._memory, 0))
    node.label, node.rules, node.kwargs = name, rules, kwargs
    node.followed, node.values = followed, values
    node.parents, node.types, node.memories = tuple(parents), tuple(types), memories
    node.inputs, node.output = inputs, data
    node.hooks = node.location = None
    result._node, result._requires_grad = node, True
    return result


class PrimitiveNode(Node):
    """One call of a primitive: its gradients are those of the rule that ``defvjp`` gave it."""

    __slots__ = ("followed", "inputs", "kwargs", "label", "output", "rules", "values")

    label: str
    rules: Rules
    #: The places of the arguments that a derivative follows, and all arguments as arrays.
    followed: list[int]
    values: list[Any]
    kwargs: dict[str, Any]
    #: The arrays of the arguments at `followed`, and of the result.
    inputs: list[Any]
    output: Any

    def name(self) -> str:
        return f"{self.label}Backward"

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        self.check_saved()
        args, output, cotangent = self.values, self.output, cotangents
        if engine.tensors:
            args = list(args)
            for place, position in enumerate(self.followed):
                args[position] = engine.operand(self, place, self.inputs[place])
            output = engine.output(self, 0, output)
        elif not output.ndim:
            output, cotangent = output[()], cotangent[()]
        vjps = self.rules.vjps
        if vjps is None:
            raise GradientError(f"the primitive {self.label} has no rule; define one with defvjp")
        products = vjps(self.followed, output, tuple(args), self.kwargs)(cotangent)
        kind, parts = Tensor if engine.tensors else np.ndarray, []
        for product, (shape, dtype) in zip(products, self.types, strict=True):
            if type(product) is np.float64:
                product = engine.from_tensor(wrap(np.asarray(product)))
            if product is None or (
                type(product) is kind and product.shape == shape and product.dtype is dtype
            ):
                parts.append(product)
            else:
                parts.append(self._checked(engine, len(parts), product))
        return parts

    def _checked(self, engine: Cotangents, place: int, product: Any) -> Any:
        """The cotangent of the argument at `place` from another `product` than an array of its type."""
        argument = wrap(self.inputs[place])
        source, structure = f"the rules of the primitive {self.label}", flatten((argument,))[1]
        returned = [of_dtypes(product, argument)]
        (gradient,) = checked_gradients(source, structure, [leaf_of(argument)], returned)
        assert gradient is not None
        return engine.from_tensor(gradient)

    def describe_saved(self, position: int) -> str:
        if position < len(self.inputs):
            return f"a tensor of shape {tuple(self.inputs[position].shape)} that {self.label} was called with"
        return f"the result of {self.label}, which its gradient needs,"

    def free(self) -> None:
        self.values, self.inputs, self.output, self.memories = [], [], None, None
