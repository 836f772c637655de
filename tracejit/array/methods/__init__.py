"""The methods of Tensor: NumPy's and operators (`binding`), and PyTorch's names beside them (`torch`).

``bind()`` attaches them when ``tracejit.array`` is imported.
"""

from .binding import bind

__all__ = ["bind"]
