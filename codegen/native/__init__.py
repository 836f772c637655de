"""What speaks CPython's and NumPy's C interfaces, as LLVM text: entries, eager calls, pool, allocator."""
