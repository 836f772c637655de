"""Backward passes over the tape, and functions with gradients of their own."""
