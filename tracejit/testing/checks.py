"""The single checks of ``check_op``. Each raises `Wrong`, with what it found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..base.records import record
from ..ir.builder import Builder
from ..ir.dtypes import is_complex, is_differentiable
from ..ir.graph import Function
from ..ir.interpreter import interpret
from ..ir.registry import Op, check_attrs
from ..ir.text.parser import parse_function
from ..ir.text.printer import print_function
from ..ir.types import TensorType
from ..ir.verifier import verify
from ..jitted.jit import jit
from ..pytree import flatten
from ..runtime.executable import Executable
from ..tensors.tensor import Array, Tensor, as_array, wrap
from ..transforms.grad import grad

#: Half the width of central differences, relative to 1 or the argument: the cube root of the rounding error.
STEP: Final = 6e-6


class Wrong(Exception):
    """A failed check, with its message."""


@record
class Sample:
    """Sample arguments of an op or a function: arrays, and attributes or keyword arguments.

    Example:
        >>> import numpy as np
        >>> import tracejit as tj
        >>> print(tj.testing.Sample((np.ones((2, 3)),), {"axes": (0,)}))
        (f64[2,3]) axes=(0,)
    """

    operands: tuple[Array, ...]
    attrs: dict[str, Any]

    def __str__(self) -> str:
        types = ", ".join(str(TensorType(operand.dtype, operand.shape)) for operand in self.operands)
        return f"({types})" + "".join(f" {name}={value!r}" for name, value in self.attrs.items())


#: The relative tolerance of float16 results: two units in the last place.
_F16: Final = 2.0**-9


@record
class Tolerance:
    """Tolerances of results by dtype, relative to the largest of a result's elements."""

    f32: float
    f64: float
    gradient: float


def compare(got: Any, want: Any, tolerance: Tolerance, what: str) -> None:
    """Raise Wrong unless two pytrees agree in structure, types and values."""
    ours, structure = flatten(got)
    theirs, their_structure = flatten(want)
    if structure != their_structure:
        raise Wrong(f"{what}: got the structure {structure}, expected {their_structure}")
    for position, (a, b) in enumerate(zip(map(array_of, ours), map(array_of, theirs), strict=True)):
        where = f"{what}, result {position}" if len(ours) > 1 else what
        if a.dtype != b.dtype or a.shape != b.shape:
            computed, expected = TensorType(a.dtype, a.shape), TensorType(b.dtype, b.shape)
            raise Wrong(f"{where}: got {computed}, expected {expected}")
        allowed = {"float16": _F16, "float32": tolerance.f32, "float64": tolerance.f64}
        allowed |= {"complex64": tolerance.f32, "complex128": tolerance.f64}
        relative = allowed.get(a.dtype.name, 0.0)
        differ(a, b, relative, where)


def differ(got: Array, want: Array, relative: float, where: str) -> None:
    """Raise Wrong where an element is further off than `relative` times the largest that is finite, or 1."""
    with np.errstate(all="ignore"):
        if relative:
            sizes = np.abs(want[np.isfinite(want)])
            near = np.abs(got - want) <= relative * max(1.0, float(sizes.max(initial=0.0)))
            good = near | (got == want) | (np.isnan(got) & np.isnan(want))
        else:
            good = got == want
    bad = np.argwhere(~np.atleast_1d(good))
    if len(bad):
        first = tuple(int(i) for i in bad[0])
        raise Wrong(
            f"{where}: {len(bad)} of {got.size} elements differ, the first at {list(first)}: got "
            f"{np.atleast_1d(got)[first]}, expected {np.atleast_1d(want)[first]}"
        )


def array_of(leaf: Any) -> Array:
    """A result as an ndarray."""
    return leaf.detach().numpy() if isinstance(leaf, Tensor) else as_array(leaf)


# -- of ops -----------------------------------------------------------------------------------------


def kernel_outputs(op: Op, sample: Sample) -> list[Array]:
    """The outputs of the NumPy kernel. Raises Wrong if it writes to its operands."""
    operands = [operand.copy() for operand in sample.operands]
    with np.errstate(all="ignore"):
        outcome = op.eval(*operands, **sample.attrs)
    for position, (now, before) in enumerate(zip(operands, sample.operands, strict=True)):
        if now.tobytes() != before.tobytes():
            raise Wrong(f"the kernel changed its operand {position}")
    return [np.asarray(output) for output in (outcome if isinstance(outcome, tuple) else (outcome,))]


def type_rule(op: Op, sample: Sample) -> None:
    """The type rule says what the NumPy kernel gives."""
    check_attrs(op, sample.attrs)
    inferred = op.infer(
        tuple([TensorType(operand.dtype, operand.shape) for operand in sample.operands]), sample.attrs
    )
    computed = tuple([TensorType(output.dtype, output.shape) for output in kernel_outputs(op, sample)])
    if inferred != computed:
        expected, got = (", ".join(map(str, types)) for types in (inferred, computed))
        raise Wrong(f"the rule infers ({expected}), the kernel gives ({got})")


def function_of(op: Op, sample: Sample) -> Function:
    """The Function that applies `op` to parameters of the sample's types."""
    b = Builder()
    types = [TensorType(operand.dtype, operand.shape) for operand in sample.operands]
    params = tuple([b.parameter(type_, f"x{i}") for i, type_ in enumerate(types)])
    results = b.apply(op, params, sample.attrs)
    return b.finish(op.name, list(results) if isinstance(results, tuple) else [results])


def kernels(function: Function, arrays: Sequence[Array], tolerance: Tolerance) -> None:
    """Compiled code computes what the NumPy kernels compute."""
    verify(function)
    want = interpret(function, arrays)
    compare(Executable(function)(arrays), want, tolerance, "native code against the NumPy kernel")


def text(function: Function) -> None:
    """The Function prints, and reads back to one that prints the same."""
    printed = print_function(function)
    parsed = parse_function(printed)
    verify(parsed)
    again = print_function(parsed)
    if again != printed:
        raise Wrong(f"it reads back as something else:\n{printed}\n{again}")


def rules(op: Op, sample: Sample) -> None:
    """Every floating operand has a gradient rule."""
    for position, operand in enumerate(sample.operands):
        if is_differentiable(operand.dtype) and op.rule_for(position) is None:
            raise Wrong(f"operand {position} is floating, and has no rule; a record without any says NONDIFF")


# -- of functions -----------------------------------------------------------------------------------

Fn = Callable[..., Any]


def jitted(fn: Fn, sample: Sample, tolerance: Tolerance) -> None:
    """The jitted function gives what the function gives, of the types that tracing promised."""
    operands = [wrap(operand) for operand in sample.operands]
    want, compiled = fn(*operands), jit(fn)
    compare(compiled(*operands), want, tolerance, "jitted against eager")
    compare(compiled(*operands), want, tolerance, "the second jitted call against eager")


def differentiable(fn: Fn, sample: Sample) -> list[int]:
    """The positions of the operands that a gradient is taken by; none where no result is floating."""
    outputs = flatten(fn(*[wrap(operand) for operand in sample.operands]))[0]
    if not any(is_differentiable(array_of(output).dtype) for output in outputs):
        return []
    return [i for i, operand in enumerate(sample.operands) if is_differentiable(operand.dtype)]


def doubled(sample: Sample) -> Sample:
    """The sample in double precision, in which differences mean something."""
    wide = [
        operand.astype(np.result_type(operand, np.float64)) if is_differentiable(operand.dtype) else operand
        for operand in sample.operands
    ]
    return Sample(tuple(wide), sample.attrs)


def gradients(fn: Fn, sample: Sample, order: int, tolerance: Tolerance) -> None:
    """Gradients agree with central differences up to `order`, eagerly and jitted, inside and outside."""
    positions = differentiable(fn, sample)
    current = _weighed(fn, 0.7)
    for number in range(1, order + 1):
        slope = grad(current, positions)
        operands = [wrap(operand) for operand in sample.operands]
        derivatives = slope(*operands)
        for position, derivative in zip(positions, derivatives, strict=True):
            want = _differences(current, sample.operands, position)
            finite = np.isfinite(want)
            got = np.where(finite, array_of(derivative), 0.0)
            where = f"order {number}, by operand {position}, against finite differences"
            differ(got, np.where(finite, want, 0.0), tolerance.gradient, where)
        compare(jit(slope)(*operands), derivatives, tolerance, f"order {number}, jit of grad against eager")
        outside = grad(jit(current), positions)(*operands)
        compare(outside, derivatives, tolerance, f"order {number}, grad of jit against eager")
        current = _weighed(slope, 0.2)


def _weighed(fn: Fn, phase: float) -> Fn:
    """The sum of a function's floating results with irregular weights: a scalar that every element moves."""

    def scalar(*operands: Any) -> Any:
        total: Any = 0.0
        for leaf in flatten(fn(*operands))[0]:
            if isinstance(leaf, Tensor) and is_differentiable(leaf.dtype):
                weights: Any = np.cos(phase + 1.3 * np.arange(leaf.size)).reshape(leaf.shape) + 0.4
                if is_complex(leaf.dtype):
                    weights = weights * np.exp(1j * np.arange(leaf.size)).reshape(leaf.shape)
                total = total + (leaf * wrap(np.asarray(weights, leaf.dtype))).sum().real
        return total

    return scalar


def _differences(fn: Fn, operands: Sequence[Array], position: int) -> Array:
    """df/dx, or df/da - i df/db by a complex x = a + ib, as ``grad`` has it."""
    dtype = operands[position].dtype
    out = np.zeros(operands[position].shape, np.result_type(dtype, np.float64))
    for index in np.ndindex(out.shape):
        step = STEP * max(1.0, float(abs(operands[position][index])))
        for direction in (1.0, 1j) if is_complex(dtype) else (1.0,):
            values = []
            for sign in (1.0, -1.0):
                moved = [operand.copy() for operand in operands]
                moved[position][index] += sign * step * direction
                values.append(float(array_of(fn(*[wrap(array) for array in moved]))))
            out[index] += np.conj(direction) * (values[0] - values[1]) / (2 * step)
    return out


def batched(vmap: Fn, fn: Fn, sample: Sample, tolerance: Tolerance) -> None:
    """Mapped over a new first axis of each operand, the function gives what a loop gives."""
    rows = [
        sample.operands,
        tuple([operand[::-1] if operand.ndim else operand for operand in sample.operands]),
    ]
    stacked = [wrap(np.stack(pair)) for pair in zip(*rows, strict=True)]
    mapped, structure = flatten(vmap(fn)(*stacked))
    loops = [flatten(fn(*[wrap(operand.copy()) for operand in row])) for row in rows]
    want = [
        np.stack([array_of(leaf) for leaf in pair])
        for pair in zip(*[leaves for leaves, _ in loops], strict=True)
    ]
    compare(structure.unflatten(mapped), loops[0][1].unflatten(want), tolerance, "vmap against a loop")
