"""Draws of NumPy's generators in compiled code: the numbers that NumPy draws, from the words of a generator's
state.

`bit_generators` makes words of 64 and 32 bits and fractions, `ziggurat` and `distributions` make numbers of
those, and `generators` has the methods that stand in for NumPy's while a function is traced.
"""
