"""Sinking of large broadcasts (`sunk_broadcasts`): the values that repeat others (`repeated_values`), and the
results of ops on them, a module for each kind of op."""
