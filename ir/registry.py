"""The op record, and the registry that holds one per op.

An *op* is an operation with a meaning. Its record states that meaning once, for everybody: the type rule
for the verifier and the tracer, the NumPy evaluation for the interpreter and eager mode, the gradient
rule for the tape and for symbolic differentiation, the scalar machine code for codegen. See
docs/adding-an-op.md.

Gradient rules are keyed by operand and ask for what they need by parameter name:

    vjp={"x": lambda b, ct, y: b.mul(ct, y), "y": lambda b, ct, x: b.mul(ct, x)}

`b` offers every op as a method (`OpNamespace`), `ct` is the cotangent of the result; `x`, `y` (operand
names), `out` (the result), `x_type` (a TensorType), `index` (the position, for variadic operands) and
attribute names are supplied on request. What a rule does not name, the tape does not keep alive.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..base.errors import AttributeValueError, TracejitError
from ..base.records import field, record
from .dtypes import NUMBERS, DType, Operand
from .kinds import Kind as Kind
from .kinds import Strength as Strength
from .types import TensorType

Attrs: TypeAlias = Mapping[str, Any]
#: The type rule: operand types and attributes to result types.
Infer: TypeAlias = Callable[[tuple[TensorType, ...], Attrs], tuple[TensorType, ...]]


class Nondiff(enum.Enum):
    """The statement that an op has no gradient, because its result is not a floating number."""

    NONDIFF = "nondiff"


NONDIFF: Final = Nondiff.NONDIFF


@record
class Rule:
    """One operand's gradient rule with what it asks for.

    `wants` lists, after `b` and `ct`, where each argument comes from: ("input", i), ("rest", i) for the
    variadic operands, ("out", 0), ("type", i), ("rest_types", i), ("index", 0) or ("attr", name).
    """

    fn: Callable[..., Any]
    wants: tuple[tuple[str, Any], ...]
    #: The function that gives the cotangents of all operands, where there is one, so that a tape can call it
    #: once, ``joint(b, ct, inputs, out, types, attrs) -> cotangents``.
    joint: Callable[..., Any] | None = None

    @property
    def saves_output(self) -> bool:
        return any(kind == "out" for kind, _ in self.wants)

    def saves_input(self, position: int) -> bool:
        """Whether the value of the operand at `position` is needed."""
        return any(
            (kind == "input" and which == position) or (kind == "rest" and position >= which)
            for kind, which in self.wants
        )


@record
class Reduction:
    """The fold of a reduction: its identity by dtype name, and the scalar code that folds one element in.

    `idempotent` says that folding an element twice, or in any order, gives the same bits (except in NaN);
    `additive` says that it is a sum.
    """

    identity: Callable[[str], Any]
    combine: Callable[[Any, Any, Any], Any]
    idempotent: bool = False
    additive: bool = False


@record
class Access:
    """An affine index map of a view: where result element `i` lives in the operand.

    One entry per operand dimension: ``(result dimension or None, step, offset)`` reads operand index
    ``offset + step * i[dimension]``, or the constant `offset` where the dimension is None.
    """

    dims: tuple[tuple[int | None, int, int], ...]


@record
class Regions:
    """The semantics of an op with regions (Functions), in place of `infer`, `eval`, `vjp` and `decompose`."""

    #: The type rule: ``types(operand types, attrs, regions) -> result types``. Raises where they do not fit.
    types: Callable[[tuple[TensorType, ...], Attrs, tuple[Any, ...]], tuple[TensorType, ...]]
    #: The meaning: ``run(call, regions, operands, attrs) -> results``; ``call(region, arrays)`` runs one.
    run: Callable[..., Any]
    #: The gradient rule: ``pull(b, instruction, cotangents) -> cotangents of the operands``, with None for
    #: results nobody used and for operands without gradient; None where the op has no gradient.
    pull: Callable[..., Any] | None = None
    #: The expansion to other ops: ``expand(b, regions, operands, attrs) -> results``; None for ops that stay.
    expand: Callable[..., Any] | None = None
    #: The replacement for a differentiated instruction: ``pulled(instruction) -> instruction``.
    pulled: Callable[[Any], Any] | None = None
    #: Alternative to `expand` where it matters which results are used: ``expand_used(b, instruction, used) ->
    #: results``, with None for results that are not in `used`.
    expand_used: Callable[..., Any] | None = None


@record(eq=False)
class External:
    """A C function over arrays: ``void f(T *operand..., R *result..., const int64_t *sizes)``.

    `sizes` has the sizes of every dimension, of the operands and then of the results; arrays are row-major.
    """

    address: int
    #: An object that keeps the code at `address` loaded.
    owner: Any = None


@record(eq=False)
class Builtin:
    """A builtin function of NumPy that does on arrays the same as an op. Eager code calls it natively.

    It is called with the arrays of the operands and then with `arguments`; those of an op of any number of
    operands come first. What it raises an exception or returns None for, the op's eager function serves.
    """

    function: Callable[..., Any]
    #: The names of the arguments that are no operands. With ``keepdims``, reduced axes may stay with size 1.
    arguments: tuple[str, ...] = ()
    #: The op's attributes, ``attrs(shape of the first operand, *arguments)``: else they are the arguments.
    attrs: Callable[..., Attrs] | None = None
    #: The requirement on the second argument under which NumPy does what the op does: see `eager.calls`.
    second: str = "any"
    #: Whether a view may be written where the operand may be, though NumPy's may not.
    writable: bool = False


def _unregistered(*operands: Any, **attrs: Any) -> Any:
    raise TracejitError("an op that is in no registry has no kernel for eager mode")


@record(eq=False)
class Op:
    """One operation's record. See the module's docstring and docs/adding-an-op.md."""

    name: str
    kind: Kind
    #: Operand names; the last may be ``*name`` for any number of operands.
    params: tuple[str, ...]
    infer: Infer
    #: The NumPy meaning: ``eval(*arrays, **attrs)``. The interpreter's and eager mode's kernel.
    eval: Callable[..., Any]
    vjp: Mapping[str, Rule] | Nondiff
    doc: str
    #: Attribute names with the Python types they accept.
    attrs: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    #: Loops of an elementwise op: operand dtypes (or weak Python types) to the dtypes computed in.
    promote: Callable[[tuple[Operand, ...]], tuple[DType, ...]] | None = None
    #: Scalar machine code of an elementwise op, ``emit(b, *regs)``; None where there is none yet.
    emit: Callable[..., Any] | None = None
    #: The kinds of dtype (NumPy's letters) that `emit` serves; others run by the NumPy kernel.
    emit_kinds: str = "biuf"
    #: Whether `emit` serves float16 as it lies in memory; other ops on it are computed in float32.
    takes_float16: bool = False
    reduction: Reduction | None = None
    access: Callable[[TensorType, TensorType, Attrs], Access | None] | None = None
    #: Write of a view that can be written: the operand with `new` where it reads, ``put(b, x, new,
    #: **attrs)``.
    put: Callable[..., Any] | None = None
    #: Decomposition of a composite op into simpler ops, ``decompose(b, *operands, **attrs)``.
    decompose: Callable[..., Any] | None = None
    #: The batching rule, where the kind's default does not serve; see ``ir.transforms.batching``.
    batch: Callable[..., Any] | None = None
    #: Meaning of an op with regions.
    regions: Regions | None = None
    #: Whether it does something beside computing its result, which nothing may drop, repeat or reorder.
    effect: bool = False
    commutative: bool = False
    #: Operands in which it is linear, the others held: names, together where these may change together.
    linear: tuple[str, ...] = ()
    #: Whether it divides its first operand by its second one: inverted where many elements share it.
    quotient: bool = False
    #: Whether finite cotangents of an elementwise op give finite gradients at all finite operands.
    finite_gradient: bool = False
    #: Strength of the zeros in cotangents of operands where these were not chosen.
    chooses: Strength = Strength.NONE
    #: C function over arrays that native code calls in place of `eval`, of an op of kind HOST.
    native: External | None = None
    #: NumPy's function with the meaning of a view or structured op. Others may `eval` a ufunc.
    builtin: Builtin | None = None
    #: The values of attributes that a call may leave out.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: The function that eager mode calls: `eval`, or one that asks the active backend or a profile first. See
    #: `use_kernels`.
    kernel: Callable[..., Any] = _unregistered
    #: Rough cost per element in cycles, for fusion and threading decisions.
    cost: float = 1.0
    #: The cost as a function of the attributes, where it depends on them; `cost_of` calls it.
    cost_of_attributes: Callable[..., float] | None = None
    #: Floating operations per element, for what `cost_of` counts.
    flops: int = 1

    @property
    def variadic(self) -> bool:
        return bool(self.params) and self.params[-1].startswith("*")

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def rule_for(self, position: int) -> Rule | None:
        """The gradient rule for the operand at `position`, or None where it has none."""
        if isinstance(self.vjp, Nondiff):
            return None
        name = self.params[min(position, len(self.params) - 1)]
        return self.vjp.get(name)


def make_rules(
    name: str,
    params: tuple[str, ...],
    attrs: Mapping[str, Any],
    vjp: Mapping[str, Callable[..., Any]] | Nondiff,
    joint: Callable[..., Any] | None = None,
) -> Mapping[str, Rule] | Nondiff:
    """Make the gradient rules of an op. The parameter names of a rule say which arguments it gets."""
    if isinstance(vjp, Nondiff):
        return vjp
    rules: dict[str, Rule] = {}
    for operand, fn in vjp.items():
        if operand not in params:
            raise TracejitError(f"op {name}: gradient rule for {operand!r}, which is not an operand")
        code = fn.__code__
        names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
        wants = tuple(_source(name, want, params, attrs) for want in names)
        rules[operand] = Rule(fn, wants, joint)
    return rules


def _source(op: str, want: str, params: tuple[str, ...], attrs: Mapping[str, Any]) -> tuple[str, Any]:
    if want in ("out", "index"):
        return (want, 0)
    if want in attrs:
        return ("attr", want)
    if want in params:
        return ("input", params.index(want))
    if "*" + want in params:
        return ("rest", params.index("*" + want))
    if want.endswith("_type") and want[:-5] in params:
        return ("type", params.index(want[:-5]))
    if want.endswith("_types") and "*" + want[:-6] in params:
        return ("rest_types", params.index("*" + want[:-6]))
    raise TracejitError(f"op {op}: a gradient rule asks for {want!r}, which is neither operand nor attribute")


#: The fields that registrations at run time may change.
_CHANGEABLE: Final = ("eval", "vjp", "emit", "emit_kinds", "native", "regions")


class Registry:
    """Ops by name. The package's own is `OPS`; copy it to restore it."""

    def __init__(self) -> None:
        self._ops: dict[str, Op] = {}
        self._kernels: Callable[[Op], Callable[..., Any]] | None = None
        #: The substitutes for an op's `eval` in eager mode, by op: pairs of that `eval` and its substitute.
        self._substitutes: dict[Op, tuple[Callable[..., Any], Callable[..., Any]]] = {}
        self._followers: dict[Op, list[Callable[[Callable[..., Any]], None]]] = {}
        #: The `eval` of each of the package's own ops, which registrations at run time may replace.
        self._meanings: dict[Op, Callable[..., Any]] = {}
        self._sealed = False
        #: Names of ops that were added, changed or removed since `seal`: source code does not tell what they
        #: mean.
        self.foreign: set[str] = set()

    def seal(self) -> None:
        """End the registration of the package's own ops: later changes are recorded in `foreign`."""
        self._sealed = True

    def add(self, op: Op) -> Op:
        if op.name in self._ops:
            raise TracejitError(f"op {op.name!r} is registered already")
        self._ops[op.name] = op
        if self._sealed:
            self.foreign.add(op.name)
        else:
            self._meanings[op] = op.eval
        self._connect(op)
        return op

    def meaning(self, op: Op) -> Callable[..., Any]:
        """The package's own `eval` of `op`, whatever it is now; of a user's op its present one."""
        return self._meanings.get(op, op.eval)

    def remove(self, name: str) -> None:
        """Forget the op `name`."""
        del self._ops[self[name].name]

    def change(self, op: Op, **fields: Any) -> None:
        """Give `op` other `fields`. The record stays the same object: graphs and nodes refer to it."""
        if self._sealed and any(getattr(op, name) is not value for name, value in fields.items()):
            self.foreign.add(op.name)
        for name, value in fields.items():
            setattr(op, name, value)
        self._connect(op)

    def use_kernels(self, kernels: Callable[[Op], Callable[..., Any]] | None) -> None:
        """Let eager mode call ``kernels(op)`` in place of ``op.eval``, or with None ``op.eval`` again."""
        self._kernels = kernels
        for op in self._ops.values():
            self._connect(op)

    def substitute(self, op: Op, function: Callable[..., Any] | None) -> None:
        """Let eager mode call `function`, equivalent native code, for the present ``op.eval``; with None the
        latter."""
        self._substitutes.pop(op, None)
        if function is not None:
            self._substitutes[op] = op.eval, function
        self._connect(op)

    def follow_kernel(self, op: Op, use: Callable[[Callable[..., Any]], None]) -> None:
        """Call ``use(op.kernel)`` now and whenever that changes: for who cannot pay for looking it up."""
        self._followers.setdefault(op, []).append(use)
        use(op.kernel)

    def _connect(self, op: Op) -> None:
        own, substitute = self._substitutes.get(op, (None, op.eval))
        kernel = substitute if own is op.eval else op.eval
        if self._kernels:
            kernel = self._kernels(op)
        setattr(op, "kernel", kernel)  # noqa: B010
        for use in self._followers.get(op, ()):
            use(kernel)

    def copy(self) -> dict[str, dict[str, Any]]:
        """Copy the state for `restore`: each op with the current values of its changeable fields."""
        return {
            name: {"op": op, **{field: getattr(op, field) for field in _CHANGEABLE}}
            for name, op in self._ops.items()
        }

    def restore(self, copy: Mapping[str, Mapping[str, Any]]) -> None:
        """Hold just the ops of `copy`, with the fields they had."""
        self._ops = {name: fields["op"] for name, fields in copy.items()}
        for op in self._ops.values():
            self.change(op, **{field: copy[op.name][field] for field in _CHANGEABLE})

    def __getitem__(self, name: str) -> Op:
        try:
            return self._ops[name]
        except KeyError:
            raise TracejitError(f"there is no op named {name!r}") from None

    def get(self, name: str) -> Op | None:
        return self._ops.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._ops

    def __iter__(self) -> Iterator[Op]:
        return iter(self._ops.values())

    def __len__(self) -> int:
        return len(self._ops)


#: Every op of the package; filled by importing ``tracejit.ir.ops``.
OPS: Final = Registry()


def cost_of(op: Op, attrs: Attrs) -> float:
    """Rough cost per element of `op` with `attrs`, in cycles."""
    of_attributes = op.cost_of_attributes
    return op.cost if of_attributes is None else of_attributes(**attrs)


def check_attrs(op: Op, attrs: Attrs) -> None:
    """Raise AttributeValueError unless `attrs` are exactly the op's, of the right types."""
    if attrs.keys() != op.attrs.keys():
        for name in attrs:
            if name not in op.attrs:
                expected = ", ".join(op.attrs) or "none"
                raise AttributeValueError(f"{op.name}: unknown attribute {name!r}; expected {expected}")
        missing = next(name for name in op.attrs if name not in attrs)
        raise AttributeValueError(f"{op.name}: attribute {missing!r} is missing")
    for name, value in attrs.items():
        accepted = op.attrs[name]
        if type(value) not in accepted and (type(value) is bool or not isinstance(value, accepted)):
            class_names = " or ".join(class_.__name__ for class_ in accepted)
            raise AttributeValueError(f"{op.name}: attribute {name!r} must be {class_names}, got {value!r}")


class OpNamespace(abc.ABC):
    """Every op as a method: ``b.mul(x, y)``, ``b.sum(x, axes=(0,))``.

    Gradient rules and decompositions are written against this, and so run on whatever the subclass's
    `apply` works with: ndarrays, Tensors, or Values of a graph under construction.
    """

    @abc.abstractmethod
    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        """`op` of `operands`, in whatever the namespace works with."""

    #: Whether values tell what they were computed from.
    has_graph = True

    def without_factor(self, product: Any, factor: Any) -> Any:
        """``product / factor`` where the graph shows that `product`, or each term of it, has that factor, of
        the same type; else None.

        The slope of ``norm(x) ** 2`` is ``2 norm(x)`` times that of the norm, which is ``x / norm(x)``:
        without the factor it has a derivative at 0, too.
        """
        return None

    def known_number(self, value: Any) -> Any:
        """`value` where it is a Python number, or a constant whose elements are all the same one; else
        None."""
        return value if type(value) in NUMBERS else None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = OPS.get(name)
        if op is None:
            raise AttributeError(name)

        def method(*operands: Any, **attrs: Any) -> Any:
            return self.apply(op, operands, {**op.defaults, **attrs} if op.defaults else attrs)

        setattr(self, name, method)
        return method
