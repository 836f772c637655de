"""Writing scheduled nests: elements, rows, squares of transposed reads, stores."""
