"""Guard trees of jitted functions: what is tested of a call, and the specializations it leads to.

`nodes` holds the tree, `specializations` its leaves and how they serve calls. A table of `entries` is a
branch of the tree for machine code. Each way through Python's own branches is a specialization for certain
values, one of `paths`; paths that settled become one native function (`shared_paths`). `report` shows it all.
"""
