"""Count the floating operations and bytes of a training step, by a backend written outside the package.

Shows: ``register_backend``, ``copy_registered_kernels`` and the context manager ``backend``;
counting.py is the backend.
"""

import counting
import numpy as np

import tracejit as tj

counting.register()
rng = np.random.default_rng(0)
x, y = tj.tensor(rng.standard_normal((64, 32))), tj.tensor(rng.standard_normal((64, 8)))
weights = tj.tensor(rng.standard_normal((32, 8)), requires_grad=True)

with tj.backend("counting") as counts:
    loss = ((tj.tanh(x @ weights) - y) ** 2).sum()
    forward = dict(counts.flops)
    loss.backward()
print(counts.report())

assert forward["matmul"] == 2 * 64 * 32 * 8
assert forward["tanh"] == 64 * 8
assert counts.flops["matmul"] == 2 * forward["matmul"]  # x.T @ cotangent costs what x @ weights does
assert counts.bytes["tanh"] == 2 * 64 * 8 * 8

total = sum(counts.flops.values())
tj.tanh(x)
assert sum(counts.flops.values()) == total, "outside of the block NumPy's kernels run as ever"
tj.remove_backend("counting")
print(f"{total} floating operations, {sum(counts.bytes.values())} bytes")
