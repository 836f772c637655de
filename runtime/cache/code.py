"""Machine code with what an executable needs beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...base.records import field, record


@record
class Code:
    """An object image for one Function.

    Attributes:
        image: the object file.
        errors: messages by status - 1.
        parallel: whether it calls the pool.
        polls: whether it lets signals in.
        products: the dtypes whose product functions it calls.
        host_calls: the symbols it calls back, each with the text of its instruction if it was found on disk.
        exports: the symbols it defines for others.
        cycles: an estimate for one call.
        kernels: how many kernels it has.
        arena_bytes: bytes for intermediate values.
        reuses: by result, the donated parameter that it may be written over.
        lapack: the symbols of LAPACK's functions that it calls.
        c_functions: the addresses of the user's C functions that it calls, by symbol; such code is not
            kept on disk.
        numbers: what code for any product finds its own by, see `single_gemm`; such code is not kept on disk.
    """

    image: bytes
    errors: list[str]
    parallel: bool
    polls: bool
    products: list[str]
    host_calls: list[tuple[str, str]]
    exports: list[str]
    cycles: float
    kernels: int
    arena_bytes: int
    reuses: dict[int, int]
    numbers: tuple[int, ...] = ()
    lapack: Sequence[str] = ()
    c_functions: Mapping[str, int] = field(default_factory=dict)

    def answers_like(self, other: Code) -> bool:
        """Whether callers can have this in place of `other`: the errors of one are the first of the other's,
        and it has the same callbacks and reuses the same memory."""
        count = min(len(self.errors), len(other.errors))
        errors_agree = self.errors[:count] == other.errors[:count]
        return errors_agree and self.host_calls == other.host_calls and self.reuses == other.reuses
