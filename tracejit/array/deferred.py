"""Array functions whose modules load when one of them is first used: together they would cost import time.

``tj.<name>`` finds them here. `OF_NUMPY` are NumPy's own objects, which do the same for tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arguments.errors import check_public
from ..base.loading import load_module

if TYPE_CHECKING:
    from .aggregates.covariance import *  # noqa: F403
    from .aggregates.histograms import *  # noqa: F403
    from .aggregates.nan_aware import *  # noqa: F403
    from .aggregates.quantiles import *  # noqa: F403
    from .assembly.bits import *  # noqa: F403
    from .assembly.blocks import *  # noqa: F403
    from .assembly.grids import *  # noqa: F403
    from .assembly.insertion import *  # noqa: F403
    from .assembly.padding import *  # noqa: F403
    from .assembly.triangles import *  # noqa: F403
    from .information.array_api import *  # noqa: F403
    from .information.dtypes import *  # noqa: F403
    from .information.error_state import *  # noqa: F403
    from .information.files import *  # noqa: F403
    from .information.memory import *  # noqa: F403
    from .information.shapes import *  # noqa: F403
    from .numerical.applying import *  # noqa: F403
    from .numerical.calculus import *  # noqa: F403
    from .numerical.convolution import *  # noqa: F403
    from .numerical.interpolation import *  # noqa: F403
    from .numerical.polynomials import *  # noqa: F403
    from .numerical.products import *  # noqa: F403
    from .numerical.reals import *  # noqa: F403
    from .numerical.windows import *  # noqa: F403
    from .selection.choosing import *  # noqa: F403
    from .selection.placing import *  # noqa: F403
    from .selection.sets import *  # noqa: F403

#: Names by the module that defines them.
_NAMES: Final = {
    "aggregates.covariance": "corrcoef cov",
    "aggregates.histograms": "digitize histogram histogram2d histogram_bin_edges histogramdd",
    "aggregates.nan_aware": """
        nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar
    """,
    "aggregates.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "assembly.bits": "packbits unpackbits",
    "assembly.blocks": "append block column_stack dsplit dstack hsplit resize rollaxis row_stack vsplit",
    "assembly.grids": "c_ fromfunction indices ix_ mgrid ogrid r_",
    "assembly.insertion": "delete insert trim_zeros",
    "assembly.padding": "pad",
    "assembly.triangles": """
        diag_indices diag_indices_from diagflat fill_diagonal mask_indices ravel_multi_index tril_indices
        tril_indices_from triu_indices triu_indices_from unravel_index
    """,
    "information.array_api": "from_dlpack",
    "information.dtypes": """
        can_cast common_type finfo iinfo isdtype issubdtype min_scalar_type result_type
    """,
    "information.error_state": "errstate",
    "information.files": """
        array2string array_repr array_str frombuffer fromfile fromiter fromstring genfromtxt load loadtxt
        save savetxt savez savez_compressed
    """,
    "information.memory": """
        asanyarray asarray_chkfinite ascontiguousarray asfortranarray may_share_memory require
        shares_memory
    """,
    "information.shapes": "iscomplexobj isrealobj isscalar iterable ndim shape size",
    "numerical.applying": "apply_along_axis apply_over_axes vectorize",
    "numerical.calculus": "cumulative_prod cumulative_sum ediff1d gradient trapezoid unwrap",
    "numerical.convolution": "convolve correlate",
    "numerical.interpolation": "interp",
    "numerical.polynomials": """
        poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots
        vander
    """,
    "numerical.products": "cross matvec vecmat",
    "numerical.reals": """
        angle array_equiv conj conjugate imag iscomplex isreal real real_if_close sort_complex
    """,
    "numerical.windows": "bartlett blackman hamming hanning i0 kaiser",
    "selection.choosing": "choose compress extract flatnonzero piecewise select",
    "selection.placing": "copyto place put put_along_axis putmask",
    "selection.sets": """
        intersect1d isin setdiff1d setxor1d union1d unique_all unique_counts unique_inverse unique_values
    """,
}
MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}
#: NumPy functions that do not compute with elements of tensors: shapes, indices, texts of numbers, options.
OF_NUMPY: Final = frozenset(
    [
        "base_repr",
        "binary_repr",
        "broadcast_shapes",
        "bool",
        "dtype",
        "format_float_positional",
        "format_float_scientific",
        "geterr",
        "get_printoptions",
        "index_exp",
        "inexact",
        "integer",
        "floating",
        "generic",
        "ndindex",
        "number",
        "printoptions",
        "promote_types",
        "s_",
        "set_printoptions",
        "seterr",
        "signedinteger",
        "typecodes",
        "unsignedinteger",
        "intp",
        "uintp",
        "single",
        "double",
        "half",
        "byte",
        "ubyte",
        "short",
        "ushort",
        "intc",
        "uintc",
        "int_",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "geterrcall",
        "seterrcall",
        "mintypecode",
        "typename",
        "euler_gamma",
        "little_endian",
        "False_",
        "True_",
    ]
)
NAMES: Final = tuple(sorted({*MODULES, *OF_NUMPY}))


def load_function(name: str) -> Any:
    """The function `name`, whose errors name it and its arguments."""
    if name in OF_NUMPY:
        return getattr(np, name)
    function = getattr(load_module(f".{MODULES[name]}", __package__), name)
    if function in _LOADED:  # two names of one function are one object
        return _LOADED[function]
    label = getattr(function, "__name__", name)
    namespace = {"__name__": "tracejit.array", label: function}
    check_public(namespace, [label])
    return _LOADED.setdefault(function, namespace[label])


#: Functions as they are offered, by what their modules define.
_LOADED: Final[dict[Any, Any]] = {}
