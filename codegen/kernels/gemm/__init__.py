"""Matrix products: read where they lie where they are small, over packed panels where they are large.

The structure of large ones is that of Goto and van de Geijn, "Anatomy of high-performance matrix
multiplication" (2008): a micro-kernel keeps a tile of the result in registers and reads two packed panels
from end to end. Packing reads any strides, so a transposed operand costs nothing. Its code is one library per
dtype and machine, linked once per process.
"""
