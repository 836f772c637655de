"""Levels of x86-64: a function that runs the best of several for the machine.

The level is found by the instruction `cpuid` at the first call, and is kept. References: x86-64 psABI,
microarchitecture levels; Intel SDM, volume 2, CPUID, and volume 1, chapter 13, for the state that the system
saves (XCR0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ...base.records import record
from ..llvm.target import Target

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
