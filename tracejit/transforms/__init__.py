"""Functions to functions, as in JAX: gradients, products with Jacobians, Jacobians, vmap.

`vmap` traces one example, rewrites its Function for all of them (`ir.transforms.batching`) and replays that
on Tensors, so that the tape and outer traces see ordinary ops. Forward mode is the vjp of the vjp
(`vjp_jvp`); Jacobians map a product over a basis (`jacobians`).
"""
