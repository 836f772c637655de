"""Single-GEMM functions, whose whole work is one matrix product: their code exists already.

The product function (`kernels.gemm.library`) takes any sizes and strides, so ``@main`` of such a function
differs from another's by numbers alone (`NUMBERS`). They stand outside of its text, which is compiled once
per machine: the baseline tier of a product is linked, and not compiled. That is for products whose own kernel
adds in the same order as the product function does.
"""

from __future__ import annotations

from typing import Final

from ...base.records import record
from ...ir.access import resolve
from ...ir.graph import Function
from ...ir.registry import Kind
from ..interface import POLL, SINGLE_GEMM_NUMBERS, product_symbol
from ..kernels.gemm.contraction import as_packed
from ..kernels.gemm.library import FIELDS, declaration, descriptor
from ..kernels.gemm.tiles import parallel_work
from ..llvm.emitter import Reg, constant, pointer
from ..llvm.function import text_of
from ..llvm.loops import FunctionWriter
from ..llvm.target import Target

#: The numbers at `SINGLE_GEMM_NUMBERS`: those of `descriptor`, which parameters x and y are and where in them
#: they begin, in bytes, the bytes of the workspace, and the address of ``parallel_for`` or 0.
NUMBERS: Final = (*FIELDS, "x", "y", "x_begin", "y_begin", "workspace", "pool")


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
        """Bytes that a call needs while it runs."""
        return self.numbers[-1]


def single_gemm_product(function: Function, target: Target) -> SingleGemm | None:
    """Matrix product that is all of `function`; None where it does something else, or adds in another
    order."""
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
    packed = as_packed(product, defs, target)
    if packed is None:
        return None
    cut, packs, x, y = packed
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
    w = FunctionWriter()
    numbers = f"@{SINGLE_GEMM_NUMBERS}"
    w.declarations[SINGLE_GEMM_NUMBERS] = f"{numbers} = external global [{len(NUMBERS)} x i64]"
    w.declarations[product_symbol(dtype)] = declaration(dtype)
    w.declare("free", "void @free(ptr)")

    def place_of(name: str) -> str:
        return w.offset(numbers, "i64", NUMBERS.index(name))

    def operand(name: str) -> Reg:
        number, offset = [w.load(place_of(field), "i64") for field in (name, f"{name}_begin")]
        base = w.load_pointer(w.offset("%inputs", "ptr", number))
        return pointer(w.offset(base, "i8", offset))

    work = w.call("aligned_alloc", "ptr", 1, constant(64, "i64"), w.load(place_of("workspace"), "i64"))
    missing = w.same_place(work.text, "null")
    w.when(missing, lambda: w.ret(constant(1, "i32")))
    places = w.load_pointer("%outputs"), work.text, w.load_pointer(place_of("pool"))
    w.run(product_symbol(dtype), pointer(numbers), operand("x"), operand("y"), *map(pointer, places))
    w.run("free", work)
    w.ret(w.call(POLL, "i32", 1))
    return text_of([*w.declarations.values(), w.function("i32 @main(ptr %inputs, ptr %outputs)", "nounwind")])
