"""Machine code of the runtime's own: C interfaces, the linker, entries, products, the allocator."""
