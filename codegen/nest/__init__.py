"""Fused loop nests: how they are scheduled, as plain data, and written."""
