"""Passes that compute the same with fewer or simpler ops."""
