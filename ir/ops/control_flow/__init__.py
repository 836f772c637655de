"""Control flow ops: their records, and their batching and gradient rules."""
