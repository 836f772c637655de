"""Objects that a call reaches by two names, where the function writes one of them or tells them apart.

A traced function has tensors and containers of its own for its arguments, each apart from the others and from
what it reads outside. So a call in which they are not apart, and in which that matters, runs as Python, which
a `tj.UncompiledCallWarning` says once. It matters to few functions, and only their calls are looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..array.copying import copy
from ..base.errors import AliasedError, UncompiledCallWarning
from ..base.records import record
from ..base.user_code import user_stacklevel
from ..frontend.guards import Guard
from ..frontend.usage import Uses
from ..frontend.values import Source
from ..pytree import children_of, containers_in
from ..tape.views import overlapping
from ..tensors.foreign_arrays import is_like_ndarray
from ..tensors.tensor import Tensor, as_array, wrap
from .container_writes import container_at

if TYPE_CHECKING:
    from .argument_writes import ArgumentWrites

_ARRAYS: Final = (Tensor, np.ndarray)


@record(eq=False)
class Outside:
    """Places outside a function's arguments.

    Attributes:
        arrays: of arrays and tensors.
        containers: of lists, dicts and objects with fields.
    """

    arrays: Sequence[Source] = ()
    containers: Sequence[Source] = ()

    def __bool__(self) -> bool:
        return bool(self.arrays or self.containers)


NOTHING: Final = Outside()


def outside(sources: Sequence[Source]) -> Outside:
    """The arrays and containers that lie at `sources` and on the way there."""
    arrays: dict[Any, Source] = {}
    containers: dict[Any, Source] = {}
    for source in sources:
        for length in range(len(source.path) + 1):
            place = Source(source.kind, source.holder, source.key, source.path[:length])
            if place.identity in arrays or place.identity in containers:
                continue
            value = place.read()
            if isinstance(value, _ARRAYS):
                arrays[place.identity] = place
            elif children_of(value) is not None and not isinstance(value, tuple):
                containers[place.identity] = place
    return Outside(tuple(arrays.values()), tuple(containers.values()))


def read_outside(guards: Sequence[Guard], inputs: Sequence[Source], *, containers: bool) -> Outside:
    """Objects that a function reads and that its arguments may be: arrays that `guards` compare, as `inputs`
    are looked at by themselves, and `containers` where it changes some."""
    if not containers:
        return Outside(outside([guard.source for guard in guards]).arrays)
    everything = outside([*[guard.source for guard in guards], *inputs])
    known = {source.identity for source in inputs}
    return Outside(
        [source for source in everything.arrays if source.identity not in known], everything.containers
    )


# -- arguments that are written ------------------------------------------------------------------------


def check_aliases(
    writes: ArgumentWrites,
    arguments: Any,
    leaves: Sequence[Any],
    inputs: Sequence[Tensor],
    captures: Sequence[Any],
) -> None:
    """Raise AliasedError where what a call with `arguments` writes is another argument, or something that the
    function reads, as well: by its memory or as the same container."""
    arrays = [*map(_array, leaves), *[input_._data for input_ in inputs[len(leaves) :]]]
    places = [*captures, *writes.beside.arrays]
    arrays += [_array(source.read()) for source in writes.beside.arrays]
    pair = overlapping(arrays, writes.positions)
    if pair is not None:
        written, other = pair
        second = writes.name(other) if other < len(leaves) else places[other - len(leaves)]
        raise AliasedError(
            f"{writes.label}: argument {writes.name(written)} is written in place, and {second} shares "
            "memory with it"
        )
    if writes.containers:
        _check_containers(writes, arguments)


def _check_containers(writes: ArgumentWrites, arguments: Any) -> None:
    identities = [id(container_at(arguments, path)) for path in writes.paths]
    places = writes.beside.containers
    if len(set(identities)) == len(identities) and not places:
        return
    changed = {id(container_at(arguments, write.path)): write.name for write in writes.containers}
    for identity, name in changed.items():
        if identities.count(identity) > 1:
            raise AliasedError(f"{writes.label}: {name} is changed, and is another argument as well")
    for source in places:
        if id(source.read()) in changed:
            name = changed[id(source.read())]
            raise AliasedError(f"{writes.label}: {name} is changed, and is {source} as well")


def _given(arguments: Any) -> tuple[Any, ...]:
    """The arguments among ``(positional, named)``."""
    positional, named = arguments
    return (*positional, *named.values())


def _array(value: Any) -> Any:
    """The memory of a tensor or array, None for anything else."""
    data = value._data if isinstance(value, Tensor) else value
    return data if isinstance(data, np.ndarray) else None


# -- objects that are written outside, or told apart ---------------------------------------------------


@record(eq=False)
class NoAlias:
    """Conditions on a function's arguments under which its compiled form is right.

    Attributes:
        label: what messages call the function.
        written: what the function writes outside its arguments.
        told_apart: whether it asks which object an argument is; `others` are the objects outside that it
            compares with.
        in_order: the positions of the leaves that must lie in C order in memory.
    """

    label: str
    written: Outside
    told_apart: bool
    others: Sequence[Source]
    in_order: frozenset[int] = frozenset()

    def problem(self, arguments: Any, leaves: Sequence[Any]) -> str:
        """Reason why a call with `arguments`, with these `leaves`, cannot run as compiled; empty where it
        can."""
        for position in self.in_order:
            array = _array(leaves[position])
            if array is not None and not array.flags.c_contiguous:
                return (
                    "which arrays are written depends on an argument's order in memory, which is not C order"
                )
        objects = [leaf for leaf in leaves if isinstance(leaf, _ARRAYS)]
        looks = self.told_apart or self.written.containers
        containers = list(containers_in(_given(arguments))) if looks else []
        if self.told_apart:
            identities = [id(value) for value in (*objects, *containers)]
            if len(set(identities)) < len(identities):
                return "two arguments are one object, and the function compares objects by identity"
            for source in self.others:
                if id(source.read()) in identities:
                    return f"an argument is {source}, and the function compares objects by identity"
        arrays = [_array(source.read()) for source in self.written.arrays]
        pair = overlapping([*arrays, *map(_array, objects)], range(len(arrays))) if arrays else None
        if pair is not None and pair[1] >= len(arrays):
            return f"{self.written.arrays[pair[0]]} is written, and an argument shares memory with it"
        for source in self.written.containers:
            if any(source.read() is container for container in containers):
                return f"{source} is changed, and is an argument as well"
        return ""

    def check(self, arguments: Any, leaves: Sequence[Any]) -> None:
        """Raise AliasedError where a call with `arguments` cannot run as compiled."""
        problem = self.problem(arguments, leaves)
        if problem:
            raise AliasedError(f"{self.label}: {problem}")


def in_order(label: str, apart: NoAlias | None, positions: frozenset[int]) -> NoAlias | None:
    """`apart`, and the arrays at `positions` among the leaves in C order."""
    if not positions:
        return apart
    if apart is None:
        return NoAlias(label, NOTHING, False, (), positions)
    return NoAlias(label, apart.written, apart.told_apart, apart.others, positions)


def no_alias(label: str, uses: Uses, arguments: Any, leaves: Sequence[Any]) -> NoAlias | None:
    """Conditions that calls with arguments like these are checked for; None for most functions."""
    written = outside(list(uses.written.values()))
    written = Outside(
        written.arrays if any(isinstance(leaf, _ARRAYS) for leaf in leaves) else (),
        written.containers if any(True for _ in containers_in(_given(arguments))) else (),
    )
    told_apart = uses.told_apart is not None
    if not written and not told_apart:
        return None
    return NoAlias(label, written, told_apart, list((uses.told_apart or {}).values()))


# -- calls that are not compiled -----------------------------------------------------------------------


def warn_uncompiled(problem: AliasedError, told: dict[Any, Any]) -> None:
    """Say that a call runs as Python because of `problem`, unless that is among what was `told`."""
    if str(problem) in told:
        return
    told[str(problem)] = None
    warnings.warn(
        f"{problem}. Such calls run as Python, and are not compiled; {problem.advice}",
        UncompiledCallWarning,
        stacklevel=user_stacklevel(),
    )


def arrays_in(tree: Any) -> list[Any]:
    """The tensors and arrays in `tree`, each once. Containers may contain themselves."""
    arrays: list[Any] = []
    seen: dict[int, Any] = {}
    waiting = [tree]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, _ARRAYS):
            arrays.append(value)
        else:
            waiting += children_of(value) or ()
    return arrays


def own_results(results: Sequence[Any], before: Sequence[Any], arguments: Any) -> list[Any]:
    """The `results` of a call that ran as Python, as a compiled call gives them: tensors with memory of their
    own, apart from arguments, from one another and from what the function reads outside.

    A new tensor that the call has put into a container among its `arguments`, whose tensors and arrays were
    `before`, is itself the result. Gradients flow through all of them.
    """
    known = {id(value) for value in before}
    put = {id(value) for value in arrays_in(arguments) if isinstance(value, Tensor)} - known
    first: dict[int, int] = {}
    for number, result in enumerate(results):
        if id(result) in put:
            first.setdefault(id(result), number)
    stay = list(first.values())
    memory = [*map(_array, before), *[_array(results[number]) for number in stay]]
    while (pair := overlapping(memory, range(len(before), len(memory)))) is not None:
        later = max(pair)
        del memory[later], stay[later - len(before)]
    kept = set(stay)
    return [result if number in kept else _own(result) for number, result in enumerate(results)]


def _own(value: Any) -> Any:
    """A tensor of `value`, a tensor, array or number, with memory of its own. Python's numbers have the
    dtypes that NumPy gives them, and arrays of a subclass with other operations stay what they are."""
    if isinstance(value, np.ndarray) and not is_like_ndarray(value):
        return value
    return copy(value if isinstance(value, Tensor) else _tensor(value))


def _tensor(value: Any) -> Tensor:
    return wrap(as_array(np.asarray(value)))
