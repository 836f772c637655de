"""Functions that do nothing but one matrix product: their code is there already.

The product function (`products`) takes any sizes and strides, so ``@main`` of such a function differs from
another's by numbers alone (`NUMBERS`). They stand outside of its text, which is compiled once per machine:
the baseline tier of a product is linked, and not compiled. That is for products whose own kernel adds in the
same order as the product function does.
"""

from __future__ import annotations

from typing import Final

from ...ir.access import resolve
from ...ir.graph import Function
from ...ir.records import record
from ...ir.registry import Kind
from ..interface import LONE_NUMBERS, POLL, product_symbol
from ..kernels.gemm.contraction import as_packed
from ..kernels.gemm.library import FIELDS, declaration, descriptor
from ..kernels.gemm.tiles import parallel_work
from ..llvm.target import Target

#: The numbers at `LONE_NUMBERS`: those of `descriptor`, which parameters x and y are and where in them they
#: begin, in bytes, the bytes of the workspace, and the address of ``parallel_for`` or 0.
NUMBERS: Final = (*FIELDS, "x", "y", "x_offset", "y_offset", "workspace", "pool")


@record
class SingleGemm:
    """A function that is one product.

    Attributes:
        dtype: the short name of the dtype.
        numbers: `NUMBERS` but for the last.
        packs: whether the function's own kernel packs its operands as well.
        pooled: whether it uses the pool.
        cycles: an estimate for one call.
    """

    dtype: str
    numbers: tuple[int, ...]
    packs: bool
    pooled: bool
    cycles: float

    @property
    def workspace(self) -> int:
        """Bytes that a call needs for a time."""
        return self.numbers[-1]


def single_gemm_product(function: Function, target: Target) -> SingleGemm | None:
    """What `function` multiplies, None where it does something else, or adds in another order."""
    work = [instruction for instruction in function.body if instruction.op.kind is not Kind.VIEW]
    if len(work) != 1 or work[0].op.kind is not Kind.CONTRACTION:
        return None
    (product,) = work
    if function.results != product.results or len(product.result.shape) != 2:
        return None
    defs = {result: instruction for instruction in function.body for result in instruction.results}
    sources = [resolve(operand, defs)[0] for operand in product.operands]
    if any(source not in function.params for source in sources):
        return None
    found = as_packed(product, defs, target)
    if found is None:
        return None
    cut, packs, x, y = found
    itemsize = product.result.dtype.itemsize
    numbers = (
        *descriptor(cut, x.strides[-2:], y.strides[-2:]),
        *[function.params.index(source) for source in sources],
        x.offset * itemsize, y.offset * itemsize, cut.workspace,
    )  # fmt: skip
    terms = cut.m * cut.n * cut.k
    return SingleGemm(cut.tile.dtype, numbers, packs, terms >= parallel_work(), terms / cut.tile.lanes)


def single_gemm_text(dtype: str) -> str:
    """LLVM text of ``@main`` for a product of `dtype`."""
    at = {name: f"getelementptr (i64, ptr @{LONE_NUMBERS}, i64 {i})" for i, name in enumerate(NUMBERS)}
    return f"""@{LONE_NUMBERS} = external global [{len(NUMBERS)} x i64]
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @{POLL}()
{declaration(dtype)}

define i32 @main(ptr %inputs, ptr %outputs) nounwind {{
entry:
  %bytes = load i64, ptr {at["workspace"]}
  %work = call ptr @aligned_alloc(i64 64, i64 %bytes)
  %failed = icmp eq ptr %work, null
  br i1 %failed, label %nomemory, label %ready
nomemory:
  ret i32 1
ready:
  %x_place = load i64, ptr {at["x"]}
  %y_place = load i64, ptr {at["y"]}
  %x_offset = load i64, ptr {at["x_offset"]}
  %y_offset = load i64, ptr {at["y_offset"]}
  %xp = getelementptr ptr, ptr %inputs, i64 %x_place
  %yp = getelementptr ptr, ptr %inputs, i64 %y_place
  %x_base = load ptr, ptr %xp
  %y_base = load ptr, ptr %yp
  %x = getelementptr i8, ptr %x_base, i64 %x_offset
  %y = getelementptr i8, ptr %y_base, i64 %y_offset
  %result = load ptr, ptr %outputs
  %pool = load ptr, ptr {at["pool"]}
  call void @{product_symbol(dtype)}(ptr @{LONE_NUMBERS}, ptr %x, ptr %y, ptr %result, ptr %work, ptr %pool)
  call void @free(ptr %work)
  %answer = call i32 @{POLL}()
  ret i32 %answer
}}
"""
