"""Functions from Functions: reverse and forward mode, and batching, by the rules of the op records."""
