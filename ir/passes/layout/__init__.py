"""Passes that decide where values lie: borders, joined parts, writes in place."""
