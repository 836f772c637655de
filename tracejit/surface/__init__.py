"""The table of public names: where each is defined, and what functions that run one op say of themselves.

A name stands here once. `namespaces` lists names by the modules that define them; `elementwise`, `reductions`
and `special` have a row for each function that only runs an op, from which the function is made. Packages
take their names, ``__all__`` and lazy loading from here (`Namespace.attach`), and ``python -m
tracejit.surface`` writes the stubs that type checkers and editors read.
"""
