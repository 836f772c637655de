"""Calls of ops by name: what ``tj.ops.name``, ``tj.run_kernel`` and `register_op`'s result do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import Any, Final

import numpy as np

from ..array.operands import as_tensor
from ..base.errors import ArgumentError, AttributeValueError, KernelError, TracejitError
from ..dispatch.dispatch import apply
from ..dispatch.regions import apply_with_regions
from ..ir.dtypes import as_dtype
from ..ir.registry import OPS, Kind, Op, check_attrs
from ..ir.types import TensorType
from ..location import user_location
from ..state import STATE
from ..tensors.tensor import wrap
from .several import record_several
from .tables import LLVM, TABLES, has_native, has_numpy, missing_message

#: The types that the IR's text has a form for; arrays are inputs.
TYPES: Final[tuple[type, ...]] = (bool, int, float, str, tuple, np.dtype)


def is_name(text: object) -> bool:
    """Whether `text` can name an op, an input or an attribute, in Python and in the IR's text."""
    return isinstance(text, str) and text.isidentifier() and text.isascii() and not iskeyword(text)


def declared(
    name: str, attrs: Mapping[str, Any], inputs: tuple[str, ...]
) -> tuple[dict[str, tuple[type, ...]], dict[str, Any]]:
    """The types and the defaults in ``{name: (type, default)}`` or ``{name: type}``."""
    types: dict[str, tuple[type, ...]] = {}
    defaults: dict[str, Any] = {}
    for key, spec in attrs.items():
        kind = spec[0] if isinstance(spec, tuple) and len(spec) == 2 else spec
        if kind not in TYPES:
            accepted = ", ".join(type_.__name__ for type_ in TYPES)
            raise TracejitError(
                f"register_op {name}: attribute {key!r} must be declared as (type, default) or type, with "
                f"one of the types {accepted}, got {spec!r}; tensors are inputs"
            )
        if not is_name(key) or key in inputs or "*" + key in inputs:
            raise TracejitError(f"register_op {name}: {key!r} cannot name an attribute")
        types[key] = (kind,)
        if kind is not spec:
            defaults[key] = _coerced(spec[1], kind)
            if not isinstance(defaults[key], kind):
                raise TracejitError(
                    f"register_op {name}: the default of attribute {key!r} must be {kind.__name__}, got "
                    f"{spec[1]!r}"
                )
    return types, defaults


def complete(op: Op, passed: Mapping[str, Any]) -> dict[str, Any]:
    """`passed` with the defaults of `op`, in the order of its declaration.

    Raises AttributeValueError for an attribute that is unknown, missing or of another type.
    """
    attrs = {**op.defaults, **passed}
    for key, value in attrs.items():
        accepted = op.attrs.get(key)
        if accepted is not None and len(accepted) == 1:
            attrs[key] = _coerced(value, accepted[0])
    check_attrs(op, attrs)
    for key, value in attrs.items():
        if isinstance(value, tuple) and not _writable(value):
            raise AttributeValueError(
                f"{op.name}: attribute {key!r} may hold numbers, strings, dtypes and tuples of them, got "
                f"{value!r}"
            )
    return {key: attrs[key] for key in op.attrs}


def _writable(items: tuple[Any, ...]) -> bool:
    return all(_writable(item) if isinstance(item, tuple) else isinstance(item, TYPES) for item in items)


def _coerced(value: Any, kind: type) -> Any:
    """`value` as `kind` where nothing is lost: whole numbers as floats, lists as tuples, names as dtypes."""
    if isinstance(value, np.generic):
        value = value.item()
    if kind is float and type(value) is int:
        return float(value)
    if kind is tuple and isinstance(value, list):
        return tuple(tuple(items) if isinstance(items, list) else items for items in value)
    if kind is np.dtype and not isinstance(value, np.dtype):
        return as_dtype(value)
    return value


def call_op(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """`op` of `inputs`: a Tensor, or a tuple of them where it has several results.

    Raises TracejitError for a wrong number of inputs, AttributeValueError for wrong attributes, and
    KernelError where nothing can run the op.
    """
    if op.kind.traits.grouped:
        raise TracejitError(f"{op.name}: an op with regions cannot be called by name")
    fixed = len(op.params) - op.variadic
    if len(inputs) < fixed or (len(inputs) > fixed and not op.variadic):
        raise TracejitError(
            f"{op.name}: expected {len(op.params)} input{'s' * (len(op.params) != 1)} "
            f"({', '.join(op.params)}), got {len(inputs)}"
        )
    completed = complete(op, attrs)
    if STATE.tracer is not None and not (has_native(op) or has_numpy(op) or op.decompose):
        raise KernelError(missing_message(op.name, LLVM))
    if op.kind is Kind.ELEMENTWISE:
        return apply(op, inputs, completed)
    tensors = [as_tensor(input_) for input_ in inputs]
    if op.regions is None:
        return apply(op, tensors, completed)
    types = tuple([TensorType(tensor.dtype, tensor.shape) for tensor in tensors])
    if len(op.infer(types, completed)) == 1:
        return apply(op, tensors, completed)
    if STATE.tracer is not None:
        if STATE.blocked:
            tensors = [tensor.detach() for tensor in tensors]
        STATE.tracer.location = user_location()
        return tuple(apply_with_regions(op, tensors, completed, ()))
    results = tuple(
        [wrap(np.asarray(array)) for array in op.kernel(*[tensor._data for tensor in tensors], **completed)]
    )
    record_several(op, tensors, completed, results)
    return results


class OpCall:
    """An op as a function of tensors: ``op(*inputs, **attributes)``. Made by ``tj.register_op``.

    Example:
        >>> import tracejit as tj
        >>> tj.ops.exp
        <op exp(x)>
        >>> tj.ops.exp(tj.zeros(2))
        tensor([1., 1.])
    """

    def __init__(self, op: Op) -> None:
        if not isinstance(op, Op):
            raise ArgumentError(f"OpCall: op must be an op, as tj.ir.registry.OPS holds, got {op!r}")
        self._op = op
        self.__name__ = op.name
        self.__doc__ = op.doc
        self.__signature__ = _signature(op)

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        op = self._op
        if OPS.get(op.name) is not op:
            raise TracejitError(f"op {op.name!r} was taken out of the registry")
        return call_op(op, inputs, attrs)

    def __repr__(self) -> str:
        return f"<op {self._op.name}({', '.join([*self._op.params, *self._op.attrs])})>"


def _signature(op: Op) -> Signature:
    """The signature of an op, for ``help`` and for names in the IR of jitted functions."""
    parameters = [
        Parameter(param.lstrip("*"), Parameter.VAR_POSITIONAL if "*" in param else Parameter.POSITIONAL_ONLY)
        for param in op.params
    ]
    parameters += [
        Parameter(attr, Parameter.KEYWORD_ONLY, default=op.defaults.get(attr, Parameter.empty))
        for attr in op.attrs
    ]
    return Signature(parameters)


class Ops:
    """Every op by name: ``tj.ops.add(x, y)``.

    Example:
        >>> import tracejit as tj
        >>> tj.ops.add
        <op add(x, y)>
        >>> tj.ops.add(tj.tensor([1.0, 2.0]), 1)
        tensor([2., 3.])
    """

    def __getattr__(self, name: str) -> OpCall:
        op = OPS.get(name)
        if op is None:
            raise AttributeError(
                f"there is no op named {name!r}; register it with tj.register_op({name!r}, ...)"
            )
        return OpCall(op)

    def __dir__(self) -> list[str]:
        return sorted(op.name for op in OPS)

    @property
    def registered(self) -> list[str]:
        """The names of the ops that were registered at run time."""
        return sorted(TABLES.ops)


#: Every op by name.
ops = Ops()
