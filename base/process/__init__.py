"""State that a whole process shares: locks, and the work that ``os.fork`` waits for."""
