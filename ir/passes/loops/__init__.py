"""Passes on loops and branches: their carries, invariants, repetitions and stacks."""
