"""Operations of native code on Tensors."""

from __future__ import annotations

from .functions import Array, Object, native
from .python_api import generic_alloc
from .structs import TENSOR
from .writer import NativeWriter


@native(TENSOR)
def wrap(f: NativeWriter, array: Array) -> None:
    """A leaf Tensor that takes over `array`; null where there is no memory."""
    f.own(array)
    tensor = generic_alloc(f, f.object_named("Tensor"), 0).as_(TENSOR)
    f.returning(None).when(f.is_null(tensor))
    for field, (slot, _) in TENSOR.fields.items():
        if field == "data":
            tensor[field] = f.give(array)
        elif isinstance(slot, str):
            tensor[field] = f.incref(f.object_named("False" if field == "requires_grad" else "None"))
    f.ret(tensor)


@native("bool", inline=True)
def requires_grad(f: NativeWriter, tensor: Object) -> None:
    """Whether a Tensor requires a gradient."""
    f.ret(f.ne(tensor.as_(TENSOR)["requires_grad"], f.object_named("False")))
