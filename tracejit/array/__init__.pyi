# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .elementwise.ufuncs import (
    abs as abs,
    absolute as absolute,
    acos as acos,
    acosh as acosh,
    add as add,
    arccos as arccos,
    arccosh as arccosh,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctan2 as arctan2,
    arctanh as arctanh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    bitwise_and as bitwise_and,
    bitwise_count as bitwise_count,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    cbrt as cbrt,
    ceil as ceil,
    copysign as copysign,
    cos as cos,
    cosh as cosh,
    divide as divide,
    equal as equal,
    erf as erf,
    erfc as erfc,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    floor as floor,
    floor_divide as floor_divide,
    fmax as fmax,
    fmin as fmin,
    fmod as fmod,
    gcd as gcd,
    greater as greater,
    greater_equal as greater_equal,
    heaviside as heaviside,
    hypot as hypot,
    invert as invert,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    lcm as lcm,
    left_shift as left_shift,
    less as less,
    less_equal as less_equal,
    log as log,
    log10 as log10,
    log1p as log1p,
    log2 as log2,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    multiply as multiply,
    negative as negative,
    nextafter as nextafter,
    not_equal as not_equal,
    reciprocal as reciprocal,
    remainder as remainder,
    right_shift as right_shift,
    rint as rint,
    rsqrt as rsqrt,
    sign as sign,
    signbit as signbit,
    sin as sin,
    sinh as sinh,
    spacing as spacing,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    true_divide as true_divide,
    trunc as trunc,
)

from .aggregates.covariance import (
    corrcoef as corrcoef,
    cov as cov,
)

from .aggregates.histograms import (
    digitize as digitize,
    histogram as histogram,
    histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)

from .aggregates.nan_aware import (
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmin as nanmin,
    nanprod as nanprod,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)

from .aggregates.quantiles import (
    median as median,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)

from .assembly.bits import (
    packbits as packbits,
    unpackbits as unpackbits,
)

from .assembly.blocks import (
    append as append,
    block as block,
    column_stack as column_stack,
    dstack as dstack,
    row_stack as row_stack,
)

from .assembly.grids import (
    c_ as c_,
    fromfunction as fromfunction,
    indices as indices,
    ix_ as ix_,
    mgrid as mgrid,
    ogrid as ogrid,
    r_ as r_,
)

from .assembly.insertion import (
    delete as delete,
    insert as insert,
    trim_zeros as trim_zeros,
)

from .assembly.main_diagonals import (
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    fill_diagonal as fill_diagonal,
)

from .assembly.padding import (
    pad as pad,
)

from .assembly.splits import (
    dsplit as dsplit,
    hsplit as hsplit,
    vsplit as vsplit,
)

from .assembly.triangles import (
    mask_indices as mask_indices,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
)

from .contraction import (
    dot as dot,
    inner as inner,
    kron as kron,
    matmul as matmul,
    outer as outer,
    tensordot as tensordot,
    vdot as vdot,
    vecdot as vecdot,
)

from .creation import (
    array as array,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    zeros as zeros,
    zeros_like as zeros_like,
)

from .cumulative import (
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
)

from .diagonals import (
    diag as diag,
    diagflat as diagflat,
    diagonal as diagonal,
    eye as eye,
    identity as identity,
    tri as tri,
    tril as tril,
    triu as triu,
)

from .einsum import (
    einsum as einsum,
)

from .elementwise.float_parts import (
    frexp as frexp,
    ldexp as ldexp,
    modf as modf,
)

from .elementwise.floats import (
    around as around,
    clip as clip,
    deg2rad as deg2rad,
    degrees as degrees,
    divmod as divmod,
    fabs as fabs,
    fix as fix,
    float_power as float_power,
    nan_to_num as nan_to_num,
    positive as positive,
    rad2deg as rad2deg,
    radians as radians,
    round as round,
    sinc as sinc,
    where as where,
)

from .elementwise.logic import (
    allclose as allclose,
    array_equal as array_equal,
    isclose as isclose,
    isneginf as isneginf,
    isposinf as isposinf,
)

from .elementwise.powers import (
    pow as pow,
    power as power,
)

from .indexing.access import (
    getitem as getitem,
    index_add as index_add,
    index_update as index_update,
    setitem as setitem,
)

from .indexing.dynamic_slices import (
    dynamic_slice as dynamic_slice,
    dynamic_update_slice as dynamic_update_slice,
)

from .indexing.nonzero import (
    argwhere as argwhere,
    nonzero as nonzero,
)

from .indexing.raveled_indices import (
    ravel_multi_index as ravel_multi_index,
    unravel_index as unravel_index,
)

from .indexing.segments import (
    segment_max as segment_max,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
)

from .indexing.taking import (
    take as take,
    take_along_axis as take_along_axis,
)

from .information.array_api import (
    from_dlpack as from_dlpack,
)

from .information.dtypes import (
    can_cast as can_cast,
    common_type as common_type,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
    issubdtype as issubdtype,
    min_scalar_type as min_scalar_type,
    result_type as result_type,
)

from .information.error_state import (
    errstate as errstate,
)

from .information.files import (
    array2string as array2string,
    array_repr as array_repr,
    array_str as array_str,
    frombuffer as frombuffer,
    fromfile as fromfile,
    fromiter as fromiter,
    fromstring as fromstring,
    genfromtxt as genfromtxt,
    load as load,
    loadtxt as loadtxt,
    save as save,
    savetxt as savetxt,
    savez as savez,
    savez_compressed as savez_compressed,
)

from .information.memory import (
    asanyarray as asanyarray,
    asarray_chkfinite as asarray_chkfinite,
    ascontiguousarray as ascontiguousarray,
    asfortranarray as asfortranarray,
    may_share_memory as may_share_memory,
    require as require,
    shares_memory as shares_memory,
)

from .information.shapes import (
    iscomplexobj as iscomplexobj,
    isrealobj as isrealobj,
    isscalar as isscalar,
    iterable as iterable,
    ndim as ndim,
    shape as shape,
    size as size,
)

from .joining import (
    array_split as array_split,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    concat as concat,
    concatenate as concatenate,
    hstack as hstack,
    split as split,
    stack as stack,
    unstack as unstack,
    vstack as vstack,
)

from .manipulation import (
    astype as astype,
    broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to,
    copy as copy,
    expand_dims as expand_dims,
    flatten as flatten,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    ravel as ravel,
    reshape as reshape,
    rollaxis as rollaxis,
    squeeze as squeeze,
    swapaxes as swapaxes,
    transpose as transpose,
)

from .methods.torch import (
    bmm as bmm,
    topk as topk,
)

from .numerical.applying import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    vectorize as vectorize,
)

from .numerical.calculus import (
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    diff as diff,
    ediff1d as ediff1d,
    gradient as gradient,
    trapezoid as trapezoid,
    unwrap as unwrap,
)

from .numerical.convolution import (
    convolve as convolve,
    correlate as correlate,
)

from .numerical.interpolation import (
    interp as interp,
)

from .numerical.polynomials import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyfit as polyfit,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
    roots as roots,
    vander as vander,
)

from .numerical.products import (
    cross as cross,
    matvec as matvec,
    vecmat as vecmat,
)

from .numerical.reals import (
    angle as angle,
    array_equiv as array_equiv,
    conj as conj,
    conjugate as conjugate,
    imag as imag,
    iscomplex as iscomplex,
    isreal as isreal,
    real as real,
    real_if_close as real_if_close,
    sort_complex as sort_complex,
)

from .numerical.windows import (
    bartlett as bartlett,
    blackman as blackman,
    hamming as hamming,
    hanning as hanning,
    i0 as i0,
    kaiser as kaiser,
)

from .ordering.counting import (
    bincount as bincount,
)

from .ordering.sorting import (
    argpartition as argpartition,
    argsort as argsort,
    lexsort as lexsort,
    partition as partition,
    searchsorted as searchsorted,
    sort as sort,
    unique as unique,
)

from .ranges import (
    arange as arange,
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
)

from .rearranging import (
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    meshgrid as meshgrid,
    repeat as repeat,
    resize as resize,
    roll as roll,
    rot90 as rot90,
    tile as tile,
)

from .reductions import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    sum as sum,
)

from .selection.choosing import (
    choose as choose,
    compress as compress,
    extract as extract,
    flatnonzero as flatnonzero,
    piecewise as piecewise,
    select as select,
)

from .selection.placing import (
    copyto as copyto,
    place as place,
    put as put,
    put_along_axis as put_along_axis,
    putmask as putmask,
)

from .selection.sets import (
    intersect1d as intersect1d,
    isin as isin,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    union1d as union1d,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)

from .statistics import (
    average as average,
    count_nonzero as count_nonzero,
    logsumexp as logsumexp,
    ptp as ptp,
    std as std,
    var as var,
)

from numpy import (
    False_ as False_,
    True_ as True_,
    base_repr as base_repr,
    binary_repr as binary_repr,
    bool as bool,
    broadcast_shapes as broadcast_shapes,
    byte as byte,
    double as double,
    dtype as dtype,
    euler_gamma as euler_gamma,
    floating as floating,
    format_float_positional as format_float_positional,
    format_float_scientific as format_float_scientific,
    generic as generic,
    get_printoptions as get_printoptions,
    geterr as geterr,
    geterrcall as geterrcall,
    half as half,
    index_exp as index_exp,
    inexact as inexact,
    int_ as int_,
    intc as intc,
    integer as integer,
    intp as intp,
    little_endian as little_endian,
    long as long,
    longlong as longlong,
    mintypecode as mintypecode,
    ndindex as ndindex,
    number as number,
    printoptions as printoptions,
    promote_types as promote_types,
    s_ as s_,
    set_printoptions as set_printoptions,
    seterr as seterr,
    seterrcall as seterrcall,
    short as short,
    signedinteger as signedinteger,
    single as single,
    typecodes as typecodes,
    typename as typename,
    ubyte as ubyte,
    uint as uint,
    uintc as uintc,
    uintp as uintp,
    ulong as ulong,
    ulonglong as ulonglong,
    unsignedinteger as unsignedinteger,
    ushort as ushort,
)
