"""Lowering of instructions to kernels, as all rooms of codegen see it: records, function writer, exits."""
