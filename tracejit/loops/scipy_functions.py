"""Functions of SciPy that tracejit has too: its own take the calls with tensors that are traced or require
grad. They are found where code that is rewritten calls them, and where they are handed to a transform or a
control-flow function.
"""

from __future__ import annotations

import functools
import inspect
import sys
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, Final

from ..base.loading import LazyModule, load_module
from ..frontend.libraries.library import OF_SCIPY
from ..pytree import tree_leaves
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from . import maths, variables
else:
    maths = LazyModule(".maths", __package__)
    variables = LazyModule(".variables", __package__)

#: Functions of ``scipy.linalg`` that are those of ``numpy.linalg``, with further options.
_AS_NUMPYS: Final = frozenset(("det", "inv", "norm", "solve", "svdvals"))
#: Options of SciPy's that say nothing about results.
_OF_MEMORY: Final = frozenset(("overwrite_a", "overwrite_b", "check_finite"))


def handed_on(argument: Any) -> Any:
    """`argument`, or what stands in for it where it is a function of ``math``, ``cmath`` or SciPy."""
    if isinstance(argument, functools.partial):
        function = handed_on(argument.func)
        same = function is argument.func
        return argument if same else functools.partial(function, *argument.args, **argument.keywords)
    if isinstance(argument, BuiltinFunctionType):
        return maths.MATH.get(argument, argument)
    module = "" if isinstance(argument, type) else getattr(argument, "__module__", None)
    if isinstance(module, str) and module.startswith(OF_SCIPY):
        return of_scipy(argument, module)
    return argument


def of_scipy(function: Any, module: str) -> Any:
    """A function of SciPy's, of a `module` of its own, by ours of that name for tensors that are traced or
    require grad."""
    package = module.split(".")[1]
    name = getattr(function, "__name__", "")
    public: Any = getattr(sys.modules[f"scipy.{package}"], name, None)
    if public is not function:
        return function
    ours: Any = getattr(load_module(f"..scipy.{package}", __package__), name, None)
    if ours is None and package == "linalg" and name in _AS_NUMPYS:
        ours = _with_options(function, getattr(load_module("..linalg", __package__), name))
    if ours is None:
        return function

    def call(*arguments: Any, **options: Any) -> Any:
        followed = any(map(_is_followed, tree_leaves((arguments, options))))
        chosen: Any = ours if followed else function
        return chosen(*arguments, **options)

    return functools.wraps(function, assigned=("__name__", "__qualname__", "__doc__"))(call)


def _is_followed(value: Any) -> bool:
    return variables.is_traced(value) or (isinstance(value, Tensor) and value._requires_grad)


def _with_options(function: Any, ours: Any) -> Any:
    """`ours` by the arguments of SciPy's `function`, whose first parameters are the same; SciPy's own, which
    asks for values, where another option that is given changes the result."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    same = len(inspect.signature(ours).parameters)

    def call(*arguments: Any, **options: Any) -> Any:
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        for option in parameters[same:]:
            if option.name not in _OF_MEMORY and bound.arguments[option.name] != option.default:
                return function(*arguments, **options)
        return ours(*[bound.arguments[parameter.name] for parameter in parameters[:same]])

    return call
