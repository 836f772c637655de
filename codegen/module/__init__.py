"""A whole Function as one native module: memory, kernels, and what to do where the compiler fails."""
