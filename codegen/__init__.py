"""Code generation: compiles Functions to machine code. The only package that knows LLVM; ARCHITECTURE.md
lists its subpackages."""
