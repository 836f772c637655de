"""What a process shares: locks, and what ``os.fork`` waits for."""
