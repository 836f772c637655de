"""Eager tensors.

`dispatch` runs an op's NumPy kernel and records it where an operand requires grad. `views` lets tensors that
share memory know of each other: a write in place is a new value, after which base and views take their places
in the graph anew. In a program that runs a thousand ops, `native_ops` replaces Python functions by native
ones that give the same bits. `live_graph` turns the graph behind a result into a Function.
"""
