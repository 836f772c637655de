"""Writing scheduled nests as LLVM text.

`nest_writer` writes the loops, with explicit vectors along the last dimension and masked remainders;
`element` writes what one stage does at each element.
"""
