# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from ..array import (
    tanh as tanh,
)

from .activations import (
    celu as celu,
    elu as elu,
    gelu as gelu,
    hardtanh as hardtanh,
    leaky_relu as leaky_relu,
    log_sigmoid as log_sigmoid,
    log_softmax as log_softmax,
    logsigmoid as logsigmoid,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    sigmoid as sigmoid,
    silu as silu,
    softmax as softmax,
    softplus as softplus,
    swish as swish,
)

from .classification import (
    cross_entropy as cross_entropy,
    nll_loss as nll_loss,
)

from .convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
)

from .dropout import (
    dropout as dropout,
)

from .layers import (
    embedding as embedding,
    linear as linear,
    one_hot as one_hot,
)

from .losses import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
)

from .normalization import (
    layer_norm as layer_norm,
    normalize as normalize,
)

from .pooling import (
    avg_pool2d as avg_pool2d,
    max_pool2d as max_pool2d,
)
