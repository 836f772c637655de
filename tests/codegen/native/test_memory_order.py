"""Writes of one thread for another have an order that machines other than x86 keep, too.

x86 keeps the order of loads and of stores, arm64 neither. So faults of this kind show on no x86, and on no
arm64 that is emulated there: the text is what can be looked at. Which words there are: docs/platforms.md.
"""

from __future__ import annotations

import re

import pytest

from tracejit.codegen.kernels.gemm.library import driver_text
from tracejit.codegen.llvm.compiler import assembly
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.native.interrupts import interrupts_text
from tracejit.codegen.native.pool import pool_text

ARM64 = named_target("aarch64")
#: The pool's words that several threads read and write.
SHARED = (
    "ticket", "chunks", "done", "from_end", "busy", "sleeping", "caller_core", "tracejit_workers",
    "workers_begun", "tracejit_cancelled",
)  # fmt: skip
_ACCESS = re.compile(r"\b(load|store|atomicrmw|cmpxchg)\b.*(?<!%)@(\w+)")


def accesses(text: str) -> list[tuple[str, str]]:
    """The variable of each access by name, and its line."""
    return [(match[2], line) for line in text.splitlines() if (match := _ACCESS.search(line))]


def test_words_of_the_pool_are_read_and_written_in_one_order() -> None:
    shared = [(name, line) for name, line in accesses(pool_text(ARM64.triple)) if name in SHARED]
    assert {name for name, _ in shared} == set(SHARED)
    assert [line for _, line in shared if "seq_cst" not in line] == []


def test_a_job_is_written_before_its_chunks_and_read_after_them() -> None:
    """The job's fields are plain words: a store of `chunks` publishes them. Whoever claims a chunk has loaded
    `chunks` before he reads them, and has read them before the claim is seen."""
    text = pool_text(ARM64.triple)
    functions = {match[1]: match[0] for match in re.finditer(r"define [^@]*@(\w+)\(.*?\n}", text, re.DOTALL)}
    publish, work = functions["tracejit_parallel_for"], functions["work"]
    stores, loads = job_accesses("store", publish), job_accesses("load", work)
    assert len(stores) == len(loads) == 5
    published = [match.start() for match in re.finditer(r"store atomic i64 (?!0)\S+, ptr @chunks", publish)]
    assert len(published) == 1
    assert max(stores) < published[0]
    assert work.index("load atomic i64, ptr @chunks") < min(loads)
    assert max(loads) < work.index("cmpxchg ptr @ticket")


def job_accesses(access: str, function: str) -> list[int]:
    """The instructions of a function that load or store fields of the job."""
    fields = "|".join(["@job", *re.findall(r"(%\S+) = getelementptr i8, ptr @job", function)])
    return [match.start() for match in re.finditer(rf"\b{access} [^\n]*ptr ({fields}),", function)]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_addresses_of_code_are_acquired(dtype: str) -> None:
    """Workers read the table of product kernels without a lock, and run what another thread has linked."""
    text = driver_text(ARM64, dtype)
    loads = [line for line in text.splitlines() if "%kernel = load" in line]
    assert len(loads) == 3
    assert all(" acquire" in line for line in loads)


def test_no_other_word_is_read_without_an_order() -> None:
    lines = [line for line in interrupts_text(ARM64.triple).splitlines() if "monotonic" in line]
    assert len(lines) == 1  # whether a job is cancelled, which nothing else depends on
    assert "@tracejit_cancelled" in lines[0]


def test_arm64_has_instructions_with_that_order() -> None:
    code = assembly(pool_text(ARM64.triple), ARM64)
    assert all(re.search(rf"\b{name}\b", code) for name in ("ldar", "stlr", "ldaxr", "stlxr", "isb"))
    assert re.search(r"\bldar\b", assembly(driver_text(ARM64, "f32"), ARM64))
