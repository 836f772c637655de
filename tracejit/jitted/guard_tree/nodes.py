"""Guard tree of a jitted function: the tests of a call, in order, and the specializations they lead to."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...base.loading import LazyModule
from ...base.process.locks import ForkLock
from ...tensors.tensor import Tensor
from ..signatures import JittedCall
from .specializations import Specialization

if TYPE_CHECKING:
    from . import paths
else:
    paths = LazyModule(".paths", __package__)

#: Most paths that one signature may have unless ``jit`` is told otherwise.
MAX_PATHS: Final = 32
#: Most specializations of a signature that are kept although what they read has changed: it may change back.
MAX_STALE: Final = 8


class TestKind(enum.Enum):
    """Kinds of inner node: what is tested of a call, in this order."""

    #: The containers that the arguments come in, static arguments, and the settings.
    STRUCTURE = "structure"
    #: Dtypes and shapes of arrays, and the types of numbers.
    TYPES = "types"
    #: Values that the function reads outside its arguments: `captures.Bindings`.
    CAPTURES = "captures"
    #: The inputs that require gradients, and whether the call is recorded: `specializations.Gradients`.
    GRADIENTS = "gradients"
    #: Computed values that Python code asked for: `paths`.
    VALUES = "values"


class Signature:
    """The node of one structure and one outcome of `TestKind.TYPES`: its specializations, the one used last
    first. Which of them serves a call is told by `TestKind.CAPTURES`, then by `TestKind.VALUES`.

    Attributes:
        key: see `JittedCall`.
        parent: the node above.
        number: how many signatures the function had before.
        lead: the specialization that reports are about: the one used last, of paths the first.
        shared: the paths compiled together, None where they are not.
        settled: the number of calls by paths without a new one.
    """

    __slots__ = ("key", "lead", "leaves", "number", "parent", "settled", "shared")

    def __init__(self, key: Any, parent: StructureNode, number: int, lead: Specialization) -> None:
        self.key, self.parent, self.number, self.lead = key, parent, number, lead
        self.leaves: tuple[Specialization, ...] = ()
        self.shared: Specialization | None = None
        self.settled = 0

    def find(self, outcome: Sequence[Any] = ()) -> tuple[Specialization, list[Tensor]] | None:
        """The specialization used last of those whose decisions begin with `outcome` and whose captures are
        what they were, with these."""
        for leaf in self.leaves:
            captured = leaf.captured() if not outcome or paths.begins(leaf, outcome) else None
            if captured is not None:
                return leaf, captured
        return None

    def before(self, outcome: Sequence[Any] = ()) -> Specialization | None:
        """The specialization used last of those whose decisions begin with `outcome`, whatever it reads."""
        return next((leaf for leaf in self.leaves if paths.begins(leaf, outcome)), None)

    def paths(self) -> list[Specialization]:
        """The specializations for certain values of what Python code tests."""
        return [leaf for leaf in self.leaves if leaf.decisions]

    def use(self, leaf: Specialization) -> None:
        """Put `leaf` in front, unless it was forgotten."""
        if leaf is not self.leaves[0]:
            if leaf not in self.leaves:
                return
            self.leaves = (leaf, *[other for other in self.leaves if other is not leaf])
        if not leaf.decisions:
            self.lead = leaf

    def add(self, leaf: Specialization, *, leads: bool) -> None:
        """Put a new `leaf` in front. Of those that do not fit any more the latest `MAX_STALE` stay."""
        stale = [other for other in self.leaves if not other.fits()]
        dropped = set(map(id, stale[MAX_STALE:]))
        self.leaves = (leaf, *[other for other in self.leaves if id(other) not in dropped])
        self.shared, self.settled = None, 0
        if leads:
            self.lead = leaf


class StructureNode:
    """The node of one outcome of `TestKind.STRUCTURE`: signatures by the types of the leaves.

    Attributes:
        latest: what served the last call that came to Python, whose native entry is tried first.
    """

    __slots__ = ("latest", "types")

    def __init__(self) -> None:
        self.types: dict[Any, Signature] = {}
        self.latest: Specialization | None = None


class GuardTree:
    """The tests and specializations of one function. Whoever changes them holds `lock`; lists of
    specializations are replaced and not changed, so that all others read them as they are."""

    def __init__(self) -> None:
        self.lock = ForkLock()
        self.structures: dict[Any, StructureNode] = {}
        #: All signatures, in the order in which they were compiled.
        self.signatures: list[Signature] = []

    def structure(self, call: JittedCall) -> StructureNode | None:
        """The node of the structure of `call`, None where there is none yet."""
        return self.structures.get(call.structure_key)

    def signature(self, call: JittedCall) -> Signature | None:
        """The node of the structure and the types of `call`, None where there is none yet."""
        node = self.structure(call)
        return None if node is None else node.types.get(call.types)

    def add(self, call: JittedCall, leaf: Specialization, *, leads: bool = True) -> Signature:
        """Add a specialization; it `leads` its signature where it was compiled for no certain values."""
        node = self.structures.setdefault(call.structure_key, StructureNode())
        signature = node.types.get(call.types)
        if signature is None:
            signature = node.types[call.types] = Signature(call.key, node, len(self.signatures), leaf)
            self.signatures.append(signature)
        signature.add(leaf, leads=leads)
        return signature

    def leaves(self) -> Iterator[Specialization]:
        """All specializations."""
        for signature in list(self.signatures):
            yield from signature.leaves

    def clear(self) -> None:
        """Forget all."""
        with self.lock:
            self.structures, self.signatures = {}, []
