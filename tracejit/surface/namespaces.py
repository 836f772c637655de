"""Names of the public packages, by the modules that define them. Each name of a package stands once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .elementwise import ELEMENTWISE
from .namespace import Namespace
from .reductions import REDUCTIONS
from .rows import Row
from .special import SPECIAL


def names_of(rows: Iterable[Row]) -> str:
    """The names of the functions of `rows`."""
    return " ".join(row.names for row in rows)


#: NumPy's own objects, which do the same for tensors or are about shapes, indices, texts and options.
NUMPYS: Final = """
    base_repr binary_repr bool broadcast_shapes byte double dtype euler_gamma False_ floating
    format_float_positional format_float_scientific generic get_printoptions geterr geterrcall
    half index_exp inexact int_ intc integer intp little_endian long longlong mintypecode
    ndindex number printoptions promote_types s_ set_printoptions seterr seterrcall short
    signedinteger single True_ typecodes typename ubyte uint uintc uintp ulong ulonglong
    unsignedinteger ushort
"""

ARRAY: Final = Namespace("tracejit.array", "", {
    ".elementwise.ufuncs": names_of(ELEMENTWISE),
    ".aggregates.covariance": "corrcoef cov",
    ".aggregates.histograms": "digitize histogram histogram2d histogram_bin_edges histogramdd",
    ".aggregates.nan_aware": """
        nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum
        nanvar
    """,
    ".aggregates.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    ".assembly.bits": "packbits unpackbits",
    ".assembly.blocks": "append block column_stack dstack row_stack",
    ".assembly.grids": "c_ fromfunction indices ix_ mgrid ogrid r_",
    ".assembly.insertion": "delete insert trim_zeros",
    ".assembly.main_diagonals": "diag_indices diag_indices_from fill_diagonal",
    ".assembly.padding": "pad",
    ".assembly.splits": "dsplit hsplit vsplit",
    ".assembly.triangles": """
        mask_indices tril_indices tril_indices_from triu_indices triu_indices_from
    """,
    ".contraction": "dot inner kron matmul outer tensordot vdot vecdot",
    ".creation": "array asarray empty empty_like full full_like ones ones_like zeros zeros_like",
    ".cumulative": "cummax cummin cumprod cumsum",
    ".diagonals": "diag diagflat diagonal eye identity tri tril triu",
    ".einsum": "einsum",
    ".elementwise.float_parts": "frexp ldexp modf",
    ".elementwise.floats": """
        around clip deg2rad degrees divmod fabs fix float_power nan_to_num positive rad2deg
        radians round sinc where
    """,
    ".elementwise.logic": "allclose array_equal isclose isneginf isposinf",
    ".elementwise.powers": "pow power",
    ".indexing.access": "getitem index_add index_update setitem",
    ".indexing.dynamic_slices": "dynamic_slice dynamic_update_slice",
    ".indexing.nonzero": "argwhere nonzero",
    ".indexing.raveled_indices": "ravel_multi_index unravel_index",
    ".indexing.segments": "segment_max segment_min segment_prod segment_sum",
    ".indexing.taking": "take take_along_axis",
    ".information.array_api": "from_dlpack",
    ".information.dtypes": """
        can_cast common_type finfo iinfo isdtype issubdtype min_scalar_type result_type
    """,
    ".information.error_state": "errstate",
    ".information.files": """
        array2string array_repr array_str frombuffer fromfile fromiter fromstring genfromtxt load
        loadtxt save savetxt savez savez_compressed
    """,
    ".information.memory": """
        asanyarray asarray_chkfinite ascontiguousarray asfortranarray may_share_memory require
        shares_memory
    """,
    ".information.shapes": "iscomplexobj isrealobj isscalar iterable ndim shape size",
    ".joining": """
        array_split atleast_1d atleast_2d atleast_3d concat concatenate hstack split stack unstack
        vstack
    """,
    ".manipulation": """
        astype broadcast_arrays broadcast_to copy expand_dims flatten matrix_transpose moveaxis
        permute_dims ravel reshape rollaxis squeeze swapaxes transpose
    """,
    ".methods.torch": "bmm topk",
    ".numerical.applying": "apply_along_axis apply_over_axes vectorize",
    ".numerical.calculus": "cumulative_prod cumulative_sum diff ediff1d gradient trapezoid unwrap",
    ".numerical.convolution": "convolve correlate",
    ".numerical.interpolation": "interp",
    ".numerical.polynomials": """
        poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots vander
    """,
    ".numerical.products": "cross matvec vecmat",
    ".numerical.reals": """
        angle array_equiv conj conjugate imag iscomplex isreal real real_if_close sort_complex
    """,
    ".numerical.windows": "bartlett blackman hamming hanning i0 kaiser",
    ".ordering.counting": "bincount",
    ".ordering.sorting": "argpartition argsort lexsort partition searchsorted sort unique",
    ".ranges": "arange geomspace linspace logspace",
    ".rearranging": "flip fliplr flipud meshgrid repeat resize roll rot90 tile",
    ".reductions": names_of(REDUCTIONS),
    ".selection.choosing": "choose compress extract flatnonzero piecewise select",
    ".selection.placing": "copyto place put put_along_axis putmask",
    ".selection.sets": """
        intersect1d isin setdiff1d setxor1d union1d unique_all unique_counts unique_inverse
        unique_values
    """,
    ".statistics": "average count_nonzero logsumexp ptp std var",
    "numpy": NUMPYS,
})  # fmt: skip

TRACEJIT: Final = Namespace("tracejit", "", {
    ".": "autograd debug emath extend fft linalg nn optim random scipy testing tree",
    ".array": " ".join(name for name, home in ARRAY.homes.items() if home != "numpy"),
    ".array.creation": "tensor",
    ".array.information.array_api": "__array_namespace_info__",
    ".autograd": """
        checkpoint enable_grad graph_of inference_mode is_grad_enabled is_inference_mode_enabled
        no_grad         set_grad_enabled
    """,
    ".base.errors": """
        ArgumentError AttributeValueError AxisError CompileError CompilerWarning
        ConcretizationError DomainError         DTypeError FrozenResultWarning GradientError
        KernelError LinAlgError LostGradientWarning NestingError         NonFiniteError
        OutOfBoundsError ParseError ShapeError TraceError TracejitError UncompiledCallWarning
        UndeterminedGradientWarning UnrolledLoopWarning VerificationError
    """,
    ".base.process.progress": "progress",
    ".callbacks": "pure_callback",
    ".array.constants": """
        __array_api_version__ bool_ complex64 complex128 float16 float32 float64 int8 int16 int32
        int64 ndarray         newaxis uint8 uint16 uint32 uint64
    """,
    ".control.associative": "associative_scan",
    ".control.branches": "cond switch",
    ".control.loops": "fori_loop while_loop",
    ".control.scans": "map scan",
    ".extend": """
        backend copy_registered_kernels get_backend get_gradient get_kernel kernels_for_backend
        ops         register_backend register_gradient register_kernel register_op remove_backend
        run_kernel set_backend         unregister_gradient unregister_kernel unregister_op
    """,
    ".ir.dtypes": "as_dtype default_dtype set_default_dtype",
    ".ir.graph": "Function",
    ".ir.types": "TensorType",
    ".jitted.disabling": "disable_jit",
    ".jitted.jit": "eval_shape jit make_ir trace",
    ".profiling": "memory profile",
    ".pytree": "register_pytree_node tree_leaves tree_map",
    ".runtime.denormals": "flush_denormals",
    ".runtime.threads": "num_threads set_num_threads threads",
    ".tensors.tensor": "Tensor",
    ".transforms.custom.jvp": "custom_jvp",
    ".transforms.custom.vjp": "custom_grad custom_vjp",
    ".transforms.grad": "grad stop_gradient value_and_grad",
    ".transforms.jacobians": "elementwise_grad hessian jacfwd jacobian jacrev",
    ".transforms.raveling": "ravel_pytree",
    ".transforms.vjp_jvp": "hvp jvp linearize vjp",
    ".transforms.vmap": "vmap",
    ".version": "__version__",
    "math": "e inf nan pi",
    "numpy": NUMPYS,
})  # fmt: skip

AUTOGRAD: Final = Namespace("tracejit.autograd", "autograd.", {
    ".": "functional graph",
    "..backward.functions": "FunctionCtx",
    "..tape.modes": """
        enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad
        set_grad_enabled
    """,
    ".anomaly": "detect_anomaly is_anomaly_check_nan_enabled is_anomaly_enabled set_detect_anomaly",
    ".checking": "gradcheck gradgradcheck",
    ".checkpoint": "checkpoint",
    ".function": "Function once_differentiable",
    ".gradcheck_jacobians": "GradcheckError",
    ".passes": "backward grad graph_of",
})  # fmt: skip

EXTEND: Final = Namespace("tracejit.extend", "", {
    ".backends": "Backend backend get_backend register_backend remove_backend set_backend",
    ".calling": "OpCall ops",
    ".definition": "register_op unregister_op",
    ".gradients": "get_gradient register_gradient unregister_gradient",
    ".kernels": """
        copy_registered_kernels kernels_for_backend register_kernel run_kernel unregister_kernel
    """,
    ".tables": "get_kernel Gradient isolated Kernel",
})  # fmt: skip

FFT: Final = Namespace("tracejit.fft", "fft.", {
    ".frequencies": "fftfreq fftshift ifftshift rfftfreq",
    ".lines": "fft hfft ifft ihfft irfft rfft",
    ".several_axes": "fft2 fftn ifft2 ifftn irfft2 irfftn rfft2 rfftn",
})  # fmt: skip

LINALG: Final = Namespace("tracejit.linalg", "linalg.", {
    "..array": "cross",
    "..array.contraction": "matmul outer tensordot vecdot",
    "..array.manipulation": "matrix_transpose",
    "..base.errors": "LinAlgError",
    ".decompositions": "cholesky eig eigh eigvals eigvalsh qr svd svdvals",
    ".determinants": "det slogdet",
    ".diagonals": "diagonal trace",
    ".norms": "cond matrix_norm matrix_rank norm vector_norm",
    ".products": "matrix_power multi_dot",
    ".solutions": "inv lstsq pinv solve tensorinv tensorsolve",
})  # fmt: skip

NN: Final = Namespace("tracejit.nn", "nn.", {
    "..array": "tanh",
    ".activations": """
        celu elu gelu hardtanh leaky_relu log_sigmoid log_softmax logsigmoid relu relu6 selu
        sigmoid silu softmax softplus swish
    """,
    ".classification": "cross_entropy nll_loss",
    ".convolution": "conv1d conv2d",
    ".dropout": "dropout",
    ".layers": "embedding linear one_hot",
    ".losses": "binary_cross_entropy binary_cross_entropy_with_logits huber_loss kl_div l1_loss mse_loss",
    ".normalization": "layer_norm normalize",
    ".pooling": "avg_pool2d max_pool2d",
})  # fmt: skip

OPTIM: Final = Namespace("tracejit.optim", "optim.", {
    ".clipping": "clip_by_global_norm clip_grad_norm_ clip_grad_value_ global_norm",
    ".schedules": """
        constant cosine_decay exponential_decay join linear multistep Schedule step_decay
        warmup_cosine
    """,
    ".stateful": "Adam AdamW ParameterOptimizer SGD",
    ".transforms": "adam adamw Optimizer sgd",
})  # fmt: skip

PROFILING: Final = Namespace("tracejit.profiling", "", {
    ".memory": "memory MemoryInfo",
    ".profiles": "profile Profile",
    ".records": "FunctionProfile KernelRecord NestProfile",
})  # fmt: skip

RANDOM: Final = Namespace("tracejit.random", "random.", {
    ".continuous": """
        ball cauchy double_sided_maxwell generalized_normal logistic lognormal maxwell pareto
        rayleigh triangular wald weibull_min
    """,
    ".counts": "binomial geometric multinomial poisson rademacher",
    ".default": "get_state next_key rand randn seed set_state",
    ".discrete": "bernoulli categorical permutation randint",
    ".distributions": "exponential gumbel laplace normal truncated_normal uniform",
    ".gammas": "beta chisquare dirichlet f gamma loggamma t",
    ".keys": "bits fold_in key split",
    ".choices": "choice",
    ".multivariate": "multivariate_normal orthogonal",
})  # fmt: skip

SCIPY: Final = Namespace("tracejit.scipy", "", {
    ".": "fft linalg signal special",
})  # fmt: skip

SCIPY_FFT: Final = Namespace("tracejit.scipy.fft", "scipy.fft.", {
    "...fft": """
        fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn
        rfft rfft2 rfftfreq rfftn
    """,
    ".real_transforms": "dct dst idct idst",
    ".sizes": "next_fast_len",
})  # fmt: skip

SCIPY_LINALG: Final = Namespace("tracejit.scipy.linalg", "scipy.linalg.", {
    ".exponential": "expm expm_frechet",
    ".factors": "cho_factor cho_solve cholesky lu lu_factor lu_solve solve_triangular",
    ".functions_of_matrices": "logm sqrtm",
    ".indefinite": "ldl",
    ".polar_decomposition": "polar",
    ".schur_forms": "schur",
    ".structured": "block_diag circulant hankel toeplitz",
    ".structured_solutions": "solve_banded solve_toeplitz solveh_banded",
    ".sylvester": "solve_sylvester",
})  # fmt: skip

SCIPY_SIGNAL: Final = Namespace("tracejit.scipy.signal", "scipy.signal.", {
    ".convolutions": "choose_conv_method convolve correlate fftconvolve",
})  # fmt: skip

SCIPY_SPECIAL: Final = Namespace("tracejit.scipy.special", "scipy.special.", {
    ".functions": names_of(SPECIAL),
    ".gamma_functions": "comb factorial loggamma multigammaln polygamma zeta",
    ".lambert_w": "lambertw",
    ".normalizing": "log_softmax logsumexp softmax",
    ".sine_integrals": "sici",
    ".spherical_harmonics": "sph_harm sph_harm_y",
})  # fmt: skip

TESTING: Final = Namespace("tracejit.testing", "testing.", {
    ".checks": "Sample",
    ".ops": "check_op CheckFailure",
})  # fmt: skip
