"""Structured control flow of native code: branches, loops, exits, and the cleanup of scopes.

``if_``, ``for_``, ``repeat`` and ``attempt`` are context managers; an `Exit` leads out of an attempt or a
loop. What `defer` notes is written at every way out of its scope::

    with f.attempt() as failed:
        f.defer(release)
        failed.unless(condition)        # releases, and goes on behind the block
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir.records import record
from ..llvm.control_operations import Label, Switch
from ..llvm.emitter import Number, Reg, constant
from ..llvm.function import Declarations, FunctionCode
from ..llvm.loops import FunctionWriter
from ..llvm.operations import Slot


class Exit:
    """A way out of blocks and loops: to a label, after the references of the scopes in between are given
    back."""

    def __init__(self, writer: ControlWriter, label: str, depth: int) -> None:
        self.writer = writer
        self.label = label
        self.depth = depth

    def leave(self) -> None:
        self.writer.leave(self)

    def when(self, condition: Reg) -> None:
        """Leave where `condition` holds."""
        if self.writer.owns_above(self.depth):
            with self.writer.if_(condition):
                self.leave()
        else:
            go_on = self.writer.label("on")
            self.writer.branch_if(condition, self.label, go_on)
            self.writer.start(go_on)

    def unless(self, condition: Reg) -> None:
        self.when(self.writer.not_(condition))


@record(eq=False, frozen=False)
class _Branch:
    """An ``if_`` that is being written."""

    otherwise: str
    joined: str
    has_else: bool = False


class ControlWriter(FunctionWriter):
    """Writes control flow. Where a block has ended, nothing may be written before the next one starts."""

    def __init__(self, name: str, declarations: Declarations) -> None:
        super().__init__(declarations)
        self.name = name
        #: Whether what is written next cannot be reached: the block has ended.
        self.ended = False
        self._reached: set[str] = set()
        #: Functions that write the undoing of the open scopes, by a name that `cancel` takes.
        self._scopes: list[dict[str, Callable[[], None]]] = [{}]
        self._branches: list[_Branch] = []
        self._loops: list[tuple[Exit, Exit]] = []

    def below(self, x: Number, y: Number) -> Reg:
        """Whether `x` is less than `y`, both unsigned."""
        a, b = self._pair(x, y)
        return self.compute("icmp ult", "bool", 1, a, b)

    # -- blocks -------------------------------------------------------------------------------------------

    def branch(self, label: str) -> None:
        self._reached.add(label)
        super().branch(label)
        self.ended = True

    def branch_if(self, condition: Reg, then: str, otherwise: str) -> None:
        self._reached.update((then, otherwise))
        super().branch_if(condition, then, otherwise)
        self.ended = True

    def start(self, label: str) -> None:
        """Begin a block, unless nothing leads there."""
        if not self.ended:
            self.branch(label)
        if label in self._reached:
            super().start(label)
            self.ended = False

    @contextmanager
    def if_(self, condition: Reg) -> Iterator[None]:
        """Write a branch that runs where `condition` holds; after ``else_()``, one that runs where it does
        not."""
        then, branch = self.label("then"), _Branch(self.label("else"), self.label("joined"))
        self.branch_if(condition, then, branch.otherwise)
        self.start(then)
        self._branches.append(branch)
        self._scopes.append({})
        yield
        self._end_scope()
        self._branches.pop()
        self.start(branch.joined if branch.has_else else branch.otherwise)

    def else_(self) -> None:
        """Begin the branch of an ``if_`` that runs where its condition does not hold."""
        branch = self._branches[-1]
        self._end_scope()
        branch.has_else = True
        if not self.ended:
            self.branch(branch.joined)
        self.start(branch.otherwise)
        self._scopes.append({})

    def switch(self, value: Reg, cases: dict[int, Callable[[], None]]) -> None:
        """Run the case of the number that `value` is; nothing where it is none of them."""
        labels = {number: self.label("case") for number in cases}
        done = self.label("done")
        self._reached.update([done, *labels.values()])
        self.operations.append(Switch(value, [*labels.values(), done], list(labels)))
        self.ended = True
        for number, case in cases.items():
            self.start(labels[number])
            with self.scope():
                case()
            if not self.ended:
                self.branch(done)
        self.start(done)

    @contextmanager
    def repeat(self) -> Iterator[None]:
        """A loop without an end, which exits leave."""
        head, done = self.label("loop"), self.label("done")
        self.branch(head)
        self.start(head)
        depth = len(self._scopes)
        self._loops.append((Exit(self, head, depth), Exit(self, done, depth)))
        with self.scope():
            yield
        if not self.ended:
            self.branch(head)
        self._loops.pop()
        self.start(done)

    @contextmanager
    def for_(self, stop: Number, start: Number = 0) -> Iterator[Reg]:
        """A loop over the numbers from `start` on, below `stop`."""
        index = self.fresh("index")
        self.slots.take(Slot(index, "i64", 1, 8))
        self.store(start if isinstance(start, Reg) else constant(start, "i64"), index)
        head, body, step, done = (self.label(name) for name in ("loop", "body", "step", "done"))
        self.branch(head)
        self.start(head)
        current = self.load(index, "i64")
        self.branch_if(self.below(current, stop), body, done)
        self.start(body)
        depth = len(self._scopes)
        self._loops.append((Exit(self, step, depth), Exit(self, done, depth)))
        with self.scope():
            yield current
        self._loops.pop()
        if not self.ended:
            self.branch(step)
        if step in self._reached:
            self.start(step)
            self.store(self.add(current, 1), index)
            self.branch(head)
        self.start(done)

    @property
    def next_turn(self) -> Exit:
        """The way to the next turn of the innermost loop."""
        return self._loops[-1][0]

    @property
    def out_of_loop(self) -> Exit:
        return self._loops[-1][1]

    @contextmanager
    def attempt(self) -> Iterator[Exit]:
        """Statements that an exit may leave, to continue behind them."""
        exit = Exit(self, self.label("behind"), len(self._scopes))
        with self.scope():
            yield exit
        self.start(exit.label)

    def function(self, signature: str, attributes: str = "") -> FunctionCode:
        for operation, following in itertools.pairwise(self.operations):
            assert not operation.ends_block or isinstance(following, Label), (
                f"{self.name}: `{following.line().strip()}` cannot be reached"
            )
        return super().function(signature, attributes)

    # -- scopes -------------------------------------------------------------------------------------------

    def leave(self, exit: Exit) -> None:
        """Go where `exit` leads."""
        self.clean(exit.depth)
        self.branch(exit.label)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Scope at whose end what is owned in it is given back."""
        self._scopes.append({})
        yield
        self._end_scope()

    def defer(self, undo: Callable[[], None], name: str = "") -> str:
        """Have ``undo()`` written wherever the scope is left; the name by which `cancel` knows it."""
        name = name or self.fresh("undo")
        self._scopes[-1][name] = undo
        return name

    def cancel(self, name: str) -> None:
        """Cancel from here on the cleanup that `defer` has noted in this scope."""
        del self._scopes[-1][name]

    def owns_above(self, depth: int) -> bool:
        """Whether leaving the scopes from `depth` on undoes anything."""
        return any(self._scopes[depth:])

    def clean(self, depth: int, kept: str = "") -> None:
        """Write what undoes the scopes from `depth` on, save for what has the name `kept`."""
        for scope in reversed(self._scopes[depth:]):
            for name, undo in reversed(scope.items()):
                if name != kept:
                    undo()

    def _end_scope(self) -> None:
        if not self.ended:
            self.clean(len(self._scopes) - 1)
        self._scopes.pop()
