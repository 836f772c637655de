"""Loops as they are written: ``for`` and ``while`` statements of traced functions as loops of the IR.

A function that a trace runs is given code in which each loop's body is a function of its own, and so is each
branch inside it (`source`). When that code runs, `statements` decides: a loop is traced once, with its
variables as carries and a symbolic index (`attempts`), or run step by step as Python does. What cannot be
traced once, for a reason that `reports` keeps, runs step by step.
"""
