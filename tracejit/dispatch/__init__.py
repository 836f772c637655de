"""Eager ops: their dispatch, and native functions with the same bits for a program that runs a thousand."""
