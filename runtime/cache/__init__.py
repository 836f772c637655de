"""The compile cache: machine code on disk and in this process.

Entries go by the content of the traced Function and all else that the code depends on (`keys`). Where code is
found, no pass runs and LLVM is not loaded: the object is linked by `runtime.loading.loader`. See
docs/cache.md.
"""
