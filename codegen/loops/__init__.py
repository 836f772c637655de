"""The loop form: kernels as loops over memory, between fused Functions and LLVM's operations.

`nodes` has the form, `affine` its indices and bounds. `printer` and `parser` are its text, `interpreter` its
meaning over NumPy arrays, `verifier` its law. `passes` are rewrites of it, which a `schedule` lists, and
`emit` writes LLVM's loops.
"""
