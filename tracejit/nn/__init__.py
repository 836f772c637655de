"""Neural network functions on plain tensors: ``tj.nn.softmax``, ``tj.nn.conv2d``, ...

Names and semantics are those of ``torch.nn.functional``, with NumPy's `axis` for PyTorch's `dim`. All are
composed of ops, so each works eagerly, under ``jit`` and with gradients of any order. ``docs/nn.md`` lists
where they differ from PyTorch. Loaded at the first use of ``tj.nn``.
"""

from __future__ import annotations

from ..arguments.errors import check_public as _check_public
from .activations import (
    celu,
    elu,
    gelu,
    hardtanh,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    logsigmoid,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    swish,
    tanh,
)
from .classification import cross_entropy, nll_loss
from .convolution import conv1d, conv2d
from .dropout import dropout
from .layers import embedding, linear, one_hot
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
)
from .normalization import layer_norm, normalize
from .pooling import avg_pool2d, max_pool2d

__all__ = [
    "avg_pool2d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_sigmoid",
    "log_softmax",
    "logsigmoid",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "swish",
    "tanh",
]

_check_public(globals(), __all__, "nn.")
