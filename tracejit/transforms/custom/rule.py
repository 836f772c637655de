"""Calls of functions with their own derivative: what `custom_vjp`, `custom_jvp` and `custom_grad` share.

A `DerivativeRule` says what the function is where nobody differentiates it, and otherwise what is kept for
the gradient and how the gradient follows. Where the tape runs, a call becomes a `RuleNode`, eagerly or
traced. Where a trace runs without a tape, it becomes the op ``custom_rule``, for gradients of the trace as a
whole.

Second and higher orders have JAX's meaning: the rules themselves are differentiated, as if their operations
had been written out. So backward of a gradient that is itself to be differentiated runs the rule's forward
again, on tensors in their place in the graph.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...backward.engine import TENSOR_OPS
from ...backward.functions import SavedTensor
from ...base.errors import DTypeError, GradientError, ShapeError
from ...base.records import record
from ...callback_results import QUIET
from ...generator import DEFAULT
from ...ir.dtypes import DType, is_differentiable
from ...ir.types import Shape
from ...location import user_location
from ...pytree import LEAVES, TreeDef, flatten, leaf_paths
from ...state import STATE
from ...tape.hooks import Cotangents
from ...tape.nodes import IsNeeded, Node, Output
from ...tape.recording import memory_of
from ...tape.views import UNRECORDED, chain_of, share
from ...tensors.tensor import Tensor, as_array, wrap


@record
class Leaf:
    """A leaf of the arguments, as gradients must match it; `dtype` is None where no gradient is wanted.

    A weak one is a Python number under a trace, which computes in the dtype of what it meets.
    """

    shape: Shape
    dtype: DType | None
    weak: bool


def leaf_of(value: Any) -> Leaf:
    """The Leaf of a tensor, an array or a number. Gradients are wanted for floating tensors."""
    if not isinstance(value, Tensor):
        return Leaf(np.shape(value), None, weak=False)
    weak = STATE.tracer is not None and value.is_traced and STATE.tracer.is_weak(value._data)
    return Leaf(value.shape, value.dtype if is_differentiable(value.dtype) else None, weak=weak)


def checked_gradients(
    source: str, structure: TreeDef, leaves: Sequence[Leaf], returned: Any
) -> list[Tensor | None]:
    """The gradients in `returned`, one per argument, as one per leaf of the arguments; None for zeros.

    `structure` is that of the tuple of arguments; `source` is what messages call the function they came from.
    """
    _, _, arguments = structure.shape
    if not isinstance(returned, (tuple, list)) or len(returned) != len(arguments):
        got = f"{len(returned)}" if isinstance(returned, (tuple, list)) else type(returned).__name__
        hint = "; write (gradient,) for one argument" if not isinstance(returned, (tuple, list)) else ""
        raise GradientError(
            f"{source} must return a tuple of {len(arguments)} gradients, one per argument, got {got}{hint}"
        )
    gradients: list[Any] = []
    for position, (shape, gradient) in enumerate(zip(arguments, returned, strict=True)):
        if shape is None and (gradient is None or type(gradient) in LEAVES):
            gradients.append(gradient)
            continue
        parts, theirs = flatten(gradient)
        where = f"{source} returned for argument {position}"
        gradients.extend(_fitted(shape, theirs.shape, iter(parts), where))
    return [
        _checked(source, i, leaf, gradient)
        for i, (leaf, gradient) in enumerate(zip(leaves, gradients, strict=True))
    ]


def _fitted(argument: Any, gradient: Any, parts: Iterator[Any], where: str) -> Iterator[Any]:
    """The parts of a gradient, in the order of the argument's leaves; a None stands for any tree."""
    none = ("none", None, ())
    if argument is None and gradient is None:
        yield next(parts)
    elif gradient == none:
        yield from [None] * _count(argument)
    elif (
        argument is None
        or gradient is None
        or argument[:2] != gradient[:2]
        or len(argument[2]) != len(gradient[2])
    ):
        expected, got = TreeDef(argument, _count(argument)), TreeDef(gradient, _count(gradient))
        raise GradientError(f"{where} a gradient of another structure: expected {expected}, got {got}")
    else:
        for inner, theirs in zip(argument[2], gradient[2], strict=True):
            yield from _fitted(inner, theirs, parts, where)


def _count(shape: Any) -> int:
    return 1 if shape is None else sum(map(_count, shape[2]))


def _checked(source: str, position: int, leaf: Leaf, gradient: Any) -> Tensor | None:
    if gradient is None or leaf.dtype is None:
        return None
    where = f"{source} returned for leaf {position} of the arguments"
    if type(gradient) in (bool, int, float, complex):
        gradient = np.asarray(gradient, leaf.dtype)
    if isinstance(gradient, (np.ndarray, np.generic)):
        gradient = wrap(as_array(gradient))
    if not isinstance(gradient, Tensor):
        raise GradientError(f"{where} {type(gradient).__name__}, expected a tensor or None")
    if gradient.shape != leaf.shape:
        raise ShapeError(f"{where} a gradient of shape {gradient.shape}, expected {leaf.shape}")
    if leaf.weak and is_differentiable(gradient.dtype):
        return TENSOR_OPS.cast(gradient, dtype=leaf.dtype)  # type: ignore[no-any-return]
    if gradient.dtype != leaf.dtype:
        raise DTypeError(f"{where} a gradient of dtype {gradient.dtype.name}, expected {leaf.dtype.name}")
    return gradient


class DerivativeRule(abc.ABC):
    """A function with its own derivative, without the arguments that are not to be differentiated."""

    #: Names in messages of the function, and of the function that gives the gradients.
    name: str
    gradients_by: str

    @property
    def key(self) -> Any:
        """The key that is equal for all calls of the function."""
        return self.name

    @abc.abstractmethod
    def primal(self, args: tuple[Any, ...]) -> Any:
        """The output, where nobody differentiates."""

    @abc.abstractmethod
    def forward(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """The output, and what `backward` needs: both pytrees."""

    @abc.abstractmethod
    def backward(self, residuals: Any, cotangents: Any) -> Sequence[Any]:
        """One gradient per argument, of its structure; None for zeros."""


def check_leaves(name: str, args: Any, advice: str) -> None:
    """Raise DTypeError unless every leaf of `args` is a tensor, an array or a number."""
    leaves, _ = flatten(args)
    for position, leaf in enumerate(leaves):
        if not isinstance(leaf, (Tensor, np.ndarray, np.generic, bool, int, float, complex)):
            raise DTypeError(
                f"{name}: expected tensors, arrays and numbers, got {type(leaf).__name__} at argument "
                f"{leaf_paths(args)[position]}; {advice}"
            )


def closed_over(name: str) -> str:
    """Message that there is no gradient with respect to what the function `name` closes over."""
    return (
        f"{name}: the function uses a tensor that requires grad and is none of its arguments, so its rule "
        "cannot say what its gradient is; pass it as an argument, or use tj.stop_gradient of it"
    )


def refuse_closed_over(name: str, *trees: Any) -> None:
    """Raise GradientError where a result depends on a tensor that the function closes over."""
    for leaf in flatten(trees)[0]:
        if type(leaf) is Tensor and leaf._requires_grad:
            raise GradientError(closed_over(name))


def as_tensors(leaves: Sequence[Any]) -> list[Tensor]:
    """Results as tensors: numbers and arrays become such."""
    return [leaf if isinstance(leaf, Tensor) else wrap(as_array(leaf)) for leaf in leaves]


def call_on_tape(rule: DerivativeRule, leaves: Sequence[Any], structure: TreeDef) -> Any:
    """The call where an argument requires grad and the tape runs."""
    plain = [_outside_the_graph(leaf) for leaf in leaves]
    random = DEFAULT.state
    output, residuals = rule.forward(structure.unflatten(plain))
    outputs, output_structure = flatten(output)
    tensors = as_tensors(outputs)
    refuse_closed_over(rule.name, tensors)
    node = RuleNode(rule, leaves, structure, tensors, output_structure, residuals, random)
    results = []
    for index, tensor in enumerate(tensors):
        result = wrap(tensor._data)
        if STATE.tracer is None:
            result._memory = memory_of(tensor)
            chain = chain_of(tensor)
            for leaf, alias in zip(leaves, plain, strict=True):
                if alias is tensor or (chain is not None and chain[0] is alias):
                    share(leaf, result, UNRECORDED)
                    break
        if is_differentiable(tensor.dtype):
            result._node, result._requires_grad = Output(node, index), True
        results.append(result)
    return output_structure.unflatten(results)


def _outside_the_graph(leaf: Any) -> Any:
    """A leaf as the rule's forward sees it. Unlike ``detach``, it says nothing to gradients of a trace."""
    if not isinstance(leaf, Tensor):
        return leaf
    if STATE.tracer is not None:
        # the user's tensor is the capture, not ours: a map replays on captures in their place in the graph
        return wrap(STATE.tracer.lift(leaf))
    result = wrap(leaf._data)
    result._memory = memory_of(leaf)
    return result


class RuleNode(Node):
    """The node of a call: its backward is the rule's."""

    __slots__ = (
        "inputs",
        "leaves",
        "output_structure",
        "outputs",
        "random",
        "residual_structure",
        "residuals",
        "rule",
        "structure",
    )

    several = True

    def __init__(
        self,
        rule: DerivativeRule,
        leaves: Sequence[Any],
        structure: TreeDef,
        outputs: Sequence[Tensor],
        output_structure: TreeDef,
        residuals: Any,
        random: tuple[int, int],
    ) -> None:
        self.rule, self.structure, self.output_structure = rule, structure, output_structure
        tracked = [leaf if isinstance(leaf, Tensor) and leaf._requires_grad else None for leaf in leaves]
        self.parents = tuple([None if tensor is None else tensor._node or tensor for tensor in tracked])
        self.types = tuple([None if tensor is None else (tensor.shape, tensor.dtype) for tensor in tracked])
        self.leaves: list[Leaf] = [leaf_of(leaf) for leaf in leaves]
        self.outputs = [(output.shape, output.dtype) for output in outputs]
        kept, self.residual_structure = flatten(residuals)
        #: The residuals of forward, and the arguments to run it again; both detect writes to them.
        self.residuals: list[Any] = [_saved(leaf) for leaf in kept]
        self.inputs = [_saved(leaf) for leaf in leaves]
        self.random = random
        self.memories = ()
        self.hooks = None
        self.location = None
        if STATE.tracer is not None:
            self.location = STATE.tracer.location
        elif STATE.anomaly is not None:
            self.location = user_location()

    @property
    def count(self) -> int:
        return len(self.outputs)

    def name(self) -> str:
        return f"{self.rule.name}Backward"

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        self.check_saved()
        incoming = []
        for index, (shape, dtype) in enumerate(self.outputs):
            cotangent = cotangents[index]
            if cotangent is None:
                cotangent = engine.namespace.full(value=dtype.type(0).item(), shape=shape, dtype=dtype)
            incoming.append(engine.as_tensor(cotangent))
        residuals = self._again() if STATE.recording else self._kept(self.residuals)
        returned = self.rule.backward(residuals, self.output_structure.unflatten(incoming))
        gradients = checked_gradients(self.rule.gradients_by, self.structure, self.leaves, returned)
        return [
            None if gradient is None or parent is None else engine.from_tensor(gradient)
            for gradient, parent in zip(gradients, self.parents, strict=True)
        ]

    def _kept(self, residuals: list[Any]) -> Any:
        return self.residual_structure.unflatten([self._loaded(residual) for residual in residuals])

    def _again(self) -> Any:
        """Run forward again on the arguments in their place in the graph; return its residuals."""
        args = self.structure.unflatten([self._loaded(input_) for input_ in self.inputs])
        random, quiet, eager = DEFAULT.state, QUIET.on, STATE.tracer is None
        if eager:
            DEFAULT.state = self.random
        QUIET.on = True
        try:
            return self.rule.forward(args)[1]
        finally:
            QUIET.on = quiet
            if eager:
                DEFAULT.state = random

    def _loaded(self, saved: Any) -> Any:
        return saved.tensor(None) if isinstance(saved, SavedTensor) else saved

    def free(self) -> None:
        self.residuals, self.inputs, self.memories = [], [], None


def _saved(leaf: Any) -> Any:
    return SavedTensor(leaf, None) if isinstance(leaf, Tensor) else leaf
