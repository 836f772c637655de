"""Fused loop nests: their scheduling, their form as plain data, and their code.

`fusions` gives each fusion instruction one nest. `schedule` makes it: loop dimensions, members (each with a
level, element or row, and a *stage*, which is a pass over a row), leaves (strided reads) and writes.
`loop_nest` has the records, which ``--stage loops`` prints. `row_blocks` works on several short rows at a
time, so that what there is one of for each row is vector code. `divisors` inverts what divides a whole row or
column once (decision 0014). `window` reads a value among zeros of which only the inside lies in memory.
`overwriting` says which results may take over the memory of which operands, and `streaming` which are so
large that they are stored past the cache. `maps` and `reductions` make kernels of the loop form of them.
"""
