"""The verifier: raises VerificationError, with the annotated text, when a Function breaks an invariant.

Invariants:

1. Every operand and every result of the Function is a parameter or a result of an earlier instruction
   of the same Function. Regions see only their own parameters (captures are explicit).
2. No value is defined twice.
3. The op is the registry's record of its name; a non-variadic op has exactly its operands.
4. Attributes are exactly the op's, each of an accepted Python type.
5. Result types are what the op's type rule gives for the operand types and attributes.
6. Elementwise operands have equal shapes and the dtypes of the op's loop: broadcasts and casts are ops.
7. An op whose record has `Regions` has the regions that its `Regions.types` asks for, and the results
   that rule gives; no other op has regions. Each region is valid itself.
"""

from __future__ import annotations

from ..base.errors import TracejitError, VerificationError
from .graph import PRINT_FUNCTION, Function, Instruction, Value
from .registry import OPS, Kind, check_attrs


def verify(function: Function, checked: set[Instruction] | None = None) -> None:
    """Raise VerificationError unless every invariant holds.

    Instructions are immutable. Of those in `checked`, which earlier calls accepted, only invariants 1 and 2
    are checked again; what this call accepts is added there.

    Example:
        >>> import tracejit as tj
        >>> verify(tj.trace(lambda x: x + 1, tj.ones(3)))
    """
    checked = set() if checked is None else checked
    defined: set[Value] = set()
    for param in function.params:
        if param in defined:
            raise _failure(function, None, "a parameter is listed twice")
        defined.add(param)
    for instruction in function.body:
        for position, operand in enumerate(instruction.operands):
            if operand not in defined:
                raise _failure(function, instruction, f"operand {position} is not defined before its use")
        if instruction not in checked:
            _check_instruction(function, instruction, checked)
            checked.add(instruction)
        for result in instruction.results:
            if result in defined:
                raise _failure(function, instruction, "a result is defined already")
            defined.add(result)
    for position, result in enumerate(function.results):
        if result not in defined:
            raise _failure(function, None, f"result {position} is not defined in this function")


def _check_instruction(function: Function, instruction: Instruction, checked: set[Instruction]) -> None:
    """Check what an instruction is by itself: its op, attributes, types and regions."""
    op = instruction.op
    if OPS.get(op.name) is not op:
        raise _failure(function, instruction, f"{op.name!r} is not the registry's op of that name")
    count = len(instruction.operands)
    if not op.variadic and op.regions is None and count != len(op.params):
        raise _failure(function, instruction, f"expected {len(op.params)} operands, got {count}")
    if op.regions is not None:
        _check_regions(function, instruction, checked)
        return
    if instruction.regions:
        raise _failure(function, instruction, "the op takes no regions")
    try:
        check_attrs(op, instruction.attrs)
        expected = op.infer(tuple(operand.type for operand in instruction.operands), instruction.attrs)
    except TracejitError as error:
        raise _failure(function, instruction, str(error)) from error
    actual = tuple(result.type for result in instruction.results)
    if actual != expected:
        got, want = ", ".join(map(str, actual)), ", ".join(map(str, expected))
        raise _failure(function, instruction, f"result has type {got}, expected {want}")


def _check_regions(function: Function, instruction: Instruction, checked: set[Instruction]) -> None:
    regions = instruction.op.regions
    assert regions is not None
    if not instruction.regions and instruction.op.kind not in (
        Kind.HOST,
        Kind.LINALG,
    ):  # whose results may be several
        raise _failure(function, instruction, "the op needs a region")
    for region in instruction.regions:
        verify(region, checked)
    try:
        check_attrs(instruction.op, instruction.attrs)
        types = tuple(operand.type for operand in instruction.operands)
        expected = regions.types(types, instruction.attrs, instruction.regions)
    except TracejitError as error:
        raise _failure(function, instruction, str(error)) from error
    if expected != tuple(result.type for result in instruction.results):
        raise _failure(
            function,
            instruction,
            f"the regions give results of types ({', '.join(map(str, expected))}), the op has "
            f"({', '.join(str(result.type) for result in instruction.results)})",
        )


def _failure(function: Function, instruction: Instruction | None, message: str) -> VerificationError:
    where = f" in {instruction.op.name}" if instruction else ""
    text = PRINT_FUNCTION()(function, mark=instruction, note=f"error: {message}")
    return VerificationError(f"@{function.name}{where}: {message}", _excerpt(text), instruction)


def _excerpt(text: str, most: int = 60) -> str:
    """Shorten a long `text` to its first line and the surroundings of the mark."""
    lines = text.split("\n")
    if len(lines) <= most:
        return text
    mark = next((i for i, line in enumerate(lines) if line.lstrip().startswith("; error: ")), len(lines))
    first, last = max(1, mark - most // 2), mark + most // 4
    before = ["  ..."] if first > 1 else []
    after = ["  ..."] if last < len(lines) else []
    return "\n".join([lines[0], *before, *lines[first:last], *after])
