"""Tensors are matrices to SciPy's functions of sparse matrices, of operators and of graphs, as arrays are.

Every function of these modules is called with arrays and with tensors: those that are new in a version of
SciPy are called, too, or fail for want of an argument in `ARGUMENTS`.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj

scipy = pytest.importorskip("scipy", "1.17")

from scipy import sparse  # noqa: E402
from scipy.sparse.linalg import LinearOperator, aslinearoperator  # noqa: E402

MODULES: Final = ("linalg.interpolative", "sparse", "sparse.csgraph", "sparse.linalg")
SIZE: Final = 20
RNG: Final = np.random.default_rng(5)
MATRIX: Final = np.diag(np.arange(4.0, 4.0 + SIZE)) + 0.1 * RNG.normal(size=(SIZE, SIZE))
POSITIVE: Final = (MATRIX + MATRIX.T) / 2
GRAPH: Final = np.where(RNG.uniform(size=(6, 6)) < 0.6, RNG.integers(1, 9, (6, 6)), 0).astype(float)
RIGHT: Final = RNG.normal(size=SIZE)

#: Arguments of functions, by the names of parameters without a default. Arrays come as tensors, too.
ARGUMENTS: Final[dict[str, Any]] = {
    "A": POSITIVE, "B": np.eye(SIZE), "M": np.eye(SIZE), "X": RNG.normal(size=(SIZE, 3)), "arg1": MATRIX,
    "K": 2, "array": POSITIVE, "axis1": 0, "axis2": 1, "b": RIGHT, "biadjacency": GRAPH,
    "biadjacency_matrix": GRAPH,
    "blocks": [[POSITIVE, None], [None, MATRIX]], "csgraph": GRAPH, "data": MATRIX[:2], "diagonals": [RIGHT],
    "diags": [0, 1], "eps": 1e-6, "eps_or_k": 3, "f": lambda matrix: np.diag(np.exp(np.diag(matrix))),
    "file": None, "graph": GRAPH, "grid_shape": (2, 3), "i_start": 0, "idx": np.arange(SIZE), "k": 3,
    "m": 3, "mats": [POSITIVE, MATRIX], "matrix": POSITIVE, "n": 3, "offsets": 0, "power": 2,
    "predecessors": np.full((6, 6), -9999, np.int32), "proj": np.zeros((SIZE, 0)), "shape": (3, 3),
    "sink": 5, "source": 0, "x": POSITIVE,
}  # fmt: skip
#: Arguments of functions that need others, or more, for their results to be the same at each call.
OWN: Final[dict[str, dict[str, Any]]] = {
    "linalg.interpolative.estimate_rank": {"rng": 3},
    "linalg.interpolative.estimate_spectral_norm": {"rng": 3},
    "linalg.interpolative.estimate_spectral_norm_diff": {"rng": 3},
    "linalg.interpolative.interp_decomp": {"rng": 3},
    "linalg.interpolative.svd": {"rng": 3},
    "sparse.csgraph.csgraph_from_masked": {"graph": np.ma.masked_equal(GRAPH, 0)},
    "sparse.csgraph.csgraph_to_dense": {"csgraph": sparse.csr_array(GRAPH)},
    "sparse.diags": {"diagonals": RIGHT},
    "sparse.diags_array": {"diagonals": RIGHT},
    "sparse.hstack": {"blocks": [POSITIVE, MATRIX]},
    "sparse.linalg.eigs": {"v0": RIGHT},
    "sparse.linalg.eigsh": {"v0": RIGHT},
    "sparse.linalg.svds": {"v0": RIGHT},
    "sparse.vstack": {"blocks": [POSITIVE, MATRIX]},
}
_DRAWS = "draws random numbers"
#: Names that are no functions of matrices.
NO_FUNCTIONS: Final = {
    "sparse.linalg.LinearOperator": "is made of functions: see `callbacks`",
    "sparse.rand": _DRAWS,
    "sparse.random": _DRAWS,
    "sparse.random_array": _DRAWS,
    "linalg.interpolative.id_to_svd": "hands indices to Cython as they are",
}
#: Functions that compute with what they get by operators alone, and so give tensors of tensors.
BY_OPERATORS: Final = ("linalg.interpolative.reconstruct_skel_matrix", "sparse.linalg.matrix_power")


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in MODULES:
        namespace = importlib.import_module(f"scipy.{module}")
        for name in sorted(namespace.__all__):
            value = getattr(namespace, name)
            if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception)):
                yield f"{module}.{name}", value


FUNCTIONS: Final = {name: function for name, function in _functions() if name not in NO_FUNCTIONS}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of formats and deprecated names
        yield


def _arguments(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    arguments = dict(OWN.get(name, {}))
    for parameter in inspect.signature(function).parameters.values():
        required = parameter.default is inspect.Parameter.empty
        if required and parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            arguments.setdefault(parameter.name, ARGUMENTS[parameter.name])
    return arguments


def _as_tensors(value: Any) -> Any:
    if type(value) is np.ndarray:
        return tj.tensor(value)
    return [_as_tensors(item) for item in value] if isinstance(value, list) else value


def outcome(call: Callable[[], Any]) -> Any:
    """The result of `call`, or the error that it raises."""
    np.random.seed(3)  # SciPy estimates norms by random vectors
    try:
        return call()
    except Exception as error:
        return error


def parts(value: Any) -> list[Any]:
    """The arrays, numbers and types in a result."""
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in parts(item)]
    if sparse.issparse(value):
        return [type(value), value.dtype, value.toarray()]
    if isinstance(value, LinearOperator):
        return [type(value), value @ np.ones(value.shape[1])]
    if type(value).__name__ == "SuperLU":
        return [type(value), value.solve(RIGHT)]
    return [value(RIGHT)] if inspect.isbuiltin(value) else [value]


def check_same(result: Any, expected: Any) -> None:
    """Check that what a call with tensors gives is what it gives with arrays, of the same types."""
    if isinstance(expected, Exception):
        assert isinstance(result, type(expected)), result
        return
    if isinstance(result, Exception):
        raise result
    for part, plain in zip(parts(result), parts(expected), strict=True):
        assert type(part) is type(plain)
        if isinstance(plain, (np.ndarray, np.generic, float, complex)):
            assert np.asarray(part).dtype == np.asarray(plain).dtype
            np.testing.assert_allclose(part, plain, rtol=1e-9, atol=1e-12)
        else:
            assert isinstance(plain, (sparse.sparray, sparse.spmatrix)) or part == plain


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_tensors_for_matrices(name: str) -> None:
    arguments = _arguments(name, FUNCTIONS[name])
    tensors = {key: _as_tensors(value) for key, value in arguments.items()}
    expected = outcome(lambda: FUNCTIONS[name](**arguments))
    result = outcome(lambda: FUNCTIONS[name](**tensors))
    if name in BY_OPERATORS:
        assert type(result) is tj.Tensor
        result = result.numpy()
    check_same(result, expected)
    for key, value in arguments.items():
        check_same(_as_arrays(tensors[key]), value)  # none was written


def _as_arrays(value: Any) -> Any:
    if isinstance(value, tj.Tensor):
        return value.numpy()
    return [_as_arrays(item) for item in value] if isinstance(value, list) else value


OPERATORS: Final = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "matmul", "eq", "ne", "lt", "le", "gt", "ge", "iadd", "isub")
}
FORMATS: Final = [
    f"{name}_{kind}"
    for name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
    for kind in ("array", "matrix")
]
#: Arrays of each rank, of the shape of a matrix or a column or row of it, or of none of them.
OPERANDS: Final = {
    "number": np.array(2.0),
    "vector": np.arange(3.0),
    "matrix": RNG.normal(size=(3, 3)),
    "row": np.ones((1, 3)),
    "column": np.ones((3, 1)),
    "other": np.ones((2, 2)),
    "integers": np.arange(9).reshape(3, 3),
    "box": np.ones((2, 3, 3)),
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("operand", OPERANDS)
def test_operators_of_sparse_matrices(kind: str, operand: str) -> None:
    def computed(name: str, other: Any, *, swapped: bool) -> Any:
        matrix = getattr(sparse, kind)(GRAPH[:3, :3])
        pair = (other, matrix) if swapped else (matrix, other)
        return outcome(lambda: OPERATORS[name](*pair))

    array = OPERANDS[operand]
    for name in OPERATORS:
        if name in ("matmul", "mul") and operand == "box" and kind.startswith("coo"):
            continue  # SciPy gives None for an ndarray of a class of its own
        for swapped in (False, True):
            expected = computed(name, array.copy(), swapped=swapped)
            check_same(computed(name, tj.tensor(array), swapped=swapped), expected)


def test_solvers_take_tensors_and_jitted_products() -> None:
    """The matrices of a Krylov method: a tensor, an operator of it, and a jitted product."""
    tensor, right = tj.tensor(POSITIVE), tj.tensor(RIGHT)
    expected = scipy.sparse.linalg.cg(POSITIVE, RIGHT, rtol=1e-10)[0]
    product = tj.jit(lambda x: POSITIVE @ x)
    operator_of_product = LinearOperator(POSITIVE.shape, matvec=product, dtype=np.float64)
    for matrix in (tensor, aslinearoperator(tensor), operator_of_product):
        result, status = scipy.sparse.linalg.cg(matrix, right, rtol=1e-10)
        assert (type(result), status) == (np.ndarray, 0)
        np.testing.assert_allclose(result, expected, rtol=1e-8)
    near = scipy.sparse.linalg.eigsh(tensor, 2, sigma=7.3, return_eigenvectors=False)
    distances = np.sort(np.abs(np.linalg.eigvalsh(POSITIVE) - 7.3))
    np.testing.assert_allclose(np.sort(np.abs(near - 7.3)), distances[:2])


#: Functions of `linalg` that take sparse matrices alone.
OF_SPARSE_ALONE: Final = ("sparse.linalg.inv", "sparse.linalg.norm")


@pytest.mark.parametrize(
    "name",
    [name for name in FUNCTIONS if "linalg" in name and name not in (*BY_OPERATORS, *OF_SPARSE_ALONE)],
)
def test_solvers_of_traced_matrices_name_themselves_and_the_line(name: str) -> None:
    arguments = _arguments(name, FUNCTIONS[name])
    arrays = {key: value for key, value in arguments.items() if type(value) is np.ndarray}
    if not arrays:
        return
    line = inspect.stack()[0].lineno + 1
    jitted = tj.jit(lambda arrays: FUNCTIONS[name](**{**arguments, **arrays}))
    asked, place = (re.escape(text) for text in (f"scipy.{name}(x)", f"{__file__}:{line}."))
    with pytest.raises(tj.ConcretizationError, match=f"^{asked} needs the value of a traced .*, at {place}"):
        jitted(arrays)


def test_what_would_lose_gradients_is_no_matrix() -> None:
    weights = tj.tensor(POSITIVE, requires_grad=True)
    with pytest.raises(TypeError):
        scipy.sparse.linalg.cg(weights, RIGHT)
    assert not sparse.issparse(weights)
    assert not isinstance(tj.tensor(POSITIVE), np.ndarray)  # this code is not SciPy's
    assert tj.tensor(POSITIVE).__class__ is tj.Tensor
