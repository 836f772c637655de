"""Machine code in memory: the linker, relocations, the runtime's own objects."""
