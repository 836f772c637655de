"""Execution of machine code: executables and their tiers, threads, signals, the cache."""
