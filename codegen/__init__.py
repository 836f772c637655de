"""How Functions become machine code. The only package that knows LLVM; ARCHITECTURE.md lists its rooms."""
