"""The tolerances of a program that was changed, by the worlds that its generator measures with."""

from __future__ import annotations

import numpy as np

from .choices import Choices
from .layouts import copied
from .program import Program
from .worlds import worlds


class Measured(Choices):
    """A program run again in all worlds, its checks left out: a reduced program need not be well-behaved."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.seed)
        self.exact = "exact" in program.features
        self.worlds = worlds(exact=self.exact)
        with np.errstate(all="ignore"):
            for world in self.worlds:
                for argument in program.arguments:
                    array = world.ordered(np.asarray(eval(argument.expression, world.names)))
                    world.names[argument.name] = world.drifted(array)
                    world.arguments[argument.name] = copied(array)
                for capture in program.captures:
                    exec(capture.setup, world.names)
                for statement in program.statements:
                    world.run(statement.text, statement.targets)

    def rebind(self, program: Program) -> None:
        with np.errstate(all="ignore"):
            for world in self.worlds:
                world.restore()
                for capture in program.captures:
                    exec(capture.rebinding, world.names)
                for statement in program.statements:
                    world.run(statement.text, statement.targets)


def measured(program: Program) -> Program:
    """The program with the tolerances that belong to it."""
    worlds = Measured(program)
    tolerances = tuple(worlds.tolerance(name) for name in program.results)
    rebound = None
    if program.rebound_tolerances is not None:
        worlds.rebind(program)
        rebound = tuple(worlds.tolerance(name) for name in program.results)
    return program.with_(tolerances=tolerances, rebound_tolerances=rebound)
