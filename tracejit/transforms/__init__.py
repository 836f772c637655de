"""Functions to functions: gradients, products with Jacobians, Jacobians, vmap."""
