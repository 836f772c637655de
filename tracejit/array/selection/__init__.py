"""Elements chosen by conditions and indices, written where those say, and sets of elements."""
