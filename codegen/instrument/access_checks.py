"""``TRACEJIT_CHECK=1``: bounds and alignment of every load and store of the kernels, checked as they run.

A kernel's operations are rewritten: each access first asks a function whether it lies within its buffer, and
goes to a spare piece of memory where it does not. So a wrong kernel does no harm, runs to its end, and the
module then returns with a message that names the kernel and the instruction. It has no branches of its own,
so that the kernel's blocks stay what they are. The code of both tiers is checked: the baseline tier's answers
the first calls, and those of the optimized tier that which takes its place, as in code that is not checked.

Buffers are tables, stack slots, and a kernel's parameters. Its tasks take those from their context; their
sizes follow from its instruction's types. What it calls (a product, a user's C function) is not looked into.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.records import record
from ...ir.graph import Instruction
from ..interface import FAILED, REPORT
from ..llvm.function import Code, FunctionCode, Table
from ..llvm.operations import (
    Arrange,
    AtomicUpdate,
    Clear,
    Convert,
    Copy,
    FunctionCall,
    Load,
    MaskedAccess,
    Offset,
    Operation,
    Slot,
    Store,
)
from ..llvm.registers import MEMORY_BYTES, Reg, constant, llvm_type, pointer
from ..llvm.stack import ScratchSlot
from ..loops.verifier import verify_kernel
from ..lowering.kernel import Kernel
from ..nest.maps import ScheduledLoops
from .check_functions import TRASH, TRASH_BYTES, check_functions
from .variants import Instrument, ModuleContext
from .verifier import verify_code


@record
class _Buffer:
    """Buffer that a pointer points into: its start, its size in bytes, and its name in messages."""

    start: Reg
    nbytes: Reg
    text: str


class AccessChecks(Instrument):
    """Checks accesses of kernels. `unchecked` lists those whose pointers have no known buffer."""

    def __init__(self, *, tiered: bool = False) -> None:
        self.tiered = tiered
        self.begin()

    def begin(self) -> None:
        """Forget what was checked."""
        self.unchecked: list[str] = []
        self._lanes: set[int] = set()
        self._messages: list[str] = []

    def kernel(self, instruction: Instruction, kernel: Kernel, extents: Sequence[int]) -> None:
        """Verify the kernel, then rewrite its accesses."""
        if isinstance(kernel.described, ScheduledLoops):
            verify_kernel(kernel.described.loops)
        verify_code(kernel.code)  # not its buffers: what leaves them is reported where it happens
        parameters = _parameters(instruction, extents)
        tables = {
            part.name: _own(part.name, part.nbytes, "table")
            for part in kernel.code
            if isinstance(part, Table)
        }
        code: Code = []
        for part in kernel.code:
            if not isinstance(part, FunctionCode):
                code.append(part)
                continue
            # the parts of a kernel take what it takes, under the same names; tasks from their context
            own = part.name == kernel.name or part.name.startswith(f"{kernel.name}_")
            checks = _FunctionChecks(self, kernel.name, instruction, parameters if own else {}, tables)
            code.append(checks.rewritten(part))
        kernel.code = code

    def before(self, writing: ModuleContext, instruction: Instruction, name: str) -> None:
        """Forget what another call may have left."""
        self._messages = []
        writing.w.operations.append(Store(constant(0, "i64"), f"@{REPORT}", 8, order="seq_cst"))

    def after(self, writing: ModuleContext, mark: Any) -> None:
        """Leave with the message of the first check that failed."""
        if not self._messages:
            return
        w = writing.w
        failed = w.exchange(f"@{REPORT}", constant(0, "i64"), "seq_cst")
        status = w.convert("trunc", failed, "i32")
        writing.check_status(status.text, len(writing.errors))
        writing.errors += self._messages
        self._messages = []

    def finish(self, writing: ModuleContext) -> None:
        """Add the functions that checks call."""
        writing.globals += [
            f"@{REPORT} = global [3 x i64] zeroinitializer, align 64",
            f"@{TRASH} = internal global [{TRASH_BYTES} x i8] zeroinitializer, align 64",
        ]
        writing.functions += check_functions(self._lanes, writing.declarations)

    # -- of the checks of a function ---------------------------------------------------------------

    def site(self, text: str, buffer: _Buffer, name: str, instruction: Instruction) -> int:
        """The number of a new message, of an access with `text`."""
        where = f" at {instruction.location.file}:{instruction.location.line}" if instruction.location else ""
        self._messages.append(
            f"{FAILED}: kernel {name} ({instruction.op.name}{where}): `{text}` leaves {buffer.text}, "
            "or is not aligned"
        )
        return len(self._messages)

    def by_lanes(self, count: int) -> str:
        """The name of the function that checks `count` pointers."""
        self._lanes.add(count)
        return f"check_lanes{count}"


class _FunctionChecks:
    """The checks of one function: which buffer each pointer goes into, and the operations in place of an
    access."""

    def __init__(
        self, checks: AccessChecks, name: str, instruction: Instruction,
        parameters: dict[str, _Buffer], tables: dict[str, _Buffer],
    ) -> None:  # fmt: skip
        self.checks, self.name, self.instruction, self.parameters = checks, name, instruction, parameters
        self.buffers = dict(tables)

    def rewritten(self, function: FunctionCode) -> FunctionCode:
        """`function` with its accesses checked."""
        for name, buffer in self.parameters.items():
            if name in function.parameters:
                self.buffers[name] = buffer
        operations: list[Operation] = []
        for operation in function.operations:
            operations += self._checked(operation)
        return function.rewritten(operations)

    def _checked(self, operation: Operation) -> list[Operation]:
        if isinstance(operation, ScratchSlot):
            self.buffers[operation.text] = _own(operation.text, operation.nbytes, "scratch slot")
        elif isinstance(operation, Offset):
            if operation.pointer in self.buffers:
                self.buffers[operation.text] = self.buffers[operation.pointer]
        elif isinstance(operation, Slot):
            nbytes = operation.count * MEMORY_BYTES[operation.element]
            self.buffers[operation.text] = _own(operation.text, nbytes, "stack slot")
        elif isinstance(operation, Arrange) and operation.code == "select" and operation.dtype == "ptr":
            return [*self._chosen(operation), operation]
        elif isinstance(operation, Load):
            return self._load(operation)
        elif isinstance(operation, AtomicUpdate):
            nbytes = MEMORY_BYTES[llvm_type(operation.dtype)]
            check, safe = self._contiguous(operation, operation.pointer, nbytes, nbytes)
            return [
                *check,
                AtomicUpdate(operation.text, operation.code, safe, operation.value, operation.order),
            ]
        elif isinstance(operation, Store):
            return self._store(operation)
        elif isinstance(operation, MaskedAccess):
            return self._by_lanes(operation) if operation.by_lanes else self._masked(operation)
        elif isinstance(operation, (Copy, Clear)):
            return self._bytes(operation)
        return [operation]

    def _chosen(self, choice: Arrange) -> list[Operation]:
        """Note the buffer that `choice` of two pointers leads into; its start and size, where that depends on
        the condition."""
        condition, *pointers = choice.arguments
        if not all(place.text in self.buffers for place in pointers):
            return []
        first, second = [self.buffers[place.text] for place in pointers]
        if first == second:
            self.buffers[choice.text] = first
            return []
        start = Arrange(f"{choice.text}.start", "ptr", 1, "select", (condition, first.start, second.start))
        nbytes = Arrange(f"{choice.text}.bytes", "i64", 1, "select", (condition, first.nbytes, second.nbytes))
        self.buffers[choice.text] = _Buffer(start, nbytes, f"{first.text} or {second.text}")
        return [start, nbytes]

    def _buffer(self, operation: Operation, pointer: str) -> _Buffer | None:
        buffer = self.buffers.get(pointer)
        if buffer is None:
            self.checks.unchecked.append(operation.line().strip())
        return buffer

    def _site(self, operation: Operation, buffer: _Buffer) -> int:
        return self.checks.site(operation.line().strip(), buffer, self.name, self.instruction)

    def _load(self, load: Load) -> list[Operation]:
        if load.dtype == "ptr" and not load.align:  # handed on to tasks
            if load.text in self.parameters:
                self.buffers[load.text] = self.parameters[load.text]
            return [load]
        nbytes = load.lanes * MEMORY_BYTES[llvm_type(load.dtype)]
        check, safe = self._contiguous(load, load.pointer, nbytes, load.align)
        return [*check, Load(load.text, load.dtype, load.lanes, safe, load.align)]

    def _store(self, store: Store) -> list[Operation]:
        if store.value.dtype == "ptr" or store.value.text == "zeroinitializer":
            return [store]
        nbytes = store.value.lanes * MEMORY_BYTES[llvm_type(store.value.dtype)]
        check, safe = self._contiguous(store, store.pointer, nbytes, store.align)
        return [*check, Store(store.value, safe, store.align, past_cache=store.past_cache)]

    def _contiguous(
        self, access: Operation, place: str, nbytes: int, align: int
    ) -> tuple[list[Operation], str]:
        """The check of bytes from `place` on, and the pointer that it gives."""
        buffer = self._buffer(access, place)
        if buffer is None:
            return [], place
        site = self._site(access, buffer)
        arguments = [pointer(place), buffer.start, buffer.nbytes, *_numbers(nbytes, align, site)]
        safe = FunctionCall("@check", arguments, f"%safe{site}", "ptr")
        return [safe], safe.text

    def _masked(self, access: MaskedAccess) -> list[Operation]:
        buffer = self._buffer(access, access.pointer.text)
        if buffer is None:
            return [access]
        site = self._site(access, buffer)
        bits = Convert(f"%bits{site}", f"i{access.mask.lanes}", 1, "bitcast", access.mask)
        wide = Convert(f"%wide{site}", "i128", 1, "zext", bits)
        numbers = _numbers(access.element_bytes, access.align, site)
        arguments = [access.pointer, buffer.start, buffer.nbytes, *numbers, wide]
        safe = FunctionCall("@check_masked", arguments, f"%safe{site}", "ptr")
        return [bits, wide, safe, access.through(safe)]

    def _by_lanes(self, access: MaskedAccess) -> list[Operation]:
        buffer = self._buffer(access, access.pointer.text)
        if buffer is None:
            return [access]
        site = self._site(access, buffer)
        lanes = access.pointer.lanes
        numbers = _numbers(access.element_bytes, access.align, site)
        arguments = [access.pointer, buffer.start, buffer.nbytes, *numbers, access.mask]
        safe = FunctionCall(f"@{self.checks.by_lanes(lanes)}", arguments, f"%safe{site}", "ptr", lanes)
        return [safe, access.through(safe)]

    def _bytes(self, access: Copy | Clear) -> list[Operation]:
        """A copy or clear of bytes behind its checks, which make its count 0 where it leaves a buffer."""
        target, source, count, volatile = access.arguments
        operations: list[Operation] = []
        for place in (target, source) if isinstance(access, Copy) else (target,):
            buffer = self._buffer(access, place.text)
            if buffer is not None:
                site = self._site(access, buffer)
                arguments = [place, buffer.start, buffer.nbytes, count, *_numbers(site)]
                checked = FunctionCall("@check_copy", arguments, f"%count{site}", "i64")
                operations.append(checked)
                count = checked
        return [*operations, type(access)(access.callee, (target, source, count, volatile))]


def _numbers(*values: int) -> list[Reg]:
    return [constant(value, "i64") for value in values]


def _own(name: str, nbytes: int, what: str) -> _Buffer:
    """Memory of the kernel's own, by its name."""
    return _Buffer(pointer(name), constant(nbytes, "i64"), f"a {what} of {nbytes} bytes")


def _parameters(instruction: Instruction, extents: Sequence[int]) -> dict[str, _Buffer]:
    """The buffers of a kernel's parameters: operands, results, and the workspace where there is one."""
    buffers = {}
    values = [*instruction.operands, *instruction.results]
    for i, nbytes in enumerate(extents):
        behind = i - len(instruction.operands)
        if i < len(values):
            what = f"result {behind}" if behind >= 0 else f"operand {i}"
            text = f"{what} ({values[i].type}, {nbytes} bytes)"
        else:
            text = f"the workspace of {nbytes} bytes"
        buffers[f"%b{i}"] = _Buffer(pointer(f"%b{i}"), constant(nbytes, "i64"), text)
    return buffers
