"""tracejit's benchmarks, side by side with its peers: ``python -m benchmarks`` in the repository's root."""
