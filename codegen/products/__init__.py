"""Matrix products of any size over packed panels: one library per dtype and machine, linked once per process.

The structure is that of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication" (2008):
a micro-kernel keeps a tile of the result in registers and reads two packed panels from end to end. Packing
reads any strides, so a transposed operand costs nothing.
"""
