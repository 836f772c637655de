"""Random programs of names for scalars and arrays of rank 0, some of which are written in place."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

#: Expressions of two names, each of which gives a scalar or an array of rank 0 as NumPy has it.
FORMS = (
    "x[0]",
    "x[1, ...]",
    "x.sum()",
    "xp.max(x)",
    "xp.zeros(())",
    "xp.asarray(2.0)",
    "{0}",
    "{0}.copy()",
    "{0} + {1}",
    "xp.squeeze({0})",
    "xp.asarray({0})",
    "xp.reshape({0}, ())",
    "xp.where({0} > 0, {0}, {1})",
    "xp.maximum({0}, {1})",
)


def source(seed: int) -> str:
    """A function of a vector `x`, a scalar `s`, an array `a` of rank 0, and the module `xp` of arrays."""
    rng = random.Random(seed)
    names, lines = ["s", "a"], []
    for _ in range(rng.randint(3, 9)):
        kind = rng.random()
        if kind < 0.55:
            name = rng.choice("pqruv")
            lines.append(f"{name} = {rng.choice(FORMS).format(rng.choice(names), rng.choice(names))}")
            names += [name] * (name not in names)
        elif kind < 0.95:
            lines.append(f"{rng.choice(names)} {rng.choice('+*-')}= {rng.choice(('1.5', 'x[1]', '2.0'))}")
        else:
            lines.append(f"x[{rng.randint(0, 2)}] *= 2.0")
    body = "\n    ".join(lines)
    return f"def program(x, s, a):\n    {body}\n    return ({', '.join(names)},)\n"


def program(text: str, xp: Any) -> Callable[..., Any]:
    """The function that `text` defines, with the arrays of the module `xp`."""
    namespace: dict[str, Any] = {"xp": xp}
    exec(text, namespace)
    return namespace["program"]  # type: ignore[no-any-return]
