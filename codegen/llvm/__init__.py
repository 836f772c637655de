"""LLVM text and its compiler: a typed writer, structured loops, targets, objects."""
