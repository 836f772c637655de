"""Neural network functions on plain tensors: ``tj.nn.softmax``, ``tj.nn.conv2d``, ...

Names and semantics are those of ``torch.nn.functional``, with NumPy's `axis` for PyTorch's `dim`. All are
composed of ops, so each works eagerly, under ``jit`` and with gradients of any order. ``docs/nn.md`` lists
where they differ from PyTorch. Loaded at the first use of ``tj.nn``.
"""

from __future__ import annotations

from ..surface.namespaces import NN as _NN

_NN.attach(globals())
