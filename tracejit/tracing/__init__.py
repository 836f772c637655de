"""Tracing: running Python functions on symbols, which makes IR, with regions for control flow."""
