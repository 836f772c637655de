"""Reductions in nests.

`folding` folds along a row with accumulators side by side. `totals` adds up long sums: blocks of 16 terms,
whose sums are added to totals together with their rounding errors. Folds across rows (gradients of a bias,
sums of losses) are cut into chunks of rows (`cross_row_reductions`), and so are reductions with nothing
parallel outside them (`split`, `partials`); partial results are folded in a fixed order, so that no result
depends on the number of threads. `moments` computes variances of columns in one pass.
"""
