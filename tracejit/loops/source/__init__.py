"""The source of functions, rewritten for a trace: bodies of loops and branches become functions, calls ask
what stands in for the function that they call (`rewriting`, `expressions`), jumps become flags (`exits`).
`functions` finds the source and gives the function its rewritten code while it is traced.
"""
