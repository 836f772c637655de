"""Sorting and searching: networks, ranks and radix passes, chosen by the length of lines."""
