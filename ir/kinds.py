"""The kinds of ops, and their traits: what passes, codegen and runtime ask of an instruction without knowing
its op.

A pass or a planner that treats several kinds alike asks for a trait, ``op.kind.traits.can_fail``, and so does
not change when a kind is added. It compares kinds (``kind is Kind.CONCAT``) only where it works on what that
kind computes. What codegen alone knows of a kind is in its `codegen.lowering.lowering.Lowering`.
"""

from __future__ import annotations

import enum

from ..base.records import record


class Strength(enum.IntEnum):
    """Strength of the zeros in gradients that are there because a mask did not choose: the ops behind the
    choice in which they stay 0, whatever they are multiplied by. See ``transforms.strong_zeros``."""

    #: The zeros of floats: 0 times infinity is NaN.
    NONE = 0
    #: All ops up to the next matrix product or convolution.
    ELEMENTWISE = 1
    #: Matrix products and convolutions as well, up to the next factorization.
    PRODUCTS = 2


class ViewReads(enum.Enum):
    """Views of memory that a kernel reads in place. Operands that are other views are first copied."""

    #: Matrices whose rows or columns are contiguous, and those that repeat one line.
    MATRICES = "matrices"
    #: Views of stretches that are contiguous and large enough to be copied as a whole.
    STRETCHES = "stretches"
    #: Any strides.
    ANY = "any"


@record
class Traits:
    """Properties that all ops of a kind share. The defaults are those of an op with a kernel of its own."""

    #: Whether there is something to run: not for constants, and for views, which are index arithmetic.
    has_kernel: bool = True
    #: Whether results are computed from operands' elements; other ops create or move elements of any dtype.
    computes: bool = True
    #: Whether ops may be members of a loop nest, computed element by element or folded.
    fusable: bool = False
    #: Whether ops may run although nothing needs them yet: loop-invariant motion computes them before a loop
    #: that may have no step. *Requires*: not `can_fail`.
    movable: bool = False
    #: Whether compiled code can fail when it runs, as with an index out of range: its message names the
    #: source line, which machine code on disk then depends on.
    can_fail: bool = False
    #: The views that kernels read as they lie, if any: their operands are then the memory behind the views.
    reads_views: ViewReads | None = None
    #: Whether the result is the first operand with some elements changed, so that it may be written over the
    #: first operand's memory.
    updates_operand: bool = False
    #: Whether the last operands are indices into the first one, which is read or written there alone.
    indexes_operand: bool = False
    #: The most strength of zeros in gradients that ends at these ops, whose results are sums of products with
    #: many elements.
    ends_zeros: Strength = Strength.NONE
    #: Whether the op is its last region, computed by one kernel.
    grouped: bool = False
    #: Whether each line of the result along the attribute `axis` is computed from that line of the operand,
    #: so that ops on the same lines can be one kernel.
    by_lines: bool = False
    #: Whether each line of the one operand along the attribute `axis`, or along the last axis where there is
    #: no such attribute, is computed by itself.
    along_axis: bool = False
    #: Whether the op's regions are programs of their own, to which every pass applies.
    control: bool = False
    #: Indices of a loop's regions that run in every step, without those of the condition.
    step_regions: tuple[int, ...] = ()
    #: Name of a control flow op in tools.
    label: str = ""


class Kind(enum.Enum):
    """Classification of ops for fusion and codegen, which never test an op's name."""

    _value_: str
    traits: Traits

    ELEMENTWISE = "elementwise", Traits(fusable=True, movable=True)
    REDUCTION = "reduction", Traits(fusable=True, movable=True)
    ARG_REDUCTION = "arg-reduction", Traits(along_axis=True)
    VIEW = "view", Traits(has_kernel=False, computes=False, movable=True)
    CONCAT = "concat", Traits(computes=False, reads_views=ViewReads.STRETCHES)
    UPDATE = "update", Traits(computes=False, updates_operand=True)
    GATHER = "gather", Traits(computes=False, indexes_operand=True, can_fail=True)
    SCATTER = "scatter", Traits(updates_operand=True, indexes_operand=True, can_fail=True)
    CUMULATIVE = "cumulative", Traits(movable=True, along_axis=True)
    SORT = "sort", Traits(along_axis=True)
    ARG_SORT = "arg-sort", Traits(along_axis=True)
    SEARCH = "search", Traits()
    HISTOGRAM = "histogram", Traits(can_fail=True)
    COMPACTION = "compaction", Traits(along_axis=True)
    FOURIER = "fourier", Traits(movable=True, by_lines=True, along_axis=True)
    CONTRACTION = (
        "contraction",
        Traits(ends_zeros=Strength.ELEMENTWISE, movable=True, reads_views=ViewReads.MATRICES),
    )
    CONVOLUTION = (
        "convolution",
        Traits(ends_zeros=Strength.ELEMENTWISE, movable=True, reads_views=ViewReads.ANY),
    )
    CREATION = "creation", Traits(has_kernel=False, computes=False, movable=True)
    ALLOCATION = "allocation", Traits(has_kernel=False, computes=False)
    COMPOSITE = "composite", Traits(computes=False, can_fail=True)
    REGION = "region", Traits(computes=False, can_fail=True, grouped=True)
    TILED = "tiled", Traits(computes=False, can_fail=True, grouped=True)
    SWITCH = "switch", Traits(computes=False, control=True, can_fail=True, label="branch")
    WHILE = "while", Traits(computes=False, control=True, can_fail=True, step_regions=(1,), label="loop")
    SCAN = "scan", Traits(computes=False, control=True, can_fail=True, step_regions=(0,), label="loop")
    REWIND = "rewind", Traits(computes=False, control=True, can_fail=True, step_regions=(1, 2), label="loop")
    LINALG = "linear-algebra", Traits(ends_zeros=Strength.PRODUCTS, can_fail=True)
    HOST = "host", Traits(computes=False, can_fail=True)

    def __new__(cls, value: str, traits: Traits) -> Kind:
        """A member whose value is its name in text, with its traits beside it."""
        member = object.__new__(cls)
        member._value_ = value
        member.traits = traits
        return member

    __hash__ = object.__hash__  # Enum's is Python code, and passes ask for kinds all the time
