"""Uses of the values that a function reads from outside, and the guards and inputs that follow from them."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Final

import numpy as np

from ..base.records import record
from ..tensors.foreign_arrays import is_foreign
from ..tensors.tensor import Tensor
from .bytecode import Site, decode
from .guards import (
    ArrayTypeGuard,
    ConstantGuard,
    ContentGuard,
    ElementsGuard,
    Guard,
    KeysGuard,
    LengthGuard,
    MissingGuard,
    array_type,
    copied_content,
    elements_of,
    is_constant,
    keys_of,
    length_of,
    same_constant,
)
from .libraries.library import GENERATORS
from .values import MISSING, Place, Source

#: More numbers than these are guarded rather than made inputs.
_MAX_NUMBERS: Final = 64


class Number:
    """A Python number that a trace reads at a place and takes as an input."""

    __slots__ = ("source", "value")

    def __init__(self, source: Source, value: float) -> None:
        self.source = Source(source.kind, source.holder, source.key, source.path, is_number=True)
        self.value = value

    def peek(self) -> Any:
        """The number as the trace found it."""
        return np.asarray(self.value)


@record(eq=False, frozen=False)
class Uses:
    """Uses of places that were seen in code. Grows while code is followed."""

    #: Guards by place, and by what they say.
    guards: dict[Any, Guard]
    #: Tensors and arrays by identity, with each place that leads to them.
    arrays: dict[int, list[Place]]
    #: Arrays whose elements Python code may compute with, and numbers that do more than enter arithmetic.
    inspected: dict[Any, Place]
    #: Numbers that meet tensors, by the instruction that combines them: (code, offset).
    operands: dict[Site, dict[Any, Place]]
    #: Instructions that combine something else with tensors, too.
    mixed_sites: set[Site]
    #: Arrays that a function of the library got, which reads them as inputs or while tracing.
    given: dict[Any, Place]
    #: Attributes that objects keep once they are computed.
    kept: list[Place]
    #: Places that the function itself writes, or whose contents it writes.
    written: dict[Any, Source]
    #: Arrays of NumPy's outside the arguments whose elements every call writes.
    array_writes: dict[Any, Source]
    #: Arrays of NumPy's outside the arguments whose elements some calls may write.
    possible_writes: dict[Any, Source]
    #: Reads that could not be followed, in words.
    unwatched: dict[str, None]
    #: Unwatched reads that the user is warned of.
    beyond: dict[str, None]
    #: Calls whose results a trace freezes, in words, with the objects that they are methods of.
    frozen: dict[str, Any]
    #: Generators of random numbers of NumPy's and Python's that code can reach, by identity.
    generators: dict[int, Place]
    #: Generators of random numbers that are copied, with their states, by identity.
    copied: set[int]
    #: Functions that every call takes a seed from, which the system draws.
    unseeded: dict[str, None]
    #: Functions of the user's that were followed, by identity.
    followed: dict[int, FunctionType]
    #: Code in which Python would ask for the values of what is traced: that reads items of what is no tensor,
    #: or writes items, by traced keys, or calls functions of ``math``, NumPy and SciPy that ask for values.
    #: By identity.
    asking: set[int]
    #: The code that was followed, by identity.
    codes: dict[int, CodeType]
    #: The file and line where code assigns an attribute, by the object's identity and the attribute's name.
    stores: dict[tuple[int, str], tuple[str, int]]
    #: The places of what the function asks whether an argument is; None where it asks that of no argument.
    told_apart: dict[Any, Source] | None = None
    #: Whether the function compares by identity what may be two arrays or containers.
    compares_objects: bool = False
    #: Questions by `is` or a pattern that only the value of what is traced answers, empty without: those
    #: about numbers of Python's, and those about all arguments.
    asked_of_numbers: str = ""
    asked_of_all: str = ""
    #: Whether code makes arrays of NumPy's, and whether it makes text of what may be one.
    makes_arrays: bool = False
    shows_arrays: bool = False
    #: Whether code sets the error state of NumPy.
    sets_errors: bool = False
    #: Whether code calls functions that are not followed.
    hands_over: bool = False

    @classmethod
    def empty(cls) -> Uses:
        return cls(
            {}, {}, {}, {}, set(), {}, [], {}, {}, {}, {}, {}, {}, {}, set(), {}, {}, set(), {}, {}
        )  # fmt: skip

    def read(self, place: Place) -> Place:
        """`place` as code gets it: tensors and arrays are noted. Those of other libraries must stay the same
        objects; their memory is read at each call."""
        if isinstance(place.value, (Tensor, np.ndarray)):
            self.array(place)
        elif isinstance(place.value, GENERATORS()):
            self.generators.setdefault(id(place.value), place)
        elif is_foreign(place.value):
            self.same(place)
        return place

    def guard(self, kind: type[Guard], place: Place, expected: Any) -> None:
        """Ask for `expected` to hold at `place`."""
        key = (kind, place.identity)
        if not place.settled and key not in self.guards and self._is_found_again(place):
            self.guards[key] = kind(place.source, expected)

    def _is_found_again(self, place: Place) -> bool:
        """Whether reading `place` gives its value; else it cannot be told whether that changes."""
        value = place.source.read()
        if value is place.value or (is_constant(place.value) and same_constant(value, place.value)):
            return True
        if type(value) is type(place.value) is MappingProxyType:  # a new one at each reading of ``__dict__``
            return True
        self.unwatched[f"{place.source}: each read gives another value"] = None
        return False

    def same(self, place: Place) -> None:
        """The function depends on which object lies at `place`, or on its value if it is a constant."""
        self.guard(ConstantGuard if is_constant(place.value) else Guard, place, place.value)

    def missing(self, place: Place) -> None:
        """The function depends on there being nothing at `place`."""
        self.guard(MissingGuard, Place(place.source, MISSING), None)

    def structure(self, place: Place) -> None:
        """The function depends on the length or the keys of the container at `place`."""
        value = place.value
        if isinstance(value, (dict, MappingProxyType)):
            self.guard(KeysGuard, place, (type(value), tuple(keys_of(value))))
        elif isinstance(value, (list, tuple, collections.deque)):
            self.guard(LengthGuard, place, (type(value), length_of(value)))
        elif isinstance(value, (set, frozenset)):
            self.guard(ElementsGuard, place, (type(value), elements_of(value)))

    def inspect(self, place: Place) -> None:
        """The function may compute with what lies at `place` in Python or NumPy: a number, or an array."""
        if place.identity not in self.inspected and self._is_found_again(place):
            self.inspected[place.identity] = place

    def array(self, place: Place) -> None:
        """The function uses the tensor or array at `place`."""
        places = self.arrays.setdefault(id(place.value), [])
        if place.source.read() is place.value and all(place.identity != other.identity for other in places):
            places.append(place)

    def operand(self, site: Site, place: Place) -> None:
        """The number at `place` is combined with a tensor by an instruction."""
        if place.source.read() is place.value:
            self.operands.setdefault(site, {})[place.identity] = place
        else:
            self.inspect(place)

    def mixed(self, site: Site) -> None:
        """An instruction combines something with a tensor that is no number at a place."""
        self.mixed_sites.add(site)

    def give_up(self, what: str) -> None:
        """Note `what` as reads that are not watched and that the user is warned of."""
        self.unwatched[what] = self.beyond[what] = None

    def handed_over(self, place: Place) -> None:
        """A function of the library gets the array at `place`."""
        self.given[place.identity] = place

    # -- after the code was followed ---------------------------------------------------------------

    def numbers(self) -> Numbers:
        """The numbers that become inputs; the others are guarded from here on."""
        allowed: dict[Any, Number] = {}
        sites: dict[Site, list[tuple[Any, Number]]] = {}
        ambiguous: set[Any] = set()
        for site, places in self.operands.items():
            ambiguous |= set(places) if site in self.mixed_sites else _alike(list(places.values()))
        for site, places in self.operands.items():
            for identity, place in places.items():
                if identity in self.inspected or identity in ambiguous or place.settled:
                    self.inspect(place)
                elif identity in allowed or len(allowed) < _MAX_NUMBERS:
                    number = allowed.setdefault(identity, Number(place.source, place.value))
                    sites.setdefault(site, []).append((identity, number))
                else:
                    self.inspect(place)
        return Numbers(sites, self.codes)

    def finish(self, captured: set[int], matched: set[Site]) -> list[Guard]:
        """The guards of a trace that made inputs of the arrays with the ids `captured`, and of the numbers
        that the instructions `matched` handed over."""
        inspected = dict(self.inspected)
        for site, places in self.operands.items():
            inspected |= places if site not in matched else {}
        for place in self.given.values():
            if id(place.value) not in captured:
                inspected[place.identity] = place
        for place in inspected.values():
            if isinstance(place.value, (Tensor, np.ndarray)):
                content = copied_content(place.value)
                if content is not None:
                    self._keep(ContentGuard, place, content)
            else:
                self._keep(ConstantGuard, place, place.value)
        for place in self.kept:
            value = place.source.read()
            if value is MISSING:
                self._keep(MissingGuard, place, None)
            else:
                self._keep(ConstantGuard if is_constant(value) else Guard, place, value)
        for alternatives in self.arrays.values():
            for place in alternatives:
                if id(place.value) not in captured:
                    if place.identity not in inspected:
                        self._keep(ArrayTypeGuard, place, array_type(place.value))
                elif len(alternatives) > 1:
                    self._keep(Guard, place, place.value)
        return list(self.guards.values())

    def _keep(self, kind: type[Guard], place: Place, expected: Any) -> None:
        """A guard that was decided on after the trace, which may have changed what lies at `place`."""
        if not place.settled:
            self.guards.setdefault((kind, place.identity), kind(place.source, expected))


class Numbers:
    """The numbers that become inputs, by the instruction that hands them to an operation."""

    def __init__(self, sites: dict[Site, list[tuple[Any, Number]]], codes: Mapping[int, CodeType]) -> None:
        self._sites = sites
        self._site_at = {reached: site for site in sites for reached in _offsets_of(site, codes)}
        #: Instructions that handed over the numbers that lie at their places, and no others.
        self.matched: set[Site] = set()
        self._unmatched: set[Site] = set()

    def __bool__(self) -> bool:
        return bool(self._sites)

    def input_for(self, value: float, code: CodeType, offset: int) -> Number | None:
        """The input behind the number `value` that an operation got from the instruction of `code` that runs,
        which `offset` is in, if it is to be one."""
        site = self._site_at.get((id(code), offset))
        if site is None:
            return None
        for _, number in self._sites[site]:
            if number.value is value:
                if site not in self._unmatched:
                    self.matched.add(site)
                return number
        self._unmatched.add(site)
        self.matched.discard(site)
        return None

    def codes(self) -> set[int]:
        """The identities of the code objects with such instructions."""
        return {code for code, _ in self._sites}


def _offsets_of(site: Site, codes: Mapping[int, CodeType]) -> list[Site]:
    """The instruction at `site` with its inline cache: ``f_lasti`` may point to any part of it."""
    code, start = site
    instructions = decode(codes[code]).instructions
    position = next(instruction.position for instruction in instructions if instruction.offset == start)
    end = instructions[position + 1].offset if position + 1 < len(instructions) else start + 2
    return [(code, offset) for offset in range(start, end, 2)]


def _alike(places: list[Place]) -> set[Any]:
    """The places of one instruction whose numbers cannot be told apart."""
    counts = collections.Counter(id(place.value) for place in places)
    return {place.identity for place in places if counts[id(place.value)] > 1}
