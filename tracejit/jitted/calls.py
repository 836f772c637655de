"""Calls of compiled Functions on Tensors, recorded on the tape as one node whose backward is compiled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..eager.tensor import Tensor, wrap
from ..ir.builder import Builder
from ..ir.dtypes import is_float
from ..ir.effects import without_effects
from ..ir.errors import GradientError
from ..ir.graph import Function
from ..ir.process.locks import ForkLock
from ..ir.transforms.reverse import Pullback, inline, split_pullback
from ..location import user_location
from ..runtime.executable import Executable
from ..state import STATE
from ..tape.cotangents import Cotangents
from ..tape.nodes import Node, Output, Wanted
from ..tape.recording import memory_of
from ..tape.refusing import refuse_gradients
from ..tape.saved import Packed, unpacked


class CompiledFunction:
    """A Function with its executable and its derivatives, each made when first needed."""

    def __init__(self, function: Function, donated: Collection[int] = ()) -> None:
        self.function = function
        self._donated = donated
        self._lock = ForkLock()
        self._executable: Executable | None = None
        self._pullbacks: dict[tuple[int, ...], tuple[Pullback, CompiledFunction, CompiledFunction]] = {}
        self._joint: dict[tuple[int, ...], CompiledFunction] = {}

    @property
    def executable(self) -> Executable:
        if self._executable is None:
            with self._lock:
                if self._executable is None:
                    self._executable = Executable(self.function, donated=self._donated)
        return self._executable

    @property
    def made_executable(self) -> Executable | None:
        """The executable, None where it has not been needed."""
        return self._executable

    def made(self) -> list[tuple[str, CompiledFunction]]:
        """This function and its derivatives, as far as they were asked for, with what they are."""
        with self._lock:
            found: list[tuple[str, CompiledFunction]] = [("forward", self)]
            for _, forward, backward in self._pullbacks.values():
                found += [("forward, keeping what its gradient needs", forward), ("backward", backward)]
            return found + [
                ("backward, to be differentiated itself", compiled) for compiled in self._joint.values()
            ]

    def pullback(self, wrt: tuple[int, ...]) -> tuple[Pullback, CompiledFunction, CompiledFunction]:
        """The split into forward and backward parts for inputs `wrt`."""
        with self._lock:
            if wrt not in self._pullbacks:
                split = split_pullback(self.function, wrt)
                self._pullbacks[wrt] = (
                    split,
                    CompiledFunction(split.forward),
                    CompiledFunction(split.backward),
                )
            return self._pullbacks[wrt]

    def joint_backward(self, wrt: tuple[int, ...]) -> CompiledFunction:
        """``(*inputs, *cotangents) -> gradients``, which computes what it needs of the forward part again."""
        with self._lock:
            if wrt not in self._joint:
                split = self.pullback(wrt)[0]
                builder = Builder()
                args = [builder.parameter(param.type, param.hint) for param in self.function.params]
                residuals = inline(builder, without_effects(split.forward), args)[split.outputs :]
                kept = len(split.forward.results) - split.outputs
                cotangents = [
                    builder.parameter(param.type, param.hint) for param in split.backward.params[kept:]
                ]
                gradients = inline(builder, split.backward, [*residuals, *cotangents])
                self._joint[wrt] = CompiledFunction(builder.finish(split.backward.name, gradients))
            return self._joint[wrt]


class CallNode(Node):
    """The node of a compiled call: its backward is a compiled Function."""

    __slots__ = ("compiled", "inputs", "memories", "residuals", "result_types", "versions", "wrt")

    several = True

    def __init__(
        self,
        compiled: CompiledFunction,
        wrt: tuple[int, ...],
        inputs: Sequence[Tensor],
        residuals: list[Any],
        result_types: list[Any],
    ) -> None:
        self.compiled, self.wrt, self.result_types = compiled, wrt, result_types
        self.parents = tuple(
            [(input_._node or input_) if i in wrt else None for i, input_ in enumerate(inputs)]
        )
        self.types = tuple([(input_.shape, input_.dtype) for input_ in inputs])
        #: The arguments, for a gradient that is to be differentiated; None once freed.
        self.inputs: list[Any] | None = [input_._data for input_ in inputs]
        self.residuals = residuals
        hooks = STATE.saved_hooks
        if hooks is not None:
            self.residuals = [Packed(residual, hooks) for residual in residuals]
            # leaves stay alive whatever becomes of their values
            self.inputs = [
                input_._data
                if input_._requires_grad and input_._node is None
                else Packed(input_._data, hooks)
                for input_ in inputs
            ]
        self.memories = [memory_of(input_) for input_ in inputs]
        self.versions = [memory[0] for memory in self.memories]
        self.hooks = self.location = None
        if STATE.anomaly is not None:
            self.location = user_location()

    @property
    def count(self) -> int:
        return len(self.result_types)

    def name(self) -> str:
        return "JitBackward"

    def constant(self, position: int) -> Any:
        return None if self.inputs is None else unpacked(self.inputs[position])

    def pull(self, engine: Cotangents, cotangents: Any, wanted: Wanted) -> Sequence[Any]:
        if self.inputs is None:
            raise self._freed()
        self._check_versions()
        split, _, backward = self.compiled.pullback(self.wrt)
        given: list[Any] = []
        for index in split.differentiable:
            cotangent = cotangents[index] if index < len(cotangents) else None
            given.append(engine.zeros(*self.result_types[index]) if cotangent is None else cotangent)
        if engine.tensors:
            joint = self.compiled.joint_backward(self.wrt)
            inputs = [engine.operand(self, i, unpacked(input_)) for i, input_ in enumerate(self.inputs)]
            gradients: list[Any] = list(call(joint, [*inputs, *given]))
        else:
            gradients = list(backward.executable([*map(unpacked, self.residuals), *given]))
        found: list[Any] = [None] * len(self.parents)
        for position, gradient in zip(self.wrt, gradients, strict=True):
            found[position] = gradient
        return found

    def _check_versions(self) -> None:
        for position, (memory, version) in enumerate(zip(self.memories, self.versions, strict=True)):
            if memory[0] != version:
                raise GradientError(
                    f"argument {position} of the jitted function, of shape {self.types[position][0]}, was "
                    f"modified in place by {memory[1]}: it is at version {memory[0]}, expected version "
                    f"{version}"
                )

    def free(self) -> None:
        self.inputs, self.residuals = None, []
        self.memories = self.versions = []


def call(compiled: CompiledFunction, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The results of a compiled Function on Tensors of just its parameters' types."""
    tracer = STATE.tracer
    if tracer is not None:
        return [wrap(value) for value in inline(tracer, compiled.function, list(map(tracer.lift, inputs)))]
    arrays = [input_._data for input_ in inputs]
    wrt: tuple[int, ...] = ()
    if STATE.recording:
        wrt = tuple(i for i, input_ in enumerate(inputs) if input_._requires_grad)
    if not wrt:
        return [wrap(array) for array in compiled.executable(arrays)]
    try:
        split, forward, _ = compiled.pullback(wrt)
    except GradientError as error:  # an error only for those who differentiate the results
        results = [wrap(array) for array in compiled.executable(arrays)]
        refuse_gradients("JitBackward", results, inputs, str(error))
        return results
    values = forward.executable(arrays)
    results = [wrap(value) for value in values[: split.outputs]]
    types = [(result.shape, result.dtype) for result in results]
    node = CallNode(compiled, wrt, inputs, values[split.outputs :], types)
    for index, result in enumerate(results):
        if is_float(result.dtype):
            result._node = Output(node, index)
            result._requires_grad = True
    return results
