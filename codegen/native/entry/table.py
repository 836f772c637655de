"""Table of a native call entry: 64-bit words that say what it checks and makes.

There is one entry for all signatures, machine code made once per process (`entry_code`). It reads a table:
which objects are wanted as arguments, down through tuples, lists and dicts; where captures are found; what
must not have changed; which results to make, and how they are put together. So a signature costs a table
and no machine code, and no address of this process is in code that is kept on disk.

A table is a header (`HEADER`), then *nodes*. A node is ``[kind, bytes of the node, ...]``; a container's
children follow it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Final

from ....base.records import record
from ...interface import ARRAY_PLAIN, ARRAY_WRITABLE


@record
class ArraySpec:
    """An array argument, capture or result: the address of its NumPy descriptor, and its shape. A `donated`
    one is held back while its memory may become a result's. Where `content` is not 0, the elements must be
    those at that address, bit by bit. An input is an array or a Tensor that requires no gradient; where it
    `requires_grad`, a Tensor that does; where that is None, any of these. Where `scalar` is the address of a
    type and not 0, it is a scalar of that type of NumPy's instead, and `descr` is 0."""

    descr: int
    shape: tuple[int, ...]
    itemsize: int
    donated: bool = False
    content: int = 0
    requires_grad: bool | None = False
    scalar: int = 0

    @property
    def nbytes(self) -> int:
        """Size in bytes, at most 2**62: of what no memory can hold, allocating fails all the same."""
        return min(math.prod(self.shape) * self.itemsize, 1 << 62)


@record
class ScalarSpec:
    """A Python number argument: ``float``, ``int``, ``bool`` or ``complex``; an int within `limits`."""

    kind: str
    limits: tuple[int, int] | None = None


@record
class Same:
    """The very object at an address."""

    address: int


@record
class EqualSpec:
    """A Python number of type ``float`` or ``int`` with the same bits as `value`."""

    value: float | int


@record
class SizedSpec:
    """A tuple, list or other sequence of just the type at `type`, with so many items."""

    type: int
    size: int


@record
class Absent:
    """Absence of a value: a name that is not bound, a key or an attribute that is not there."""


@record
class Anything:
    """Any object."""


@record
class ContainerSpec:
    """A tuple, list or dict of just the type at `type`, with `children`; of a dict the addresses of its
    `keys`, one for each child, and in the `order` that it must have, where that is another."""

    kind: str
    type: int
    children: tuple[Spec, ...]
    keys: tuple[int, ...] = ()
    order: tuple[int, ...] = ()


Spec = ArraySpec | ScalarSpec | Same | EqualSpec | SizedSpec | Absent | Anything | ContainerSpec


@record
class Capture:
    """Location of a closed-over object at each call, and what it must be: ``object`` at a fixed address, the
    contents of a ``cell``, or the value of a key (at `key`) in the dict at `address`, for ``global``. `steps`
    lead on: (``attr``, address of a name), (``key``, address), (``tuple`` or ``list``, position), and to the
    ``class`` of an object and the ``code`` of a function."""

    kind: str
    address: int
    key: int
    spec: Spec
    steps: tuple[tuple[str, int], ...] = ()


@record
class ResultSpec:
    """A result: a new array, or where `reuses` is not -1 the memory of the input at that position. It becomes
    a Tensor unless it stays a plain array."""

    array: ArraySpec
    reuses: int = -1
    plain: bool = False


@record
class EntrySpec:
    """Specification of an entry: what it checks and makes."""

    arguments: tuple[Spec, ...]
    #: Keyword arguments: the address of the name, and what is wanted.
    keywords: tuple[tuple[int, Spec], ...]
    captures: tuple[Capture, ...]
    #: Objects that must be as they were when the function was traced. Arrays among them are inputs behind
    #: those that ``@main`` reads.
    guards: tuple[Capture, ...]
    results: tuple[ResultSpec, ...]
    #: Structure of the results: None for one as it is, else (kind, keys, children).
    structure: Structure
    #: Whether to let go of the GIL while ``@main`` runs.
    release_gil: bool
    #: Number of the inputs that the recorder gets after all results, where there is one.
    recorded: int = 0
    #: Number of the last results that the recorder alone gets: residuals, which are not returned.
    residuals: int = 0
    #: The address of the globals of the function, whose module takes Tensors; 0 where it has none.
    home: int = 0


#: The addresses of a dict's keys, one for each child, and in the order that it has, where that is another.
Keys = tuple[tuple[int, ...], tuple[int, ...]]
NO_KEYS: Final[Keys] = ((), ())
#: Structure: None for a leaf; else the kind of a container, a dict's keys, and the children.
Structure = tuple[str, Keys, tuple["Structure", ...]] | None

#: The words before the nodes, by name.
HEADER: Final = (
    "slow", "main", "failed", "positional", "keywords", "inputs", "extras", "results", "sources", "release",
    "once", "donated", "arguments_at", "keywords_at", "sources_at", "results_at", "structure_at",
    "donated_at", "recorder", "recorded", "returned", "home", "arrays", "convert",
)  # fmt: skip
#: Byte offsets of the header's words.
AT: Final = {name: 8 * position for position, name in enumerate(HEADER)}
KINDS: Final = {
    name: number
    for number, name in enumerate(
        (
            "array",
            "float",
            "int",
            "bool",
            "same",
            "tuple",
            "list",
            "dict",
            "none",
            "equal_float",
            "equal_int",
            "sized",
            "absent",
            "anything",
            "complex",
        )
    )
}
#: Whether an array is a Tensor that requires a gradient; None where it does not matter.
GRADIENTS: Final = {False: 0, True: 1, None: 2}
STEPS: Final = {"attr": 0, "key": 1, "tuple": 2, "list": 3, "class": 4, "code": 5}
STARTS: Final = {"object": 0, "cell": 1, "global": 2}
_INT64: Final = (-(2**63), 2**63 - 1)


def entry_table(spec: EntrySpec, *, main: int, slow: int, failed: int, recorder: int, once: bool) -> bytes:
    """The table of `spec`: `main` is the address of the native function, `slow` of the callable that takes
    what does not fit, `failed` of the one that gets the status of a call that cannot be repeated: of any call
    where it runs `once`. `recorder` is the address of the callable that gets what a call computed and its
    inputs, 0 for none."""
    header = dict.fromkeys(HEADER, 0)
    words: list[int] = [0] * len(HEADER)

    def section(name: str) -> None:
        header[f"{name}_at"] = 8 * len(words)

    section("arguments")
    for argument in spec.arguments:
        _node(words, argument)
    section("keywords")
    for name, tree in spec.keywords:
        words.append(name)
        _node(words, tree)
    section("sources")
    sources = (*spec.captures, *spec.guards)
    for source in sources:
        steps = source.steps
        words += (STARTS[source.kind], source.address, source.key, len(steps))
        for how, step in steps:
            words += (STEPS[how], step)
        _node(words, source.spec)
    section("results")
    for result in spec.results:
        array = result.array
        size = 8 * (6 + len(array.shape))
        words += [size, array.descr, len(array.shape), array.nbytes, result.reuses, int(result.plain)]
        words += array.shape
    section("structure")
    _structure(words, spec.structure)
    inputs = [leaf for argument in spec.arguments for leaf in _leaves(argument)]
    inputs += [leaf for _, tree in spec.keywords for leaf in _leaves(tree)]
    inputs += [leaf for source in sources for leaf in _leaves(source.spec)]
    section("donated")
    words += [input_.nbytes if isinstance(input_, ArraySpec) else 0 for input_ in inputs]
    donated = [
        number for number, input_ in enumerate(inputs) if isinstance(input_, ArraySpec) and input_.donated
    ]
    words += donated
    header.update(
        slow=slow, main=main, failed=failed, positional=len(spec.arguments), keywords=len(spec.keywords),
        inputs=len(inputs), results=len(spec.results), sources=len(sources),
        extras=sum([how == "attr" for source in sources for how, _ in source.steps]),
        release=int(spec.release_gil), donated=len(donated), once=int(once or bool(donated)),
        recorder=recorder, recorded=spec.recorded, returned=len(spec.results) - spec.residuals,
        home=spec.home, arrays=int(not spec.recorded and any(not result.plain for result in spec.results)),
    )  # fmt: skip
    words[: len(HEADER)] = [header[name] for name in HEADER]
    return struct.pack(f"={len(words)}q", *words)


def passing_table(*, slow: int, convert: int, home: int) -> bytes:
    """The table of an entry that no call fits: each goes to the callable at `slow`, and its result to that at
    `convert` where a module that takes arrays makes the call."""
    header = {**dict.fromkeys(HEADER, 0), "positional": -1, "slow": slow, "convert": convert, "home": home}
    return struct.pack(f"={len(HEADER)}q", *header.values())


def _node(words: list[int], spec: Spec) -> None:
    if isinstance(spec, EqualSpec):  # first, as there are thousands of them in a list of numbers
        if isinstance(spec.value, float):
            words += (KINDS["equal_float"], 24, struct.unpack("=q", struct.pack("=d", spec.value))[0])
        else:
            words += (KINDS["equal_int"], 24, spec.value)
    elif isinstance(spec, ArraySpec):
        flags = ARRAY_WRITABLE if spec.donated else ARRAY_PLAIN
        words += [KINDS["array"], 8 * (10 + len(spec.shape)), spec.descr, len(spec.shape), flags]
        words += [int(spec.donated), spec.content, spec.nbytes, GRADIENTS[spec.requires_grad], spec.scalar]
        words += spec.shape
    elif isinstance(spec, ScalarSpec):
        low, high = spec.limits or _INT64
        words += [KINDS[spec.kind], 32, max(low, _INT64[0]), min(high, _INT64[1])]
    elif isinstance(spec, Same):
        words += [KINDS["same"], 24, spec.address]
    elif isinstance(spec, SizedSpec):
        words += [KINDS["sized"], 32, spec.type, spec.size]
    elif isinstance(spec, Absent):
        words += [KINDS["absent"], 16]
    elif isinstance(spec, Anything):
        words += [KINDS["anything"], 16]
    else:
        keys = spec.keys + spec.order
        ordered = len(spec.keys) if spec.order else 0
        words += [KINDS[spec.kind], 8 * (5 + len(keys)), spec.type, len(spec.children), ordered, *keys]
        for child in spec.children:
            _node(words, child)


def _leaves(spec: Spec) -> Sequence[ArraySpec | ScalarSpec]:
    """The inputs that a spec yields, in order."""
    if isinstance(spec, (EqualSpec, Same)):
        return ()
    if isinstance(spec, ContainerSpec):
        return [leaf for child in spec.children for leaf in _leaves(child)]
    return [spec] if isinstance(spec, (ArraySpec, ScalarSpec)) else []


def _structure(words: list[int], structure: Structure) -> None:
    if structure is None:
        words += [KINDS["array"], 16]
        return
    kind, (keys, order), children = structure
    words += [KINDS[kind], 8 * (4 + len(keys) + len(order)), len(children), len(keys) if order else 0]
    words += keys + order
    for child in children:
        _structure(words, child)


@record
class EntryLayout:
    """Addresses and offsets of CPython and NumPy, from ``runtime.native.capi``."""

    #: Addresses by symbol: C functions, and objects as ``object_Tensor``.
    symbols: dict[str, int]
    #: Offsets of Tensor's slots.
    slots: dict[str, int]
