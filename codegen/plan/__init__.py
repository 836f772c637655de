"""Memory plan of a Function: buffers, the arena, generated code and recovery from kernels that fail."""
