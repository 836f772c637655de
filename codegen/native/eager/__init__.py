"""Small eager operations as native functions.

`inner_loops` checks that operands are small plain Tensors, runs the loop that NumPy's ufunc would run, so
that the bits are NumPy's, and makes the result; it concatenates and stacks, too. `calls` does what a builtin
function of NumPy's does and notes views. What they do not handle goes to the Python function of the op.
`special_loops` are the inner loops of special functions, which NumPy calls.
"""
