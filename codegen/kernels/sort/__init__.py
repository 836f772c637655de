"""Sorting and searching without branches that depend on data.

Elements become unsigned keys of the same order (`rows`). `strategy` chooses by the length of lines:
many short lines are sorted by a network with one lane per line, a few by counting ranks (`network`), long
ones by partitions of whole vectors (`quicksort`) where the machine packs lanes, else by radix passes in fixed
chunks (`radix`).
"""
