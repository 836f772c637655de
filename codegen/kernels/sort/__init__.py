"""Sorting and searching without branches that depend on data.

Elements become unsigned keys of the same order (`ordered_keys`). `strategy` chooses by the length of lines:
many short lines are sorted by a network with one lane per line (`network`), a few by counting ranks
(`ranking`), long ones by partitions of whole vectors (`quicksort`) where the machine packs lanes, else by
radix passes in fixed chunks (`radix`).
"""
