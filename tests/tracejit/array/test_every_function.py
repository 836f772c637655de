"""A walk over every public function and method of arrays: jitted code is eager code, gradients are right.

The calls are those that the enumeration of bad input starts from, so that a new function is in this walk as
soon as it is public.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.rotation import share_of
from tests.tracejit.bad_input.valid_calls import Call, public_calls

#: Functions without a comparable result: memory that is not written, transforms and control flow, whose own
#: tests have it, and functions that read or write files.
_LEFT_OUT = frozenset((
    "empty", "empty_like", "checkpoint", "cond", "scan", "while_loop", "fori_loop", "map", "switch",
    "associative_scan", "grad", "value_and_grad", "vjp", "jvp", "hvp", "linearize", "jacfwd", "jacrev",
    "jacobian", "hessian", "elementwise_grad", "vmap", "jit", "trace", "make_ir", "eval_shape",
    "custom_vjp", "custom_jvp", "custom_grad", "pure_callback", "ravel_pytree", "fromfunction",
    "vectorize", "piecewise", "apply_along_axis", "apply_over_axes", "graph_of",
))  # fmt: skip
#: Methods about the graph itself.
_OF_THE_GRAPH = frozenset((
    "backward", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad",
    "zero_grad",
))  # fmt: skip
#: Steps from one float to the next, and rows without a gradient: no slope that differences would show.
_WITHOUT_SLOPE = frozenset(["nextafter", "spacing", "nn.embedding"])
#: Offsets for arguments that have to be larger than 1.
_SHIFTS = {"acosh": 1.0, "arccosh": 1.0}


def _is_real_floatinging(value: Any) -> bool:
    return isinstance(value, (np.ndarray, tj.Tensor)) and value.dtype.kind == "f"


def _calls() -> list[Call]:
    calls = [call for call in public_calls() if call.name.partition(".")[0] in (call.name, "nn", "Tensor")]
    return [
        call
        for call in calls
        if call.name not in _LEFT_OUT
        and not call.name.startswith("Tensor._")
        and call.name.removeprefix("Tensor.") not in _OF_THE_GRAPH
        and any(_is_real_floatinging(value) for value in call.arguments().values())
    ]


def _function(call: Call) -> tuple[Callable[..., Any], list[Any]]:
    """A function of the floating arrays of `call`, and those, made different from one another."""
    arguments = call.arguments()
    names = [name for name, value in arguments.items() if _is_real_floatinging(value)]
    rng = np.random.default_rng(len(call.name))
    shift = _SHIFTS.get(call.name, 0.0)
    arrays = [
        np.asarray(arguments[name]) + shift + rng.uniform(0.001, 0.01, np.shape(arguments[name]))
        for name in names
    ]

    def function(*values: Any) -> Any:
        fresh = call.arguments()
        fresh.update(zip(names, [value * 1.0 for value in values], strict=True))  # that may be written
        if "requires_grad" in fresh:
            fresh["requires_grad"] = False
        result = call.call_public(fresh)
        return list(result) if isinstance(result, tuple) else result

    return function, arrays


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", share_of(_calls(), 2), ids=lambda call: call.name)
def test_jitted_and_gradients(call: Call) -> None:
    function, arrays = _function(call)
    tensors = [tj.tensor(array) for array in arrays]

    def tensors_of(*values: Any) -> list[Any]:
        return [leaf for leaf in tj.tree_leaves(function(*values)) if isinstance(leaf, tj.Tensor)]

    eager = tensors_of(*tensors)
    if not eager:
        pytest.skip("no tensors")
    try:
        jitted = tj.jit(tensors_of)(*tensors)
    except (tj.ConcretizationError, tj.TraceError) as error:
        pytest.skip(f"eager only: {error}")
    for actual, expected in zip(jitted, eager, strict=True):
        np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-12, atol=1e-14)
    leaves = tuple(tj.tensor(array, requires_grad=True) for array in arrays)
    results = [leaf for leaf in tensors_of(*leaves) if leaf.requires_grad]
    if not results or call.name in _WITHOUT_SLOPE:
        return

    def scalar(*values: Any) -> Any:
        floating = [leaf for leaf in tensors_of(*values) if leaf.dtype.kind == "f"]
        return sum((tj.sum(tj.sin(leaf + 0.1)) for leaf in floating), tj.tensor(0.0))

    double = all(leaf.dtype == np.float64 for leaf in results)
    if double and all(np.isfinite(leaf.detach().numpy()).all() for leaf in results):
        assert tj.autograd.gradcheck(scalar, leaves)
        assert tj.autograd.gradgradcheck(scalar, leaves)
    numbers = tuple(range(len(arrays)))
    expected_gradients = tj.grad(scalar, numbers)(*tensors)
    for actual, expected in zip(tj.jit(tj.grad(scalar, numbers))(*tensors), expected_gradients, strict=True):
        np.testing.assert_allclose(
            actual.numpy(), expected.numpy(), rtol=1e-9 if double else 1e-6, atol=1e-12
        )
