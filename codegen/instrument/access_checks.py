"""``TRACEJIT_CHECK=1``: bounds and alignment of every load and store of the kernels, checked as they run.

A kernel's text is rewritten: each access first asks a function whether it lies within its buffer, and goes to
a spare piece of memory where it does not. So a wrong kernel does no harm, runs to its end, and the module
then returns with a message that names the kernel and the instruction. It has no branches of its own, so that
the kernel's blocks stay what they are.

Buffers are a kernel's parameters, which its tasks take from their context, with sizes that follow from its
instruction's types; tables; and stack slots. What it calls (a product, a user's C function) is not looked
into.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from ...ir.graph import Instruction
from ...ir.records import record
from ..interface import FAILED, REPORT
from ..kernels.kernel import Kernel
from .variants import Instrument, ModuleContext

_TRASH_BYTES: Final = 4096

_NAME = r"[%@][\w.]+"
_DEFINE = re.compile(r"define \w+ \w+ @([\w.]+)\(")
_MOVED = re.compile(rf"\s*({_NAME}) = getelementptr [^,]+, ptr ({_NAME}), (.*)")
_ALLOCA = re.compile(rf"\s*({_NAME}) = alloca \[(\d+) x (\w+)\]")
_TABLE = re.compile(rf"({_NAME}) = internal constant \[(\d+) x (\w+)\]")
_LOAD = re.compile(rf"\s*{_NAME} = load (<[^>]+>|\w+), ptr ({_NAME}), align (\d+)")
_STORE = re.compile(rf"\s*store (<\d+ x \w+>|\w+) .*, ptr ({_NAME}), align (\d+)")
#: A mask: a register, a constant for each lane, or the same for all.
_MASK = rf"i32 (\d+), (<\d+ x i1>) ({_NAME}|<[^>]*>|splat \(i1 \w+\))"
_MASKED = re.compile(rf".*@llvm\.masked\.(?:load|store)\.v(\d+)(\w+)\.p0\(.*?ptr ({_NAME}), {_MASK}")
_LANES = re.compile(
    rf".*@llvm\.masked\.(?:gather|scatter)\.v(\d+)(\w+)\.v\d+p0\(.*?<\d+ x ptr> ({_NAME}), {_MASK}"
)
_COPY = re.compile(
    rf"\s*call void @llvm\.memcpy\.p0\.p0\.i64\(ptr ({_NAME}), ptr ({_NAME}), i64 ({_NAME}|\d+), i1 false\)"
)
_TAKEN = re.compile(r"\s*(%b\d+) = load ptr, ptr ")
_POINTER = re.compile(r"= load ptr, ptr |^\s*store ptr ")
_WIDTH: Final = {"double": 8, "float": 4, "half": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1, "ptr": 8}
_SHORT: Final = {"f64": 8, "f32": 4, "f16": 2}


@record
class _Buffer:
    """What a pointer points into: its start, its size in bytes, and what messages call it."""

    start: str
    nbytes: int
    text: str


class AccessChecks(Instrument):
    """Checks accesses of kernels. `unchecked` lists lines whose pointer comes from nowhere that is known."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget what was checked."""
        self.unchecked: list[str] = []
        self._lanes: set[int] = set()
        self._messages: list[str] = []

    def kernel(self, instruction: Instruction, kernel: Kernel, extents: Sequence[int]) -> None:
        """Rewrite the kernel's accesses."""
        lines: list[str] = []
        given = _parameters(instruction, extents)
        buffers: dict[str, _Buffer] = {}
        part = False
        for line in kernel.text.splitlines():
            begun = _DEFINE.match(line)
            if begun:
                # the parts of a kernel take what it takes, under the same names; tasks from their context
                part = begun[1] == kernel.name or begun[1].startswith(f"{kernel.name}_")
                tables = {name: buffer for name, buffer in buffers.items() if name.startswith("@")}
                buffers = {name: buffer for name, buffer in given.items() if part and f"ptr {name}," in line}
                buffers |= tables
            taken = _TAKEN.match(line)
            if taken and part:
                buffers[taken[1]] = given[taken[1]]
            lines += self._checked(line, buffers, kernel.name, instruction)
        kernel.text = "\n".join(lines)

    def before(self, writing: ModuleContext, instruction: Instruction, name: str) -> None:
        """Forget what another call may have left."""
        self._messages = []
        writing.w.line(f"store atomic i64 0, ptr @{REPORT} seq_cst, align 8")

    def after(self, writing: ModuleContext, mark: Any) -> None:
        """Leave with the message of the first check that failed."""
        if not self._messages:
            return
        w = writing.w
        found = w.assign(f"atomicrmw xchg ptr @{REPORT}, i64 0 seq_cst", "i64")
        status = w.assign(f"trunc {found} to i32", "i32")
        writing.check_status(status.text, len(writing.errors))
        writing.errors += self._messages
        self._messages = []

    def finish(self, writing: ModuleContext) -> None:
        """Add the functions that checks call."""
        writing.globals += [
            f"@{REPORT} = global [2 x i64] zeroinitializer, align 64",
            f"@check_trash = internal global [{_TRASH_BYTES} x i8] zeroinitializer, align 64",
        ]
        writing.functions += [_CHECK_TEXT, *(_lanes_text(count) for count in sorted(self._lanes))]

    # -- lines ------------------------------------------------------------------------------------

    def _checked(
        self, line: str, buffers: dict[str, _Buffer], name: str, instruction: Instruction
    ) -> list[str]:
        moved = _MOVED.match(line)
        if moved:
            if moved[2] in buffers:
                buffers[moved[1]] = buffers[moved[2]]
            return [line]
        slot = _ALLOCA.match(line) or _TABLE.match(line)
        if slot:
            nbytes = int(slot[2]) * _WIDTH[slot[3]]
            what = "stack slot" if slot[1].startswith("%") else "table"
            buffers[slot[1]] = _Buffer(slot[1], nbytes, f"a {what} of {nbytes} bytes")
            return [line]
        plain = _LOAD.match(line) or _STORE.match(line)
        if plain:
            return self._plain(line, buffers, name, instruction, *plain.groups())
        masked = _MASKED.match(line)
        if masked:
            return self._masked(line, buffers, name, instruction, masked)
        lanes = _LANES.match(line)
        if lanes:
            return self._each_lane(line, buffers, name, instruction, lanes)
        copy = _COPY.match(line)
        if copy:
            return self._copy(line, buffers, name, instruction, copy)
        if _POINTER.search(line):  # pointers handed on to tasks
            return [line]
        if " load " in line or " store " in line or "masked" in line or "memcpy" in line:
            self.unchecked.append(line.strip())
        return [line]

    def _site(self, line: str, buffer: _Buffer, name: str, instruction: Instruction) -> int:
        where = f" at {instruction.location.file}:{instruction.location.line}" if instruction.location else ""
        text = " ".join(line.split(" ; from")[0].split())
        self._messages.append(
            f"{FAILED}: kernel {name} ({instruction.op.name}{where}): `{text}` leaves {buffer.text}, "
            "or is not aligned"
        )
        return len(self._messages)

    def _known(self, line: str, pointer: str, buffers: dict[str, _Buffer]) -> _Buffer | None:
        found = buffers.get(pointer)
        if found is None:
            self.unchecked.append(line.strip())
        return found

    def _plain(
        self, line: str, buffers: dict[str, _Buffer], name: str, instruction: Instruction,
        kind: str, pointer: str, align: str,
    ) -> list[str]:  # fmt: skip
        buffer = self._known(line, pointer, buffers)
        if buffer is None:
            return [line]
        site = self._site(line, buffer, name, instruction)
        safe = f"%safe{site}"
        call = (
            f"  {safe} = call ptr @check(ptr {pointer}, ptr {buffer.start}, i64 {buffer.nbytes}, "
            f"i64 {_size(kind)}, i64 {align}, i64 {site})"
        )
        return [call, line.replace(f"ptr {pointer}, align", f"ptr {safe}, align")]

    def _masked(
        self, line: str, buffers: dict[str, _Buffer], name: str, instruction: Instruction, match: Any
    ) -> list[str]:
        count, short, pointer, align, kind, mask = match.groups()
        buffer = self._known(line, pointer, buffers)
        if buffer is None:
            return [line]
        site = self._site(line, buffer, name, instruction)
        width = _element(short)
        return [
            f"  %bits{site} = bitcast {kind} {mask} to i{count}",
            f"  %wide{site} = zext i{count} %bits{site} to i128",
            f"  %safe{site} = call ptr @check_masked(ptr {pointer}, ptr {buffer.start}, i64 {buffer.nbytes}, "
            f"i64 {width}, i64 {align}, i64 {site}, i128 %wide{site})",
            line.replace(f"ptr {pointer}, i32", f"ptr %safe{site}, i32"),
        ]

    def _each_lane(
        self, line: str, buffers: dict[str, _Buffer], name: str, instruction: Instruction, match: Any
    ) -> list[str]:
        count, short, pointers, align, kind, mask = match.groups()
        buffer = self._known(line, pointers, buffers)
        if buffer is None:
            return [line]
        site = self._site(line, buffer, name, instruction)
        self._lanes.add(int(count))
        vector = f"<{count} x ptr>"
        return [
            f"  %safe{site} = call {vector} @check_lanes{count}({vector} {pointers}, ptr {buffer.start}, "
            f"i64 {buffer.nbytes}, i64 {_element(short)}, i64 {align}, i64 {site}, {kind} {mask})",
            line.replace(f"{vector} {pointers},", f"{vector} %safe{site},"),
        ]

    def _copy(
        self, line: str, buffers: dict[str, _Buffer], name: str, instruction: Instruction, match: Any
    ) -> list[str]:
        target, source, count = match.groups()
        lines = []
        for pointer in (target, source):
            buffer = self._known(line, pointer, buffers)
            if buffer is not None:
                site = self._site(line, buffer, name, instruction)
                lines.append(
                    f"  %count{site} = call i64 @check_copy(ptr {pointer}, ptr {buffer.start}, "
                    f"i64 {buffer.nbytes}, i64 {count}, i64 {site})"
                )
                count = f"%count{site}"
        return [*lines, line.replace(f"i64 {match[3]}, i1", f"i64 {count}, i1")]


def _parameters(instruction: Instruction, extents: Sequence[int]) -> dict[str, _Buffer]:
    """The buffers of a kernel's parameters: operands, results, and the workspace where there is one."""
    found = {}
    values = [*instruction.operands, *instruction.results]
    for i, nbytes in enumerate(extents):
        behind = i - len(instruction.operands)
        if i < len(values):
            what = f"result {behind}" if behind >= 0 else f"operand {i}"
            text = f"{what} ({values[i].type}, {nbytes} bytes)"
        else:
            text = f"the workspace of {nbytes} bytes"
        found[f"%b{i}"] = _Buffer(f"%b{i}", nbytes, text)
    return found


def _size(kind: str) -> int:
    """Bytes of ``double`` or ``<8 x double>``."""
    if kind.startswith("<"):
        count, _, element = kind.strip("<>").split(" ")
        return int(count) * _WIDTH[element]
    return _WIDTH[kind]


def _element(short: str) -> int:
    """Bytes of an element of a vector called ``f64`` or ``i8`` in the names of intrinsics."""
    return _SHORT.get(short) or _WIDTH[short]


_CHECK_TEXT: Final = f"""\
declare i128 @llvm.cttz.i128(i128, i1)
declare i128 @llvm.ctlz.i128(i128, i1)
define internal void @check_failed(i64 %site, i64 %first) nounwind noinline {{
  %pair = cmpxchg ptr @{REPORT}, i64 0, i64 %site seq_cst seq_cst
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %note, label %leave
note:
  %slot = getelementptr i64, ptr @{REPORT}, i64 1
  store i64 %first, ptr %slot
  br label %leave
leave:
  ret void
}}
define internal i1 @check_good(ptr %p, ptr %base, i64 %extent, i64 %size, i64 %align, i64 %site) nounwind {{
  %a = ptrtoint ptr %p to i64
  %b = ptrtoint ptr %base to i64
  %first = sub i64 %a, %b
  %last = add i64 %first, %size
  %low = icmp slt i64 %first, 0
  %high = icmp sgt i64 %last, %extent
  %below = sub i64 %align, 1
  %rest = and i64 %a, %below
  %odd = icmp ne i64 %rest, 0
  %out = or i1 %low, %high
  %bad = or i1 %out, %odd
  br i1 %bad, label %fail, label %fine
fail:
  call void @check_failed(i64 %site, i64 %first)
  ret i1 false
fine:
  ret i1 true
}}
define internal ptr @check(ptr %p, ptr %base, i64 %extent, i64 %size, i64 %align, i64 %site)
    nounwind noinline {{
  %good = call i1 @check_good(ptr %p, ptr %base, i64 %extent, i64 %size, i64 %align, i64 %site)
  %safe = select i1 %good, ptr %p, ptr @check_trash
  ret ptr %safe
}}
define internal i64 @check_copy(ptr %p, ptr %base, i64 %extent, i64 %count, i64 %site) nounwind noinline {{
  %good = call i1 @check_good(ptr %p, ptr %base, i64 %extent, i64 %count, i64 1, i64 %site)
  %safe = select i1 %good, i64 %count, i64 0
  ret i64 %safe
}}
define internal ptr @check_masked(
    ptr %p, ptr %base, i64 %extent, i64 %size, i64 %align, i64 %site, i128 %mask)
    nounwind noinline {{
  %none = icmp eq i128 %mask, 0
  br i1 %none, label %fine, label %look
fine:
  ret ptr %p
look:
  %low = call i128 @llvm.cttz.i128(i128 %mask, i1 true)
  %high = call i128 @llvm.ctlz.i128(i128 %mask, i1 true)
  %skip = trunc i128 %low to i64
  %zeros = trunc i128 %high to i64
  %top = sub i64 128, %zeros
  %lanes = sub i64 %top, %skip
  %offset = mul i64 %skip, %size
  %begin = getelementptr i8, ptr %p, i64 %offset
  %bytes = mul i64 %lanes, %size
  %good = call i1 @check_good(ptr %begin, ptr %base, i64 %extent, i64 %bytes, i64 %align, i64 %site)
  %safe = select i1 %good, ptr %p, ptr @check_trash
  ret ptr %safe
}}"""


def _lanes_text(count: int) -> str:
    """``@check_lanes8``: each lane of a gather or scatter by itself."""
    lines = [
        f"define internal <{count} x ptr> @check_lanes{count}(<{count} x ptr> %p, ptr %base, i64 %extent, "
        f"i64 %size, i64 %align, i64 %site, <{count} x i1> %mask) nounwind noinline {{",
        "entry:",
        "  br label %lane0",
    ]
    for i in range(count):
        before = "%p" if i == 0 else f"%v{i - 1}"
        lines += [
            f"lane{i}:",
            f"  %on{i} = extractelement <{count} x i1> %mask, i64 {i}",
            f"  %p{i} = extractelement <{count} x ptr> %p, i64 {i}",
            f"  br i1 %on{i}, label %look{i}, label %next{i}",
            f"look{i}:",
            f"  %good{i} = call i1 @check_good(ptr %p{i}, ptr %base, i64 %extent, i64 %size, i64 %align, "
            "i64 %site)",
            f"  %safe{i} = select i1 %good{i}, ptr %p{i}, ptr @check_trash",
            f"  br label %next{i}",
            f"next{i}:",
            f"  %q{i} = phi ptr [ %p{i}, %lane{i} ], [ %safe{i}, %look{i} ]",
            f"  %v{i} = insertelement <{count} x ptr> {before}, ptr %q{i}, i64 {i}",
            f"  br label %{f'lane{i + 1}' if i + 1 < count else 'done'}",
        ]
    return "\n".join([*lines, "done:", f"  ret <{count} x ptr> %v{count - 1}", "}"])
