"""The method ``with_machine_code`` of jitted functions; what it needs loads when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base.loading import load_module

if TYPE_CHECKING:
    from .carried import CarriedFunction


class Carriable:
    """Mix-in for functions that can be sent with their machine code."""

    __slots__ = ()

    def with_machine_code(self, *specs: Any) -> CarriedFunction:
        """A function that does the same, and whose pickles take along the machine code: of calls so far, and
        for arguments like `specs` (arrays, ``TensorType``s, numbers), for which it is compiled now.

        The first call in another process finds the code if that has the same CPU and versions, and compiles
        otherwise. See docs/sending.md.

        Example:
            >>> import pickle
            >>> import tracejit as tj
            >>> f = tj.jit(tj.square).with_machine_code(tj.ones(3))
            >>> pickle.loads(pickle.dumps(f))(tj.ones(3))
            tensor([1., 1., 1.])

        Raises what compiling raises, and TracejitError where machine code is not kept on disk, from where it
        is taken.
        """
        module: Any = load_module(".carried", __package__)
        carried: CarriedFunction = module.carried(self, specs)
        return carried
