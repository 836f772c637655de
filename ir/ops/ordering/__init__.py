"""Sorting, binary search, counting and compaction."""
