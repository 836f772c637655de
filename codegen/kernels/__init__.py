"""Kernels that are no fused loop nest, by family; `lowerings` says which an instruction becomes."""
