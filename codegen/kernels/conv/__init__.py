"""Convolutions: one op with an optional axis of groups, closed under its gradients.

Kernels are packed into panels; images are read from a small slab (`slab`) through a table of offsets, so
that windows are never stored. The tile of the result stays in registers along the sum over channels and
kernel elements; `tiling` decides its size and the blocks around it.
"""
