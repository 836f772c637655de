"""Object files, assembly and LLVM text of exported modules, for any machine that LLVM knows.

A file may hold code for several levels of x86-64, and functions that run the best one for the machine. The
level is found by the instruction `cpuid` at the first call, and is kept. References: x86-64 psABI,
microarchitecture levels; Intel SDM, volume 2, CPUID, and volume 1, chapter 13, for the state that the system
saves (XCR0).
"""

from __future__ import annotations

import contextlib
import functools
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...ir.errors import CompileError
from ...ir.process.forking import LLVM_LOCK, free_lock_of_llvmlite
from ...ir.records import record
from ..llvm.compiler import interruptibly
from ..llvm.loading import all_targets
from ..llvm.target import Target, target_machine
from ..llvm.targets import ARCHITECTURES, named_target

#: The levels that there may be, from the least one on.
LEVELS: Final = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
#: Bits of the registers of `cpuid`, and of XCR0, that the third and the fourth level ask for: FMA, MOVBE,
#: OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; and AVX512F, DQ, CD, BW, VL.
_FIRST_ECX: Final = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29
_SEVENTH_EBX: Final = 1 << 3 | 1 << 5 | 1 << 8
_EXTENDED_ECX: Final = 1 << 5
_AVX512_EBX: Final = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31
_AVX_STATE: Final = 0x6
_AVX512_STATE: Final = 0xE6
_OSXSAVE: Final = 1 << 27

_CPUID: Final = 'asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"'
_XGETBV: Final = 'asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"'


@record
class Level:
    """Code for a CPU level: the suffix of its functions' names, and the offset of their statuses."""

    cpu: str
    suffix: str
    offset: int


def for_cpu(text: str, target: Target) -> str:
    """The LLVM `text` with each function for the CPU of `target`, whatever the module is for."""
    features = f' "target-features"="{target.features}"' if target.features else ""
    attributes = f'"target-cpu"="{target.cpu}"{features}'
    return re.sub(r"^(define .*) \{$", rf"\1 {attributes} {{", text, flags=re.MULTILINE)


def dispatch_text(functions: Mapping[str, int], levels: Sequence[Level]) -> str:
    """LLVM text of `functions`, by name with how many pointers each takes: each calls the function of the
    best level."""
    parts = ["@level = internal global i32 0", _find_level(levels)]
    for name, pointers in functions.items():
        parameters = ", ".join([f"ptr %p{number}" for number in range(pointers)])
        types = ", ".join(["ptr"] * pointers)
        cases = " ".join([f"i32 {number}, label %level{number}" for number in range(1, len(levels))])
        lines = [
            *[f"declare i32 @{name}{level.suffix}({types})" for level in levels],
            f"define i32 @{name}({parameters}) nounwind {{",
            "  %kept = load atomic i32, ptr @level monotonic, align 4",
            "  %new = icmp eq i32 %kept, 0",
            "  br i1 %new, label %find, label %choose",
            "find:",
            "  %best = call i32 @find_level()",
            "  store atomic i32 %best, ptr @level monotonic, align 4",
            "  br label %choose",
            "choose:",
            "  %number = phi i32 [ %kept, %0 ], [ %best, %find ]",
            "  %index = sub i32 %number, 1",
            f"  switch i32 %index, label %level0 [ {cases} ]",
        ]
        for number, level in enumerate(levels):
            lines += [
                f"level{number}:",
                f"  %status{number} = call i32 @{name}{level.suffix}({parameters})",
                f"  %failed{number} = icmp ne i32 %status{number}, 0",
                f"  %later{number} = add i32 %status{number}, {level.offset}",
                f"  %result{number} = select i1 %failed{number}, i32 %later{number}, i32 0",
                f"  ret i32 %result{number}",
            ]
        parts.append("\n".join([*lines, "}"]))
    return "\n".join(parts)


def release_text(name: str, kept: Sequence[str]) -> str:
    """LLVM text of the function `name`, which calls all of `kept`."""
    declared = "".join([f"declare void @{release}()\n" for release in kept])
    called = "".join([f"  call void @{release}()\n" for release in kept])
    return f"\n{declared}define void @{name}() nounwind {{\n{called}  ret void\n}}\n"


def _find_level(levels: Sequence[Level]) -> str:
    """``i32 @find_level()``: the number of the best of `levels` that this machine has, from 1 on."""
    numbers = [
        max([number for number, level in enumerate(levels, 1) if LEVELS.index(level.cpu) <= most], default=1)
        for most in range(len(LEVELS))
    ]

    def leaf(name: str, number: int) -> str:
        return f"  %{name} = call {{i32, i32, i32, i32}} {_CPUID}(i32 {number}, i32 0)"

    def register(name: str, of: str, place: int) -> str:
        return f"  %{name} = extractvalue {{i32, i32, i32, i32}} %{of}, {place}"

    def has(name: str, value: str, mask: int) -> list[str]:
        bits = mask - (1 << 32) if mask >> 31 else mask
        return [f"  %{name}.bits = and i32 %{value}, {bits}", f"  %{name} = icmp eq i32 %{name}.bits, {bits}"]

    return "\n".join(
        [
            "define internal i32 @find_level() noinline nounwind {",
            leaf("leaf0", 0),
            register("leaves", "leaf0", 0),
            "  %enough = icmp uge i32 %leaves, 7",
            leaf("leaf1", 1),
            register("first", "leaf1", 2),
            *has("saves", "first", _OSXSAVE),
            "  %known = and i1 %enough, %saves",
            "  br i1 %known, label %features, label %least",
            "features:",
            leaf("leaf7", 7),
            register("seventh", "leaf7", 1),
            leaf("leafx", -0x7FFFFFFF),
            register("extended", "leafx", 2),
            f"  %state2 = call {{i32, i32}} {_XGETBV}(i32 0)",
            "  %state = extractvalue {i32, i32} %state2, 0",
            *has("a", "first", _FIRST_ECX),
            *has("b", "seventh", _SEVENTH_EBX),
            *has("c", "extended", _EXTENDED_ECX),
            *has("d", "state", _AVX_STATE),
            *has("e", "seventh", _AVX512_EBX),
            *has("f", "state", _AVX512_STATE),
            "  %ab = and i1 %a, %b",
            "  %cd = and i1 %c, %d",
            "  %ef = and i1 %e, %f",
            "  %third = and i1 %ab, %cd",
            "  %fourth = and i1 %third, %ef",
            f"  %better = select i1 %third, i32 {numbers[1]}, i32 {numbers[0]}",
            f"  %best = select i1 %fourth, i32 {numbers[2]}, i32 %better",
            "  ret i32 %best",
            "least:",
            f"  ret i32 {numbers[0]}",
            "}",
        ]
    )


#: Architectures whose addresses have 32 bits, and a CPU of each.
_SMALL: Final = {"wasm32": "generic", "thumbv7em": "cortex-m7", "thumbv8m.main": "cortex-m33"}
#: Triples and features of architectures whose name alone stands for no machine with Linux, or for more than
#: the least one of its kind.
_WHOLE: Final = {
    "riscv64": "riscv64,+m,+a,+f,+d,+c",
    "wasm32": "wasm32-unknown-unknown",
    "thumbv7em": "thumbv7em-none-eabihf",
    "thumbv8m.main": "thumbv8m.main-none-eabihf",
}


def export_target(name: str) -> Target:
    """The machine called `name`, see `llvm.targets.named_target`. Raises TracejitError.

    Example:
        >>> export_target("wasm32").triple
        'wasm32-unknown-unknown'
    """
    head, *features = name.split(",")
    architecture, colon, cpu = head.partition(":")
    whole = _WHOLE.get(architecture, head) if not cpu else head
    if cpu and architecture in _SMALL:
        whole = f"{_WHOLE[architecture]}{colon}{cpu}"
    return named_target(",".join([whole, *features]), {**ARCHITECTURES, **_SMALL})


_MAGIC: Final = b"\x7fELF"
_SYMBOLS: Final = 2
#: Layouts of files of 32 and of 64 bits: where the header says where sections are, and how many and how
#: large; the header of a section; and a symbol, with the places of its name and its section.
_LAYOUTS: Final = {
    1: (("<I", 32), ("<HHH", 46), "<10I", ("<IIIBBH", (0, 5))),
    2: (("<Q", 40), ("<HHH", 58), "<IIQQQQIIQQ", ("<IBBHQQ", (0, 3))),
}


def undefined_symbols(image: bytes) -> list[str] | None:
    """Undefined symbols of an ELF object `image`; None for other formats.

    Reference: System V ABI, chapter 4.
    """
    if not image.startswith(_MAGIC) or image[4] not in _LAYOUTS:
        return None
    (offset_format, offset_at), (counts_format, counts_at), section_format, symbol = _LAYOUTS[image[4]]
    (start,) = struct.unpack_from(offset_format, image, offset_at)
    size, count, _ = struct.unpack_from(counts_format, image, counts_at)
    sections = [struct.unpack_from(section_format, image, start + number * size) for number in range(count)]
    symbol_format, fields = symbol
    names = set()
    for _, kind, _, _, offset, nbytes, link, _, _, _ in sections:
        if kind != _SYMBOLS:
            continue
        texts = sections[link][4]
        for place in range(offset, offset + nbytes, struct.calcsize(symbol_format)):
            values = struct.unpack_from(symbol_format, image, place)
            name, section = (values[field] for field in fields)
            if section == 0 and name:
                names.add(image[texts + name : image.index(b"\0", texts + name)].decode())
    return sorted(names)


def size_type(target: Target) -> str:
    """The LLVM type of a size in bytes."""
    with LLVM_LOCK:
        all_targets()
        return "i32" if "-p:32:32" in str(target_machine(target).target_data) else "i64"


@record
class LinkGroup:
    """Modules, as texts and as groups, that are linked with each other first: names that they do not export
    are internal."""

    parts: Sequence[str | LinkGroup]
    exports: Sequence[str]


@record(eq=False)
class Emission:
    """Result of compiling a module.

    Attributes:
        image: the object file.
        text: its LLVM text or assembly, where that was asked for; empty otherwise.
        undefined: the functions that must be there where it is linked; those that LLVM adds itself are seen
            in ELF files alone.
    """

    image: bytes
    text: str
    undefined: tuple[str, ...]


def emit(groups: Sequence[LinkGroup], exports: Sequence[str], target: Target, form: str = "") -> Emission:
    """Emit the modules of `groups` as one object file and, where `form` is "llvm" or "asm", as text. Only
    `exports` are visible from outside.

    Raises CompileError for text that LLVM does not take.
    """
    free_lock_of_llvmlite()
    return interruptibly(functools.partial(_emit, groups, exports, target, form))


def _emit(groups: Sequence[LinkGroup], exports: Sequence[str], target: Target, form: str) -> Emission:
    with LLVM_LOCK, contextlib.ExitStack() as opened:
        linking = _Linking(target, opened)
        module = linking.linked([linking.group(group) for group in groups])
        _hide(module, exports)
        linking.optimize(module)
        text = str(module) if form == "llvm" else ""
        if form == "asm":
            text = str(linking.machine.emit_assembly(module))
        image: bytes = linking.machine.emit_object(module)
        undefined = undefined_symbols(image)
        if undefined is None:
            undefined = sorted(
                function.name
                for function in module.functions
                if function.is_declaration and not function.name.startswith("llvm.")
            )
        return Emission(image, text, tuple(undefined))


class _Linking:
    """Modules of a context of their own. What LLVM allocates is on the stack `opened`, and is disposed of
    with it: modules before their context, also where an exception keeps references to them."""

    def __init__(self, target: Target, opened: contextlib.ExitStack) -> None:
        self._binding, self._opened = all_targets(), opened
        self._context: Any = opened.enter_context(contextlib.closing(self._binding.create_context()))
        self.machine: Any = opened.enter_context(contextlib.closing(target_machine(target)))
        layout = self.machine.target_data
        self._head = f'target datalayout = "{layout}"\ntarget triple = "{target.triple}"\n'

    def group(self, group: LinkGroup) -> Any:
        """The module of a group."""
        parts = [
            self.group(part) if isinstance(part, LinkGroup) else self._parsed(part) for part in group.parts
        ]
        module = self.linked(parts)
        _hide(module, group.exports)
        return module

    def linked(self, modules: Sequence[Any]) -> Any:
        """The first of `modules`, to which the others are linked."""
        first, *others = modules
        for module in others:
            first.link_in(module)
        return first

    def optimize(self, module: Any) -> None:
        """Pass LLVM's pipeline. Loops have vectors already."""
        options = self._binding.create_pipeline_tuning_options(2)
        options.loop_vectorization = options.slp_vectorization = False
        builder = self._binding.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)

    def _parsed(self, text: str) -> Any:
        try:
            module = self._binding.parse_assembly(self._head + text, self._context)
            self._opened.enter_context(contextlib.closing(module))
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM rejects the generated code: {error}") from error
        return module


def _hide(module: Any, exports: Sequence[str]) -> None:
    """Make definitions internal that are not exported."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in exports:
            value.linkage = "internal"
