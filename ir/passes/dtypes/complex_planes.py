"""Complex values as two real ones, so that fusion and code generation know nothing of complex numbers.

A parameter of the function is the same memory with a last axis of two, ``c128[n]`` as ``f64[n,2]``, and so is
a result, and so are large values that loops read or stack; values within it, and all others that regions of
control flow take and return, are *planes*: the real parts as one value, the imaginary parts as another. What
an op does to planes is a rule (`complex_arithmetic`, `complex_functions`, `complex_reductions`); linear
algebra takes and gives pairs; ops without a rule run by their NumPy kernel.

A rule is ``rule(b, instruction, operands)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...builder import Builder
from ...dtypes import BOOL, is_complex, real_dtype
from ...graph import Function, Instruction, Location, Value
from ...ops.fusion import INTERPRETED
from ...ops.linalg.lu import LU_SOLVE
from ...ops.linalg.pairs import COMPLEX_LINALG, attrs_of, paired
from ...ops.linalg.triangular import TRIANGULAR_SOLVE
from ...registry import Kind
from ..algebra.triangular_systems import triangular_system
from ..rewriting import constant_of
from .complex_arithmetic import ARITHMETIC, div_by_real, truth
from .complex_functions import FUNCTIONS, whole_power
from .complex_inverses import INVERSES
from .complex_products import contraction, matrix_product
from .complex_reductions import REDUCTIONS
from .planes import Planes

Rule = Callable[[Builder, Instruction, list[Any]], Any]
#: NumPy computes whole powers below this by products.
_MAX_FACTORS: Final = 100


def whole_exponent(
    exponent: Value, defs: Mapping[Value, Instruction]
) -> Callable[[Any, Planes], Planes] | None:
    """The power with `exponent`, where that is a whole constant whose power NumPy computes by products."""
    constant = constant_of(exponent, defs)
    if constant is None:
        return None
    number = complex(constant)
    if number.imag or not number.real or number.real % 1 or abs(number.real) >= _MAX_FACTORS:
        return None
    whole = int(number.real)
    return lambda b, x: whole_power(b, x, whole)


def _apart(b: Builder, instruction: Instruction, operands: list[Any]) -> Planes:
    """The op on the real parts, and on the imaginary ones; other operands are those of both."""
    op, attrs = instruction.op, instruction.attrs
    re, im = (
        b.append(op, tuple([getattr(x, part) if isinstance(x, Planes) else x for x in operands]), attrs)[0]
        for part in ("re", "im")
    )
    return Planes(re, im)


def _constant(b: Builder, instruction: Instruction, operands: list[Any]) -> Planes:
    attrs = dict(instruction.attrs)
    attrs["dtype"] = real_dtype(attrs["dtype"])
    for name in ("value", "data"):
        if name in attrs:
            numbers = attrs.pop(name)
            parts = [
                tuple([getattr(complex(number), part) for number in numbers])
                if isinstance(numbers, tuple)
                else getattr(complex(numbers), part)
                for part in ("real", "imag")
            ]
            re, im = (b.append(instruction.op, (), {name: part, **attrs})[0] for part in parts)
            return Planes(re, im)
    (re,) = b.append(instruction.op, (), attrs)
    return Planes(re, _zeros(b, re))


def _zeros(b: Builder, like: Value) -> Any:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)


def _cast(b: Builder, instruction: Instruction, operands: list[Any]) -> Any:
    (x,), dtype = operands, instruction.attrs["dtype"]
    if not is_complex(dtype):
        return truth(b, x) if dtype is BOOL else _as(b, x.re, dtype)
    part = real_dtype(dtype)
    if isinstance(x, Planes):
        return Planes(_as(b, x.re, part), _as(b, x.im, part))
    re = _as(b, x, part)
    return Planes(re, _zeros(b, re))


def _as(b: Builder, x: Value, dtype: Any) -> Any:
    return x if x.dtype is dtype else b.cast(x, dtype=dtype)


STRUCTURE: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            "barrier",
            "broadcast",
            "concat",
            "cumsum",
            "gather",
            "reshape",
            "rounded",
            "scatter",
            "slice",
            "sum",
            "transpose",
            "update",
        ),
        _apart,
    ),
    **dict.fromkeys(("constant", "full", "iota"), _constant),
    "cast": _cast,
    "complex": lambda b, instruction, operands: Planes(*operands),
    "imag": lambda b, instruction, operands: operands[0].im,
    "real": lambda b, instruction, operands: operands[0].re,
}


#: The rule that rewrites each op to planes: ``rule(b, *operands)``.
_RULES: Final[dict[str, Callable[..., Any]]] = {**ARITHMETIC, **FUNCTIONS, **INVERSES}
#: Elements of complex values that loops have in planes.
_MAX_IN_PLANES: Final = 64
#: Products of sums: ``rule(splitter, instruction, *operands)``.
_PRODUCTS: Final[dict[str, Callable[..., Planes]]] = {"convolve": contraction, "matmul": matrix_product}


def complex_planes(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: no value is complex, but in the regions of ``interpreted``
    instructions; parameters and results have the memory that they had."""
    if not _has_complex(function):
        return function
    return _Splitter().run(function)


def _is_large(value: Value) -> bool:
    """Whether a complex value, which a loop reads or stacks, is better off as pairs: so, a stack of
    transforms is written without copies."""
    return value.type.size > _MAX_IN_PLANES


def _has_complex(function: Function) -> bool:
    if any(map(is_complex, function.dtypes)):
        return True
    return function.has_control and any(
        any(map(_has_complex, instruction.regions))
        for instruction in function.body
        if instruction.op.kind.traits.control
    )


class _Splitter:
    """Writes one Function anew."""

    def __init__(self) -> None:
        self.b = Builder()
        self.values: dict[Value, Value | Planes] = {}
        #: The definitions of complex values, as they were.
        self.defs: dict[Value, Instruction] = {}
        #: The memory that planes are the columns of.
        self.pairs: dict[Planes, Value] = {}
        #: The definitions of what is written, up to so many instructions of it.
        self.written: dict[Value, Instruction] = {}
        self.indexed = 0

    def run(self, function: Function, *, carries: int | None = None) -> Function:
        """Rewrite `function` with parameters and results as arrays of pairs. In a region of control flow the
        first `carries` of both, and small values, are in planes."""
        b = self.b
        #: Lines where parameters are read first, and results made: their planes are of those lines.
        places: dict[Value, Location | None] = {}
        for instruction in function.body:
            for operand in instruction.operands:
                places.setdefault(operand, instruction.location)
            places.update(dict.fromkeys(instruction.results, instruction.location))

        def in_planes(position: int, value: Value) -> bool:
            return carries is not None and (position < carries or not _is_large(value))

        for position, param in enumerate(function.params):
            b.location = places.get(param)
            if not is_complex(param.dtype):
                self.values[param] = b.parameter(param.type, param.hint)
            elif in_planes(position, param):
                type_ = param.type.with_dtype(real_dtype(param.dtype))
                re, im = (b.parameter(type_, param.hint and f"{param.hint}_{part}") for part in ("re", "im"))
                self.values[param] = Planes(re, im)
            else:
                self.values[param] = self.columns(b.parameter(paired(param.type), param.hint))
        for instruction in function.body:
            b.location = instruction.location
            self._instruction(instruction)
        results: list[Value] = []
        for position, result in enumerate(function.results):
            value = self.values[result]
            b.location = places.get(result)
            if not isinstance(value, Planes):
                results.append(value)
            elif in_planes(position, result):
                results += [value.re, value.im]
            else:
                results.append(self.together(value))
        return b.finish(function.name, results)

    def columns(self, pairs: Value) -> Planes:
        """The planes in an array of pairs."""
        shape = pairs.shape[:-1]
        step = (1,) * len(pairs.shape)
        parts = []
        for part in range(2):
            start = (*(0,) * len(shape), part)
            column = self.b.slice(pairs, start=start, size=(*shape, 1), step=step)
            parts.append(self.b.reshape(column, shape=shape))
        planes = Planes(*parts)
        self.pairs[planes] = pairs
        return planes

    def together(self, planes: Planes) -> Value:
        """Planes as an array of pairs, with the parts along a last axis."""
        pairs = self.pairs.get(planes)
        if pairs is None:
            shape = (*planes.re.shape, 1)
            parts = [self._computed(part) for part in (planes.re, planes.im)]
            columns = [self.b.reshape(part, shape=shape) for part in parts]
            pairs = self.pairs[planes] = self.b.concat(*columns, axis=len(shape) - 1)
        return pairs

    def _computed(self, part: Value) -> Value:
        """`part`; where it is a view, such as a column of a parameter, as a value of its own, which the nest
        that computes the other part writes beside that."""
        definition = self._definitions().get(part)
        is_view = definition is None or definition.op.kind is Kind.VIEW
        return self.b.barrier(part) if is_view else part

    def _definitions(self) -> dict[Value, Instruction]:
        """The instructions that define what is written, by their results."""
        for instruction in self.b.body[self.indexed :]:
            self.written.update((result, instruction) for result in instruction.results)
        self.indexed = len(self.b.body)
        return self.written

    def is_zero(self, value: Value) -> bool:
        """Whether `value` is 0 everywhere, of either sign."""
        definition = self._definitions().get(value)
        if definition is not None and definition.op.name == "neg":
            return self.is_zero(definition.operands[0])
        return bool(constant_of(value, self._definitions()) == 0)

    def _flat(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """The representations of `values` as one list, with the two planes of complex ones in turn."""
        flat: list[Value] = []
        for value in values:
            split = self.values[value]
            flat += [split.re, split.im] if isinstance(split, Planes) else [split]
        return tuple(flat)

    def _instruction(self, instruction: Instruction) -> None:
        op = instruction.op
        self.defs.update((result, instruction) for result in instruction.results)
        if op.kind.traits.control:
            self._control(instruction)
        elif not any(is_complex(value.dtype) for value in (*instruction.operands, *instruction.results)):
            results = self.b.repeat(instruction, self._flat(instruction.operands))
            self.values.update(zip(instruction.results, results, strict=True))
        else:
            operands = [self.values[operand] for operand in instruction.operands]
            result = self._by_rule(instruction, operands)
            if result is None and op.kind is Kind.LINALG:
                self._linear_algebra(instruction)
            elif result is None:
                self._on_the_host(instruction)
            else:
                self.values[instruction.result] = result

    def _by_rule(self, instruction: Instruction, operands: list[Any]) -> Any:
        """Apply the rule for `instruction`; None if there is no rule."""
        name = instruction.op.name
        if name == "view_as_real":
            return self.together(operands[0])
        if name == "view_as_complex":
            return self.columns(operands[0])
        if name == "pow":
            exponent = whole_exponent(instruction.operands[1], self.defs)
            if exponent is not None:
                return exponent(self.b, operands[0])
        if name == "div" and self.is_zero(operands[1].im):
            return div_by_real(self.b, *operands)
        product = _PRODUCTS.get(name)
        if product is not None:
            return product(self, instruction, *operands)
        rule = _RULES.get(name)
        if rule is not None:
            return rule(self.b, *operands)
        structural = STRUCTURE.get(name) or REDUCTIONS.get(name)
        return None if structural is None else structural(self.b, instruction, operands)

    # -- control flow -----------------------------------------------------------------------------------

    def _control(self, instruction: Instruction) -> None:
        """A loop or a choice: two carries, slices and results for each complex one in planes.

        Steps overwrite planes where they can, so carries are. Invariants, slices and what is stacked are
        pairs where they are large; of choices, and of loops that are rewound, nothing is.
        """
        operands, attrs, body = instruction.operands, dict(instruction.attrs), instruction.regions[-1]
        carries, inner, outer = sys.maxsize, operands, instruction.results
        if instruction.op.kind in (Kind.SCAN, Kind.WHILE):
            carries, inner, outer = attrs["carries"], body.params, body.results

        def in_planes(position: int, value: Value) -> bool:
            return is_complex(value.dtype) and (position < carries or not _is_large(value))

        split = [in_planes(position, value) for position, value in enumerate(inner)]
        count = len(operands)
        for name, positions in (
            ("carries", slice(0, attrs.get("carries"))),
            ("slices", slice(count - attrs.get("slices", 0), None)),
            ("states", slice(count - attrs.get("states", 0), None)),
        ):
            if name in attrs:
                attrs[name] += sum(split[positions])
        flat: list[Value] = []
        for operand, is_split in zip(operands, split, strict=True):
            value = self.values[operand]
            if not isinstance(value, Planes):
                flat.append(value)
            else:
                flat += [value.re, value.im] if is_split else [self.together(value)]
        regions = tuple([_Splitter().run(region, carries=carries) for region in instruction.regions])
        following = iter(self.b.append(instruction.op, tuple(flat), attrs, regions=regions))
        for position, (result, inside) in enumerate(zip(instruction.results, outer, strict=True)):
            first = next(following)
            if not is_complex(result.dtype):
                self.values[result] = first
            elif in_planes(position, inside):
                self.values[result] = Planes(first, next(following))
            else:
                self.values[result] = self.columns(first)

    def _take(self, instruction: Instruction, flat: Sequence[Value]) -> None:
        """Let `flat` stand for the results."""
        following = iter(flat)
        for result in instruction.results:
            first = next(following)
            self.values[result] = Planes(first, next(following)) if is_complex(result.dtype) else first

    # -- linear algebra -----------------------------------------------------------------------------------

    def _linear_algebra(self, instruction: Instruction) -> None:
        """The instruction on the memory of pairs, as LAPACK has it."""
        system = triangular_system(instruction, self.defs) if instruction.op is LU_SOLVE else None
        if system is not None:
            operands, attrs = system
            instruction = Instruction(
                TRIANGULAR_SOLVE, operands, attrs, instruction.results, instruction.location
            )
        values = [self.values[operand] for operand in instruction.operands]
        pairs = [self.together(value) if isinstance(value, Planes) else value for value in values]
        results = self.b.append(COMPLEX_LINALG, tuple(pairs), attrs_of(instruction))
        for result, value in zip(instruction.results, results, strict=True):
            self.values[result] = self.columns(value) if is_complex(result.dtype) else value

    # -- ops without a rule -------------------------------------------------------------------------------

    def _on_the_host(self, instruction: Instruction) -> None:
        """Run the instruction by its NumPy kernel, on complex operands that are composed of their planes."""
        inner = Builder()
        inner.location = instruction.location
        arguments = []
        for operand in instruction.operands:
            if is_complex(operand.dtype):
                part = operand.type.with_dtype(real_dtype(operand.dtype))
                arguments.append(inner.complex(inner.parameter(part), inner.parameter(part)))
            else:
                arguments.append(inner.parameter(operand.type))
        results: list[Value] = []
        for result in inner.repeat(instruction, tuple(arguments)):
            results += [inner.real(result), inner.imag(result)] if is_complex(result.dtype) else [result]
        region = inner.finish(instruction.op.name, results)
        flat = self.b.append(INTERPRETED, self._flat(instruction.operands), {}, regions=(region,))
        self._take(instruction, flat)
