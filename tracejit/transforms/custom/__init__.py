"""Functions whose derivatives the user writes."""
