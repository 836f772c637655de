"""What is known of functions that are not followed: of Python's builtins, and of this library's own."""

from __future__ import annotations

from typing import Any, Final

#: Transforms: what they give calls the function that they are given.
TRANSFORMS: Final = frozenset(
    ("grad", "value_and_grad", "jit", "vmap", "jacfwd", "jacrev", "hessian", "checkpoint", "custom_vjp",
     "custom_jvp", "custom_grad")
)  # fmt: skip
#: Those whose results are tensors, whatever the function gives.
GIVES_TENSORS: Final = frozenset(("grad", "jacfwd", "jacrev", "hessian", "vmap"))
#: Functions whose function arguments get tensors, whatever else they are called with.
CONTROL: Final = frozenset(
    ("scan", "fori_loop", "while_loop", "cond", "switch", "map", "associative_scan", "pure_callback")
)
#: Functions and methods of the library that may give something else than tensors.
GIVES_OTHERS: Final = frozenset(
    ("item", "tolist", "numpy", "dim", "size", "numel", "element_size", "stride", "storage_offset",
     "data_ptr", "get", "keys", "index", "count", "pop", "ndim", "shape", "result_type", "can_cast",
     "iscomplexobj", "isrealobj", "isscalar", "broadcast_shapes", "finfo", "iinfo", "tree_map",
     "tree_leaves", "nelement", "is_floating_point", "num_threads", "default_dtype", "as_dtype",
     "tobytes", "set_default_dtype", "trace", "graph_of", "allclose", "requires_grad_", "register_hook",
     "backward", "named_parameters", "update", "init", "jvp", "vjp", "linearize")
)  # fmt: skip
#: Methods of containers that only look at keys or the length.
STRUCTURAL: Final = frozenset(("keys", "copy", "__len__", "__contains__"))
#: Methods that change a container.
MUTATING: Final = frozenset(
    ("append", "extend", "insert", "remove", "clear", "sort", "reverse", "pop", "popitem", "update",
     "setdefault", "add", "discard", "appendleft", "popleft", "extendleft", "rotate", "__setitem__",
     "__delitem__")
)  # fmt: skip
#: Builtins that only look at types, or at nothing.
TYPE_ONLY: Final = frozenset(
    ("isinstance", "issubclass", "callable", "print", "id", "super", "object", "property")
)

_RANDOM_MODULES: Final = ("numpy.random", "random", "secrets")
_CLOCKS: Final = frozenset(
    ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
     "process_time_ns", "now", "today", "utcnow", "urandom")
)  # fmt: skip


def frozen_source(callee: Any) -> str | None:
    """What messages call `callee` if each call of it gives something else: random numbers, clocks."""
    owner = getattr(callee, "__self__", None)
    name = getattr(callee, "__name__", "")
    module = getattr(callee, "__module__", None) or ""
    for candidate in (module, type(owner).__module__ if owner is not None else ""):
        root = candidate or ""
        if any(
            root == module or root.startswith(f"{module}.") for module in _RANDOM_MODULES
        ) and not isinstance(callee, type):
            label = "np.random" if root.startswith("numpy") else root
            return f"{label}.{name}" if not name.startswith(("seed", "default_rng")) else None
    if name in _CLOCKS and (
        module in ("time", "uuid", "posix", "os") or type(owner).__module__ == "builtins"
    ):
        owner_module = getattr(owner, "__module__", None) if isinstance(owner, type) else module
        if module in ("time", "uuid", "posix", "os") or owner_module == "datetime":
            return f"{owner_module or module}.{name}"
    return None
