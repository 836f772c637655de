"""``Function.apply`` under a trace: the op ``custom_vjp``, whose regions are the user's forward and backward.

Both are traced where the function is applied. What backward uses of forward (saved tensors, attributes of
`ctx`) becomes an operand or a result of the op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..array.indexing.writing import replace, writes_memory
from ..backward.engine import Engine
from ..backward.functions import FunctionCtx, checked_gradients, outputs_of, zeros
from ..base.errors import ConcretizationError, GradientError, TracejitError
from ..dispatch.dispatch import apply
from ..dispatch.regions import apply_with_regions, replay
from ..ir.dtypes import is_differentiable
from ..ir.graph import Function as IRFunction
from ..ir.graph import Value
from ..ir.registry import OPS
from ..ir.types import TensorType
from ..state import STATE
from ..tape.modes import untaped
from ..tensors.tensor import Tensor
from ..tracing.regions import RegionTracer, trace_region


class _Application:
    """One application of a Function under a trace."""

    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        tracer = STATE.tracer
        assert tracer is not None
        self.function, self.args = function, args
        self.name = f"{function.__name__}Backward"
        self.tensors = [i for i, argument in enumerate(args) if isinstance(argument, Tensor)]
        self.types = [
            TensorType(argument.dtype, argument.shape) if isinstance(argument, Tensor) else None
            for argument in args
        ]
        self.ctx = FunctionCtx(
            function, tuple([t is not None and is_differentiable(t.dtype) for t in self.types])
        )
        self.forward_tracer = RegionTracer(tracer)
        self.backward_tracer = RegionTracer(self.forward_tracer)
        self.outputs: list[Any] = []
        self.is_tuple = False
        #: Arguments that forward writes: the position of each, and the number of the output that it is.
        self.dirty: list[tuple[int, int]] = []
        self.constant: set[int] = set()

    def forward(self, *symbols: Tensor) -> list[Any]:
        """The tensor results of the user's forward on `symbols`."""
        full = list(self.args)
        for position, symbol in zip(self.tensors, symbols, strict=True):
            full[position] = symbol
        before = [symbol._data for symbol in symbols]
        result = self.function.run_forward(self.ctx, tuple(full))
        self.is_tuple = isinstance(result, tuple)
        self.outputs = outputs_of(self.function, result)
        for position, symbol, value in zip(self.tensors, symbols, before, strict=True):
            if symbol._data is not value and not any(symbol is mark for mark in self.ctx._dirty):
                raise GradientError(
                    f"{self.function.__name__}: forward writes argument {position} in place; say so with "
                    "ctx.mark_dirty and return it, or compute a new tensor"
                )
        for tensor in self.ctx._dirty:
            positions = [i for i, arg in enumerate(full) if arg is tensor]
            places = [i for i, output in enumerate(self.outputs) if output is tensor]
            if not positions or not places:
                raise GradientError(
                    f"{self.function.__name__}: mark_dirty takes arguments of forward, which it must return"
                )
            self.dirty.append((positions[0], places[0]))
        self.constant = {
            i for i, output in enumerate(self.outputs) if any(output is mark for mark in self.ctx._constant)
        }
        self.ctx.keep(self.outputs, None)
        return [output for output in self.outputs if isinstance(output, Tensor)]

    def backward(self, *cotangents: Tensor) -> list[Any]:
        """The user's gradients, one per argument, for cotangents of the floating results."""
        engine, following = Engine(tensors=True), iter(cotangents)
        per_output: list[Tensor | None] = []
        for index, output in enumerate(self.outputs):
            if not isinstance(output, Tensor):
                per_output.append(None)
                continue
            cotangent = next(following) if is_differentiable(output.dtype) else None
            if cotangent is None or index in self.constant:
                cotangent = zeros(engine, output.shape, output.dtype) if self.ctx.materializes else None
            per_output.append(None if cotangent is None else engine.conjugated(cotangent))
        results = self.function.backward(self.ctx, *per_output)
        gradients = list(results) if isinstance(results, tuple) else [results]
        types = [None if type_ is None else (type_.shape, type_.dtype) for type_ in self.types]
        return [
            None if gradient is None or type_ is None else engine.conjugated(engine.fit(gradient, *type_))
            for gradient, type_ in zip(checked_gradients(self.name, types, gradients), types, strict=True)
        ]

    def run(self) -> Any:
        """Trace both, append the op, and hand out its results."""
        types = [type_ for type_ in self.types if type_ is not None]
        with untaped():
            results = trace_region(
                self.forward_tracer,
                self.forward,
                types,
                [f"x{i}" for i in range(len(types))],
                [self.args[i] for i in self.tensors],
            )
            wrt: list[int] = []
            gradients: list[Value] = []
            failure = ""
            if not self.function.has_backward():
                failure = f"{self.function.__name__} defines no backward, so it cannot be differentiated"
            else:
                try:
                    wrt, gradients = self._trace_backward(results)
                except ConcretizationError as error:  # an error only for those who differentiate
                    failure = f"the backward of {self.function.__name__} cannot be traced: {error}"
                except TracejitError:
                    raise
                except Exception as error:  # the user's own, such as NotImplementedError: likewise
                    failure = (
                        f"the backward of {self.function.__name__} raised {type(error).__name__} when it was "
                        f"traced: {error}"
                    )
        operands = [self.args[i] for i in self.tensors] + list(self.forward_tracer.holders.values())
        tensors = self._emit(operands, results, wrt, gradients)
        if failure:
            tensors = [
                apply(OPS["undifferentiable"], (tensor,), {"message": failure})
                if is_differentiable(tensor.dtype)
                else tensor
                for tensor in tensors
            ]
        return self._handed_out(tensors)

    def _trace_backward(self, results: Sequence[Value]) -> tuple[list[int], list[Value]]:
        """The positions of the operands that get gradients, and these gradients in the backward tracer."""
        wrt: list[int] = []

        def gradients(*cotangents: Tensor) -> list[Any]:
            partials = self.backward(*cotangents)
            order = {position: number for number, position in enumerate(self.tensors)}
            wrt.extend(order[i] for i, gradient in enumerate(partials) if gradient is not None)
            return [gradient for gradient in partials if gradient is not None]

        types = [result.type for result in results if is_differentiable(result.dtype)]
        names = [f"ct{i}" for i in range(len(types))]
        values = trace_region(self.backward_tracer, gradients, types, names)
        floating = [i for i in wrt if is_differentiable(self.args[self.tensors[i]].dtype)]
        return floating, [value for i, value in zip(wrt, values, strict=True) if i in floating]

    def _emit(
        self, operands: list[Tensor], outputs: list[Value], wrt: list[int], gradients: list[Value]
    ) -> list[Tensor]:
        forward, backward = self.forward_tracer, self.backward_tracer
        params = [*forward.params, *forward.captured.values()]
        at_hand = {*params, *outputs}
        results = [*outputs, *[value for value in backward.captured if value not in at_hand]]
        taken: dict[Value, Value] = {}

        def parameter(value: Value, name: str) -> Value:
            """The parameter of backward for a value of forward; each parameter is used once."""
            inner = backward.captured.get(value)
            if inner is None or inner in taken:
                return Value(value.type, name)
            inner.hint = name
            taken[inner] = value
            return inner

        inner = [parameter(param, param.hint or f"x{i}") for i, param in enumerate(params)]
        inner += [parameter(result, f"y{i}") for i, result in enumerate(results)]
        name = self.function.__name__
        regions = (
            IRFunction(name, tuple(params), tuple(forward.body), tuple(results)),
            IRFunction(
                f"{name}_backward", (*inner, *backward.params), tuple(backward.body), tuple(gradients)
            ),
        )
        if not gradients and not wrt and backward.params == []:
            return replay(regions[0], operands)[: len(outputs)]
        attrs = {"name": name, "outputs": len(outputs), "wrt": tuple(wrt), "repeats": False}
        return apply_with_regions(OPS["custom_vjp"], operands, attrs, regions)[: len(outputs)]

    def _handed_out(self, tensors: list[Tensor]) -> Any:
        """The results as the user's forward returned them."""
        following = iter(tensors)
        final = [next(following) if isinstance(output, Tensor) else output for output in self.outputs]
        for index in self.constant:
            final[index] = final[index].detach()
        for position, index in self.dirty:
            target = self.args[position]
            writes_memory(target, final[index], self.function.__name__)
            replace(target, final[index], self.function.__name__)
            final[index] = target
        return tuple(final) if self.is_tuple else final[0]


def apply_traced(function: Any, args: tuple[Any, ...]) -> Any:
    """``function.apply(*args)`` in the running trace."""
    return _Application(function, args).run()
