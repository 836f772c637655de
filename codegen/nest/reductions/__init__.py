"""Reductions in nests: accumulators, totals with their errors, chunks for threads."""
