"""Reductions with options, reductions that skip NaN, covariances and histograms."""
