"""Calls of compiled Functions on Tensors, recorded on the tape as one node whose backward is compiled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import GradientError, RunsAgainError
from ..base.process.locks import ForkLock
from ..dispatch.native_ops import entry_layout_of_tensors
from ..ir.builder import Builder
from ..ir.dataflow import without_effects
from ..ir.graph import Function
from ..ir.ops.indexing import CHECK
from ..ir.registry import Strength
from ..ir.transforms.differentiation import choice_in, inline, split_pullback
from ..location import user_location
from ..runtime.executable import Executable
from ..runtime.native.entry import array_function
from ..state import STATE
from ..tape.hooks import Cotangents
from ..tape.nodes import IsNeeded, Node, Output, refuse_gradients
from ..tape.recording import memory_of
from ..tape.saved import Packed, SavedHooks, unpacked
from ..tensors.tensor import Tensor, wrap


def runs_again(function: Function) -> bool:
    """Whether compiled code of `function` may end with an error after which the call runs again."""
    errors = tuple(f"{error.__name__}:" for error in RunsAgainError.__subclasses__())
    return any(
        step.op is CHECK and step.attrs["error"].startswith(errors) for step in function.instructions()
    )


class CompiledFunction:
    """A Function with its executable and its derivatives, each made when first needed."""

    def __init__(
        self, function: Function, donated: Collection[int] = (), flush_denormals: bool = False
    ) -> None:
        self.function, self.flush_denormals = function, flush_denormals
        self._donated = donated
        self._lock = ForkLock()
        self._executable: Executable | None = None
        self._runs_again: bool | None = None
        self._plans: dict[tuple[int, ...], CallPlan] = {}
        self._joint: dict[tuple[tuple[int, ...], Strength], CompiledFunction] = {}

    @property
    def executable(self) -> Executable:
        if self._executable is None:
            with self._lock:
                if self._executable is None:
                    self._executable = Executable(
                        self.function, donated=self._donated, flush_denormals=self.flush_denormals
                    )
        return self._executable

    @property
    def runs_again(self) -> bool:
        """Whether it may end with an error after which the call runs again."""
        if self._runs_again is None:
            self._runs_again = runs_again(self.function)
        return self._runs_again

    @property
    def made_executable(self) -> Executable | None:
        """The executable, None where it has not been needed."""
        return self._executable

    def made(self) -> list[tuple[str, CompiledFunction]]:
        """The programs compiled so far, each with its role: this function and the derivatives that were asked
        for."""
        with self._lock:
            programs: list[tuple[str, CompiledFunction]] = [("forward", self)]
            for plan in self._plans.values():
                programs += [("forward, keeping what its gradient needs", plan.forward)]
                programs += [("backward", plan.backward)]
            for (_, strength), compiled in self._joint.items():
                role = "behind a safe choice" if strength else "to be differentiated itself"
                programs += [(f"backward, {role}", compiled)]
            return programs

    def plan(self, wrt: tuple[int, ...]) -> CallPlan:
        """The plan for recording calls of which exactly the inputs at `wrt` require gradients.

        Raises GradientError where the Function has no gradient."""
        plan = self._plans.get(wrt)
        if plan is None:
            with self._lock:
                if wrt not in self._plans:
                    self._plans[wrt] = CallPlan(self, wrt)
                plan = self._plans[wrt]
        return plan

    def joint_backward(self, wrt: tuple[int, ...], strength: Strength = Strength.NONE) -> CompiledFunction:
        """``(*inputs, *cotangents) -> gradients``, which computes what it needs of the forward part again.
        Zeros in the cotangents have the `strength`."""
        with self._lock:
            if (wrt, strength) not in self._joint:
                split = self.plan(wrt).split
                if strength:
                    split = split_pullback(self.function, wrt, strength=strength)
                builder = Builder()
                args = [builder.parameter(param.type, param.hint) for param in self.function.params]
                residuals = inline(builder, without_effects(split.forward), args)[split.outputs :]
                kept = len(split.forward.results) - split.outputs
                cotangents = [
                    builder.parameter(param.type, param.hint) for param in split.backward.params[kept:]
                ]
                gradients = inline(builder, split.backward, [*residuals, *cotangents])
                joint = builder.finish(split.backward.name, gradients)
                compiled = CompiledFunction(joint, flush_denormals=self.flush_denormals)
                self._joint[wrt, strength] = compiled
            return self._joint[wrt, strength]


class CallPlan:
    """The plan for recording and differentiating calls of a compiled Function, where exactly the inputs at
    `wrt` require gradients.

    Attributes:
        compiled: the Function, `wrt` its inputs that require gradients, and `split` its forward and backward
            parts.
        forward: ``(*inputs) -> (*results, *residuals)``.
        backward: ``(*residuals, *cotangents) -> gradients``.
        tracked: per input, whether it requires a gradient.
        chooses: the strength of zeros in cotangents of the inputs where a safe choice in the Function did
            not choose these.
        types: per input, (shape, dtype).
        result_types: per result, (shape, dtype).
    """

    __slots__ = (
        "_gradients", "backward", "chooses", "compiled", "forward", "result_types", "split", "tracked",
        "types", "wrt",
    )  # fmt: skip

    def __init__(self, compiled: CompiledFunction, wrt: tuple[int, ...]) -> None:
        function, split = compiled.function, split_pullback(compiled.function, wrt)
        self.compiled, self.wrt, self.split = compiled, wrt, split
        self.chooses = _of_safe_choices(choice_in([function]))
        self.forward, self.backward = [
            CompiledFunction(part, flush_denormals=compiled.flush_denormals)
            for part in (split.forward, split.backward)
        ]
        self.tracked = tuple([i in wrt for i in range(len(function.params))])
        self.types = tuple([(param.shape, param.dtype) for param in function.params])
        self.result_types = tuple([(result.shape, result.dtype) for result in function.results])
        self._gradients: Callable[..., Sequence[Any]] | None = None

    def record(self, *values: Any) -> None:
        """Put a call on the tape: `values` are its results as Tensors, its residuals as arrays, and its
        inputs as they were passed: Tensors, arrays and Python numbers. Both the native entry of recorded
        calls and `call` end here."""
        outputs, kept = self.split.outputs, len(self.split.forward.results)
        node = CallNode(self, values[outputs:kept], values[kept:])
        for index in self.split.differentiable:
            result = values[index]
            result._node = Output(node, index)
            result._requires_grad = True

    def gradients(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The cotangents of the inputs at `wrt`, from the residuals and the cotangents of the results."""
        run = self._gradients
        if run is None:
            run = self._gradients = array_function(self.backward.executable, entry_layout_of_tensors())
        return run(*arrays)


def _of_safe_choices(strength: Strength) -> Strength:
    """The strength with which zeros enter a compiled call, and leave it: those of other choices end there, as
    every derivative of the call would else be compiled twice."""
    return strength if strength is Strength.PRODUCTS else Strength.NONE


#: The count of writes to an array or a number, which nobody counts.
_UNCOUNTED: Final = [0]


class CallNode(Node):
    """The node of a compiled call: its backward is a compiled Function."""

    __slots__ = ("inputs", "plan", "residuals")

    several = True

    def __init__(self, plan: CallPlan, residuals: Sequence[Any], inputs: Sequence[Any]) -> None:
        self.plan, self.types = plan, plan.types
        #: The residuals that the backward part reads.
        self.residuals = residuals
        parents: list[Any] = []
        arrays: list[Any] = []
        memories: list[tuple[list[Any], int]] = []
        for input_, tracked, type_ in zip(inputs, plan.tracked, plan.types, strict=True):
            if isinstance(input_, Tensor):
                parents.append((input_._node or input_) if tracked else None)
                arrays.append(input_._data)
                memory = input_._memory or memory_of(input_)
                memories.append((memory, memory[0]))
            else:
                parents.append(None)
                arrays.append(np.asarray(input_, type_[1]))
                memories.append((_UNCOUNTED, 0))
        self.parents = tuple(parents)
        #: The arguments, for a gradient that is to be differentiated; None once freed.
        self.inputs: list[Any] | None = arrays
        self.memories = memories
        self.hooks = self.location = None
        if STATE.saved_hooks is not None:
            self._pack(STATE.saved_hooks)
        if STATE.anomaly is not None:
            self.location = user_location()

    def _pack(self, hooks: SavedHooks) -> None:
        """Pass what is saved through `hooks`, but for leaves: they stay alive whatever becomes of their
        values."""
        assert self.inputs is not None
        self.residuals = [Packed(residual, hooks) for residual in self.residuals]
        self.inputs = [
            array if isinstance(parent, Tensor) else Packed(array, hooks)
            for parent, array in zip(self.parents, self.inputs, strict=True)
        ]

    @property
    def chooses(self) -> Strength:
        return self.plan.chooses

    @property
    def count(self) -> int:
        return len(self.plan.result_types)

    def name(self) -> str:
        return "JitBackward"

    def constant(self, position: int) -> Any:
        return None if self.inputs is None else unpacked(self.inputs[position])

    def pull(self, engine: Cotangents, cotangents: Any, is_needed: IsNeeded) -> Sequence[Any]:
        self.check_saved()
        assert self.inputs is not None
        plan = self.plan
        incoming: list[Any] = []
        for index in plan.split.differentiable:
            cotangent = cotangents[index]
            incoming.append(engine.zeros(*plan.result_types[index]) if cotangent is None else cotangent)
        gradients: Sequence[Any]
        strength = _of_safe_choices(engine.strength)
        if engine.tensors:
            joint = plan.compiled.joint_backward(plan.wrt, strength)
            inputs = [engine.operand(self, i, unpacked(input_)) for i, input_ in enumerate(self.inputs)]
            gradients = call(joint, [*inputs, *incoming])
        else:
            # rules broadcast cotangents, which native code reads in plain memory
            plain = [np.asarray(cotangent, order="C") for cotangent in incoming]
            if strength:
                joint = plan.compiled.joint_backward(plan.wrt, strength)
                gradients = joint.executable([*map(unpacked, self.inputs), *plain])
            else:
                gradients = plan.gradients([*map(unpacked, self.residuals), *plain])
        outgoing: list[Any] = [None] * len(self.parents)
        for place, position in enumerate(plan.wrt):
            outgoing[position] = gradients[place]
        return outgoing

    def describe_saved(self, position: int) -> str:
        return f"argument {position} of the jitted function, of shape {self.types[position][0]},"

    def free(self) -> None:
        self.inputs, self.residuals, self.memories = None, [], None


def call(compiled: CompiledFunction, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The results of a compiled Function on Tensors of just its parameters' types."""
    tracer = STATE.tracer
    if tracer is not None:
        return [wrap(value) for value in inline(tracer, compiled.function, list(map(tracer.lift, inputs)))]
    arrays = [input_._data for input_ in inputs]
    wrt = requiring_grad(inputs) if STATE.recording else ()
    if not wrt:
        return [wrap(array) for array in compiled.executable(arrays)]
    try:
        plan = compiled.plan(wrt)
    except GradientError as error:  # an error only for those who differentiate the results
        results = [wrap(array) for array in compiled.executable(arrays)]
        refuse_gradients("JitBackward", results, inputs, str(error))
        return results
    values = plan.forward.executable(arrays)
    outputs = plan.split.outputs
    results = [wrap(value) for value in values[:outputs]]
    plan.record(*results, *values[outputs:], *inputs)
    return results


def requiring_grad(inputs: Sequence[Any]) -> tuple[int, ...]:
    """The positions of the Tensors that require gradients among `inputs`."""
    return tuple(
        [i for i, input_ in enumerate(inputs) if isinstance(input_, Tensor) and input_._requires_grad]
    )
