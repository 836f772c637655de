"""Jitted functions.

`function` traces and compiles for the types of a call (`signatures`), which walks down a `guard_tree` of
specializations. `captures` makes inputs and guards of what the function reads outside its arguments.
`argument_writes` and `container_writes` write back what the function changes. `explaining`, `recompilation`
and `lowered` say what was compiled, why, and how.
"""
