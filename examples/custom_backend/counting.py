"""A backend that runs NumPy's kernels and counts what they do: operations, and bytes read and written."""

import numpy as np

import tracejit as tj
from tracejit.ir.registry import OPS, Kind


class CountingBackend(tj.extend.Backend):
    """Counts the calls, operations and bytes of each op."""

    def __init__(self):
        self.calls = {}
        self.flops = {}
        self.bytes = {}

    def run_kernel(self, kernel, inputs, attrs):
        """Run the kernel, then add up."""
        result = super().run_kernel(kernel, inputs, attrs)
        name = kernel.name
        arrays = [input_ for input_ in inputs if isinstance(input_, np.ndarray)]
        results = result if isinstance(result, tuple) else (result,)
        self.calls[name] = self.calls.get(name, 0) + 1
        self.flops[name] = self.flops.get(name, 0) + operations(OPS[name].kind, arrays, results)
        moved = sum(np.asarray(array).nbytes for array in (*arrays, *results))
        self.bytes[name] = self.bytes.get(name, 0) + moved * (OPS[name].kind is not Kind.VIEW)
        return result

    def report(self):
        """The counts as a table."""
        lines = [f"{'op':<10} {'calls':>5} {'flops':>10} {'bytes':>10}"]
        for name, calls in self.calls.items():
            lines.append(f"{name:<10} {calls:>5} {self.flops[name]:>10} {self.bytes[name]:>10}")
        return "\n".join(lines)


def operations(kind, inputs, results):
    """Operations of one call: one per element, two per element and product of a matrix product."""
    if kind is Kind.CONTRACTION:
        return 2 * results[0].size * inputs[0].shape[-1]
    if kind is Kind.ELEMENTWISE:
        return sum(np.size(result) for result in results)
    if kind in (Kind.REDUCTION, Kind.CUMULATIVE, Kind.ARG_REDUCTION):
        return inputs[0].size
    return 0  # views and movement


def register(name="counting"):
    """Make the backend known, with every kernel that NumPy has."""
    tj.register_backend(name, CountingBackend)
    tj.copy_registered_kernels("numpy", name)
