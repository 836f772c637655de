"""Reads Python functions: which values outside its arguments a function's result depends on.

`reads.read_function` follows the bytecode of a function and of what it calls, without running it
(`execution`, `calls`), and says for each value that the code can reach where it lies (`values`) and how it
is used (`usage`). Tracing makes inputs of the numbers that only enter arithmetic; the rest is guarded
(`guards`).
"""
