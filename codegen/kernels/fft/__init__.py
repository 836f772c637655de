"""Discrete Fourier transforms.

`fourier` declares the family and chooses a kernel by what `plan` says of the transform. `writer` writes those
that fit in a core's caches, `two_steps` longer ones. `codelets` are transforms of few elements in registers;
`stockham` makes passes over memory of them; `primes` and `chirp` serve sizes with large prime factors.
`memory` reads and writes arrays, `rows` walks over elements, `halves` makes real transforms of complex ones
of half the size.
"""
