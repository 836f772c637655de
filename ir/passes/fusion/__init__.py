"""Fusion: grouping of ops into loop nests, with rematerialization where it allows a group."""
