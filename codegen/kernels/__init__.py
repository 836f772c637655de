"""Kernels other than fused loop nests, by family. `lowerings` is the table from an op's kind to its
kernel."""
