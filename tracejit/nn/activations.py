"""Activations. Each chooses its formula so that neither the value nor the gradient overflows or cancels.

Where a branch of a choice may overflow on elements it does not serve, its operand is replaced there first:
an infinity in the branch not taken would make the gradient 0 times infinity.
"""

from __future__ import annotations

from typing import Any

from ..array.operands import as_tensor, cast, floating, reshaped, run
from ..base.errors import DomainError, DTypeError
from ..ir.dtypes import BOOL, as_dtype, is_real_floating
from ..ir.types import normalize_axis, remove_axes
from ..tensors.tensor import Tensor

# Klambauer et al., Self-Normalizing Neural Networks (2017), equation 14.
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _number(name: str, x: Any) -> Tensor:
    result = as_tensor(x)
    if result.dtype is BOOL:
        raise DTypeError(f"{name}: expected numbers, got bools; convert with x.astype(tj.float32)")
    return result


def relu(x: Any) -> Tensor:
    """The larger of `x` and 0, elementwise, in the dtype of `x`. The slope at 0 is 0.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.relu([-1.0, 2.0])
        tensor([0., 2.])

    Raises DTypeError for bools. Semantics: ``torch.nn.functional.relu``.
    """
    x = _number("relu", x)
    return run("where", run("le", x, 0), 0, x)


def relu6(x: Any) -> Tensor:
    """`x` limited to [0, 6], with slope 0 on both bounds.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.relu6([-1.0, 2.0, 9.0])
        tensor([0., 2., 6.])

    Raises DTypeError for bools. Semantics: ``torch.nn.functional.relu6``.
    """
    return _limited(_number("relu6", x), 0, 6)


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`x` limited to [`min_val`, `max_val`], with slope 0 on both bounds (``tj.clip`` has slope 1 there).

    Example:
        >>> import tracejit as tj
        >>> tj.nn.hardtanh([-3.0, 0.5, 3.0])
        tensor([-1. ,  0.5,  1. ])

    Raises DTypeError for bools, DomainError where `min_val` is above `max_val`.
    Semantics: ``torch.nn.functional.hardtanh``.
    """
    if min_val > max_val:
        raise DomainError(f"hardtanh: min_val must not be above max_val, got {min_val} and {max_val}")
    return _limited(_number("hardtanh", x), min_val, max_val)


def _limited(x: Tensor, low: float, high: float) -> Tensor:
    return run("where", run("le", x, low), low, run("where", run("ge", x, high), high, x))


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Tensor:
    """`x` where positive, else `negative_slope` times `x`. The slope at 0 is `negative_slope`.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.leaky_relu([-1.0, 2.0], 0.1)
        tensor([-0.1,  2. ])

    Semantics: ``torch.nn.functional.leaky_relu``.
    """
    x = floating(x)
    return run("where", run("gt", x, 0.0), x, run("mul", x, negative_slope))


def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """`x` where positive, else alpha (e^x - 1).

    Example:
        >>> import tracejit as tj
        >>> tj.nn.elu([-1.0, 2.0])
        tensor([-0.63212056,  2.        ])

    Semantics: ``torch.nn.functional.elu``.
    """
    x = floating(x)
    positive = run("gt", x, 0.0)
    negative = run("mul", run("expm1", run("where", positive, 0.0, x)), alpha)
    return run("where", positive, x, negative)


def selu(x: Any) -> Tensor:
    """``elu`` with the scale and alpha that keep mean 0 and variance 1 from layer to layer.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.selu([-1.0, 2.0])
        tensor([-1.11133074,  2.10140197])

    Semantics: ``torch.nn.functional.selu``.
    """
    return run("mul", elu(x, _SELU_ALPHA), _SELU_SCALE)


def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """`x` where positive, else alpha (e^(x/alpha) - 1), whose slope is continuous for every alpha.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.celu([-1.0, 2.0], alpha=2.0)
        tensor([-0.78693868,  2.        ])

    Raises DomainError for alpha 0. Semantics: ``torch.nn.functional.celu``.
    """
    if alpha == 0:
        raise DomainError("celu: alpha must not be 0, because x is divided by it")
    x = floating(x)
    positive = run("gt", x, 0.0)
    scaled = run("div", run("where", positive, 0.0, x), alpha)
    return run("where", positive, x, run("mul", run("expm1", scaled), alpha))


def _special(name: str, x: Tensor) -> Tensor:
    """The special function `name` of one operand."""
    return run("special1", x, function=name, orders=(0,))


def sigmoid(x: Any) -> Tensor:
    """1 / (1 + e^-x), with full relative precision on both tails.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.sigmoid([-1000.0, 0.0, 1000.0])
        tensor([0. , 0.5, 1. ])

    Semantics: ``torch.nn.functional.sigmoid``.
    """
    return _special("expit", floating(x))


def silu(x: Any) -> Tensor:
    """x sigmoid(x), also called ``swish``.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.silu([-1.0, 2.0])
        tensor([-0.26894142,  1.76159416])

    Semantics: ``torch.nn.functional.silu``.
    """
    return _special("silu", floating(x))


#: Another name of ``silu``, as in JAX.
swish = silu


def gelu(x: Any, approximate: str = "none") -> Tensor:
    """x times the probability that a standard normal variable is below `x`.

    With `approximate` ``tanh``, the formula 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) of Hendrycks and
    Gimpel. Both keep relative precision for large negative `x`, where 1 + erf(x) and 1 + tanh(x) cancel.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.gelu([-1.0, 2.0])
        tensor([-0.15865525,  1.95449974])

    Raises DomainError for another `approximate`. Semantics: ``torch.nn.functional.gelu``.
    """
    x = floating(x)
    if approximate == "none":
        return run("mul", x, _special("ndtr", x))
    if approximate != "tanh":
        raise DomainError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}")
    return _special("gelu_tanh", x)


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e^(beta x)) / beta, and `x` itself where beta x is above `threshold`.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.softplus([0.0, 500.0])
        tensor([  0.69314718, 500.        ])

    Raises DomainError for beta 0. Semantics: ``torch.nn.functional.softplus``.
    """
    if beta == 0:
        raise DomainError("softplus: beta must not be 0, because the logarithm is divided by it")
    x = floating(x)
    scaled = run("mul", x, beta)
    linear = run("gt", scaled, threshold)
    curved = run("neg", _special("log_expit", run("neg", run("where", linear, 0.0, scaled))))
    return run("where", linear, x, run("div", curved, beta))


def log_sigmoid(x: Any) -> Tensor:
    """log(sigmoid(x)), without overflow. Also under PyTorch's name ``logsigmoid``.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.log_sigmoid([-500.0, 0.0])
        tensor([-500.        ,   -0.69314718])

    Semantics: ``torch.nn.functional.logsigmoid``.
    """
    return _special("log_expit", floating(x))


#: PyTorch's name of ``log_sigmoid``.
logsigmoid = log_sigmoid


def less_maximum(name: str, x: Any, axis: int, dtype: Any) -> tuple[Tensor, tuple[int, ...], bool]:
    """`x` less its largest element along `axis`, that axis, and whether there is none to subtract."""
    x = floating(x) if dtype is None else cast(as_tensor(x), as_dtype(dtype))
    if not is_real_floating(x.dtype):
        raise DTypeError(f"{name}: dtype must be a floating dtype, got {x.dtype.name}")
    if x.ndim == 0:
        x = cast(x, x.dtype, copy=True)
        return run("sub", x, x.detach()), (), False
    axes = (normalize_axis(name, axis, x.ndim),)
    if x.shape[axes[0]] == 0:
        return cast(x, x.dtype, copy=True), axes, True
    # The results do not depend on the shift, so none of it needs a gradient.
    largest = run("max", x.detach(), axes=axes)
    return run("sub", x, reshaped(largest, remove_axes(x.shape, axes, keepdims=True))), axes, False


def softmax(x: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """e^x over its sum along `axis`, for elements of any size; computed in `dtype` if that is given.

    Elements that are -inf get 0. Where all are -inf, or one is +inf, the result is NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.softmax([1000.0, 1000.0, -tj.inf])
        tensor([0.5, 0.5, 0. ])

    Raises AxisError, and DTypeError for a `dtype` that is not floating.
    Semantics: ``torch.nn.functional.softmax``, with the last axis as the default.
    """
    shifted, axes, empty = less_maximum("softmax", x, axis, dtype)
    if empty:
        return shifted
    powers = run("exp", shifted)
    total = run("sum", powers, axes=axes)
    return run("div", powers, reshaped(total, remove_axes(powers.shape, axes, keepdims=True)))


def log_softmax(x: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``, also where that underflows; computed in `dtype` if that is given.

    Elements that are -inf stay -inf. Where all are -inf, or one is +inf, the result is NaN.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.log_softmax([0.0, 10000.0])
        tensor([-10000.,      0.])

    Raises AxisError, and DTypeError for a `dtype` that is not floating.
    Semantics: ``torch.nn.functional.log_softmax``, with the last axis as the default.
    """
    shifted, axes, empty = less_maximum("log_softmax", x, axis, dtype)
    if empty:
        return shifted
    total = run("log", run("sum", run("exp", shifted), axes=axes))
    return run("sub", shifted, reshaped(total, remove_axes(shifted.shape, axes, keepdims=True)))
