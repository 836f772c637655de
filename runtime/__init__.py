"""How machine code runs: executables and their tiers, threads, signals, the cache."""
