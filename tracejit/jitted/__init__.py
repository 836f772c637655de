"""Jitted functions.

`function` traces and compiles for the types of a call; `signatures` says what those are. `captures` makes
inputs and guards of what the function reads outside its arguments. Each way through Python's own branches is
a path (`branches`, `paths`), and paths that settled become one native function (`shared_paths`). `entries`
makes the native entries. `argument_writes` and `container_writes` write back what the function changes.
`explaining`, `recompilation` and `lowered` say what was compiled, why, and how.
"""
