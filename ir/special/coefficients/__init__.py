"""Tables of the special functions' polynomials, by family."""
