"""Complex tensors: creation, promotion, views, writes, warnings, derivatives, and docs/complex.md.

Expected gradients are computed by hand: of |z|^2 = a^2 + b^2 JAX's is 2a - 2ib, PyTorch's 2a + 2ib.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import ComplexWarning

import tracejit as tj

from ..support import check_document

Z = np.array([1 + 2j, 3 - 1j, -0.5 + 0.25j])
W = np.array([0.5 - 1j, 2j, -1 + 1j])


def test_document() -> None:
    check_document("complex.md", least=9)


# -- arrays ------------------------------------------------------------------------------------------------


def test_creation_and_text() -> None:
    assert tj.tensor(1j).dtype == tj.complex128
    assert tj.zeros(2, dtype=complex).dtype == tj.complex128
    assert tj.zeros(2, dtype="c64").dtype == tj.complex64
    assert tj.tensor([1, 2j]).tolist() == [1 + 0j, 2j]
    assert tj.full(2, 1 - 1j).tolist() == [1 - 1j] * 2
    assert repr(tj.tensor([1 + 2j])) == "tensor([1.+2.j])"
    assert repr(tj.tensor([1 + 2j], dtype="c64")) == "tensor([1.+2.j], dtype=complex64)"
    assert complex(tj.tensor(1 + 2j)) == 1 + 2j
    assert tj.linspace(0, 1j, 3).tolist() == [0, 0.5j, 1j]
    with pytest.raises(TypeError):
        float(tj.tensor(1j))


def test_default_dtype_decides_what_python_numbers_are() -> None:
    tj.set_default_dtype("f4")
    try:
        assert tj.tensor(1j).dtype == tj.complex64
        assert (tj.ones(3) * 1j).dtype == tj.complex64
    finally:
        tj.set_default_dtype("f8")


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("number", [True, 2, 2.5, 1j])
def test_weak_numbers(dtype: str, number: Any) -> None:
    x = np.ones(2, dtype)
    want = np.multiply(x, number).dtype
    if want != np.float16:
        assert (tj.asarray(x) * number).dtype == want
        assert tj.jit(lambda a: a * number)(x).dtype == want
        assert tj.jit(lambda a, b: a * b)(x, number).dtype == want


def test_python_numbers_are_arguments_and_captures() -> None:
    number = 2 + 1j
    f = tj.jit(lambda z, c: z * c + number)
    for c in (1j, 2j, 1 - 1j):
        assert np.allclose(f(Z, c), Z * c + number)
    assert tj.jit(lambda c: c * c)(1 + 1j).item() == 2j
    assert np.allclose(tj.jit(lambda z: z + W)(Z), Z + W)


def test_parts_are_views() -> None:
    def change(z: Any) -> Any:
        z = z * 1
        z.real[0] = 7.0
        z.imag = z.imag * 2
        z[1:].real[:] = 0.0
        return z

    want = Z.copy()
    want.real[0] = 7.0
    want.imag *= 2
    want[1:].real[:] = 0.0
    assert np.array_equal(change(tj.asarray(Z)).numpy(), want)
    assert np.array_equal(tj.jit(change)(Z).numpy(), want)
    x = tj.asarray(Z.copy())
    assert np.shares_memory(x.real.numpy(), x.numpy())
    assert np.shares_memory(x.imag.numpy(), x.numpy())
    with pytest.raises(tj.DTypeError, match="imag: x is real"):
        tj.ones(2).imag = 1.0


def test_nothing_is_dropped_in_silence() -> None:
    z = tj.asarray(Z)
    with pytest.warns(ComplexWarning):
        assert z.astype(float).tolist() == Z.real.tolist()
    with pytest.warns(ComplexWarning):
        tj.jit(lambda x: x.astype(tj.float32))(z)
    x = tj.zeros(3)
    with pytest.warns(ComplexWarning):
        x[:] = z
    with pytest.raises(tj.DTypeError):
        x[0] = 1j
    with pytest.raises(tj.DTypeError):
        x += z
    assert z.astype(bool).tolist() == [True] * 3
    for refused in (
        lambda: tj.sum(z, dtype=float),
        lambda: tj.floor(z),
        lambda: tj.arctan2(z, z),
        lambda: tj.interp(z, [0.0], [1.0]),
        lambda: tj.quantile(z, 0.5),
        lambda: tj.histogram(z),
        lambda: tj.scipy.special.gammaln(z),
        lambda: tj.scipy.special.erf(z),
        lambda: tj.vjp(tj.real, z)[1](z),
    ):
        with pytest.raises(TypeError) as caught:
            refused()
        assert isinstance(caught.value, tj.TracejitError)


def test_files_pickles_and_dlpack() -> None:
    z = tj.asarray(Z)
    assert np.array_equal(pickle.loads(pickle.dumps(z)).numpy(), Z)
    file = io.BytesIO()
    tj.save(file, z)
    file.seek(0)
    assert np.array_equal(tj.load(file).numpy(), Z)
    assert np.array_equal(np.from_dlpack(z), Z)
    assert np.shares_memory(tj.from_dlpack(z.numpy()).numpy(), Z)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "polynomial": (lambda m, z: z**3 + 2j * z - 1, lambda m, z: z**3 + 2j * z - 1),
    "matrix": (lambda m, z: m @ z, lambda m, z: m @ z),
    "real matrix": (lambda m, z: m.real @ z, lambda m, z: m.real @ z),
    "einsum": (lambda m, z: tj.einsum("ij,j,i->i", m, z, z), lambda m, z: np.einsum("ij,j,i->i", m, z, z)),
    "vdot": (lambda m, z: tj.vdot(m[0], z), lambda m, z: np.vdot(m[0], z)),
    "mean and var": (lambda m, z: tj.var(m, 0) + tj.mean(z), lambda m, z: np.var(m, 0) + np.mean(z)),
    "where": (lambda m, z: tj.where(z.real > 0, z, -z), lambda m, z: np.where(z.real > 0, z, -z)),
    "sort": (lambda m, z: tj.sort(m, axis=1), lambda m, z: np.sort(m, axis=1)),
    "max": (lambda m, z: tj.max(m, 0), lambda m, z: np.max(m, 0)),
    "prod": (lambda m, z: tj.prod(m, 1), lambda m, z: np.prod(m, 1)),
    "cumsum": (lambda m, z: tj.cumsum(m, 1), lambda m, z: np.cumsum(m, 1)),
    "gather": (lambda m, z: m[[2, 0]][:, [1]], lambda m, z: m[[2, 0]][:, [1]]),
    "concatenate": (lambda m, z: tj.concatenate([z, m[1]]), lambda m, z: np.concatenate([z, m[1]])),
    "transposed": (lambda m, z: tj.conj(m.T), lambda m, z: np.conj(m.T)),
}
M = np.outer(Z, W) + np.eye(3)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_agrees_with_numpy_in_every_mode(name: str, dtype: str) -> None:
    ours, numpys = FUNCTIONS[name]
    m, z = M.astype(dtype), Z.astype(dtype)
    want = numpys(m, z)
    rtol = 1e-5 if dtype == "c8" else 1e-12
    batch = np.stack([z, 2 * z])
    for got in (ours(tj.asarray(m), tj.asarray(z)), tj.jit(ours)(m, z)):
        assert got.dtype == want.dtype
        assert np.allclose(got.numpy(), want, rtol=rtol, atol=rtol)
    mapped = tj.vmap(ours, in_axes=(None, 0))(m, batch)
    assert np.allclose(mapped.numpy(), np.stack([numpys(m, row) for row in batch]), rtol=rtol, atol=10 * rtol)


def test_control_flow() -> None:
    def total(c: Any, xs: Any) -> Any:
        return tj.scan(lambda a, x: (a * x + 1j, a.real), c, xs)

    def escape(c: Any) -> Any:
        return tj.while_loop(lambda s: tj.abs(s[0]) < 2, lambda s: (s[0] ** 2 + c, s[1] + 1), (c, 0))

    a, stacked = 1 + 0j, []
    for x in Z:
        stacked.append(a.real)
        a = a * x + 1j
    for run in (total, tj.jit(total)):
        carry, reals = run(tj.asarray(1 + 0j), tj.asarray(Z))
        assert np.allclose(carry, a)
        assert np.allclose(reals, stacked)
    c, z, moved, steps = 0.3 + 0.6j, 0.3 + 0.6j, 0.0, 0
    while abs(z) < 2:  # what rounding moves it by: a step's own four roundings, and twice |z| of those before
        moved = 2 * abs(z) * moved + 4 * np.finfo(float).eps * (abs(z) ** 2 + abs(c))
        z, steps = z**2 + c, steps + 1
    for run in (escape, tj.jit(escape)):
        last, count = run(tj.asarray(c))
        assert count.item() == steps
        assert abs(last.item() - z) <= moved < 1e-11
    pick = tj.jit(lambda p, z: tj.cond(p, lambda z: z * 1j, lambda z: z.conj(), z))
    assert np.allclose(pick(True, Z), Z * 1j)
    assert np.allclose(pick(False, Z), Z.conj())


# -- derivatives -------------------------------------------------------------------------------------------

REAL: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "size": (lambda z: (tj.abs(z) ** 2).sum(), 2 * Z.conj()),
    "absolute": (lambda z: tj.abs(z).sum(), Z.conj() / np.abs(Z)),
    "real part": (lambda z: z.real.sum(), np.ones(3, complex)),
    "imaginary part": (lambda z: z.imag.sum(), np.full(3, -1j)),
    "real part of a product": (lambda z: tj.real(z * W).sum(), W),
    "angle": (lambda z: tj.angle(z).sum(), -1j / Z),
    "conjugate": (lambda z: tj.real(tj.conj(z) * W).sum(), W.conj()),
    "holomorphic inside": (lambda z: tj.exp(z).real.sum(), np.exp(Z)),
    "inner product": (lambda z: tj.vdot(z, z).real, 2 * Z.conj()),
}


@pytest.mark.parametrize("name", REAL)
def test_gradients_of_real_functions(name: str) -> None:
    f, want = REAL[name]
    assert np.allclose(tj.grad(f)(tj.asarray(Z)), want)
    assert np.allclose(tj.jit(tj.grad(f))(Z), want)
    for run in (f, tj.jit(f)):
        z = tj.tensor(Z, requires_grad=True)
        run(z).backward()
        assert z.grad is not None
        assert np.allclose(z.grad, want.conj())
        (slope,) = tj.autograd.grad(run(z), z)
        assert np.allclose(slope, want.conj())


def test_real_leaves_get_real_gradients() -> None:
    x = tj.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * Z).imag.sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == tj.float64
    assert np.allclose(x.grad, Z.imag)
    assert np.allclose(tj.grad(lambda x: (x * Z).imag.sum())(x.detach()), Z.imag)
    assert np.allclose(tj.jit(tj.grad(lambda x: tj.abs(x * Z).sum()))(np.ones(3)), np.abs(Z))


def test_holomorphic_derivatives() -> None:
    z = tj.asarray(Z)
    for transform in (tj.jacrev, tj.jacfwd):
        for run in (transform(tj.sin, holomorphic=True), tj.jit(transform(tj.sin, holomorphic=True))):
            assert np.allclose(run(z), np.diag(np.cos(Z)))
    assert np.allclose(tj.hessian(lambda z: (z**3).sum(), holomorphic=True)(z), np.diag(6 * Z))
    assert np.allclose(tj.grad(lambda z: (z**3).sum(), holomorphic=True)(z), 3 * Z**2)
    with pytest.raises(tj.DTypeError, match="the result must be real"):
        tj.grad(lambda z: z.sum())(z)
    with pytest.raises(tj.DTypeError, match="inputs must be real"):
        tj.jacfwd(tj.abs)(z)
    with pytest.raises(tj.DTypeError, match="results must be real"):
        tj.jacrev(tj.sin)(z)
    with pytest.raises(tj.DTypeError, match="complex results"):
        tj.grad(lambda z: tj.abs(z).sum(), holomorphic=True)(z)


def test_products_with_jacobians() -> None:
    z, t = tj.asarray(Z), tj.asarray(W)
    value, tangent = tj.jvp(lambda z: z * tj.conj(z), (z,), (t,))
    assert np.allclose(value, Z * Z.conj())
    assert np.allclose(tangent, W * Z.conj() + Z * W.conj())
    _, pullback = tj.vjp(lambda z: z * z, z)
    assert np.allclose(pullback(t)[0], 2 * Z * W)
    z = tj.tensor(Z, requires_grad=True)
    (z * z).backward(t)  # PyTorch's: conj(J) ct
    assert z.grad is not None
    assert np.allclose(z.grad, (2 * Z).conj() * W)
    with pytest.raises(tj.GradientError, match="real outputs"):
        z.sum().backward()


def test_hooks_and_functions_see_pytorchs_gradients() -> None:
    class Double(tj.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2j

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * (-2j)  # the conjugate of 2j, as PyTorch has it

    def f(z: Any) -> Any:
        return (Double.apply(z) * W).real.sum()

    for run in (f, tj.jit(f)):
        z = tj.tensor(Z, requires_grad=True)
        run(z).backward()
        assert z.grad is not None
        assert np.allclose(z.grad, (2j * W).conj())
    assert np.allclose(tj.grad(f)(tj.asarray(Z)), 2j * W)
    z, gradients = tj.tensor(Z, requires_grad=True), []
    y = z * 2j
    y.retain_grad()
    y.register_hook(lambda g: gradients.append(g) or g * 1j)
    (y * W).real.sum().backward()
    assert np.allclose(gradients[0], W.conj())
    assert z.grad is not None
    assert np.allclose(z.grad, W.conj() * 1j * -2j)
    assert y.grad is not None
    assert np.allclose(y.grad, W.conj() * 1j)


def test_second_order() -> None:
    z = tj.tensor(Z, requires_grad=True)
    (g,) = tj.autograd.grad((tj.abs(z) ** 4).sum(), z, create_graph=True)
    assert np.allclose(g.detach(), 4 * np.abs(Z) ** 2 * Z)
    (h,) = tj.autograd.grad(tj.abs(g).sum(), z)  # 4 |z|^3
    assert np.allclose(h, 12 * np.abs(Z) * Z)


def test_custom_derivatives_are_without_conjugation() -> None:
    @tj.custom_vjp
    def f(z: Any) -> Any:
        return z * z

    f.defvjp(lambda z: (z * z, z), lambda z, ct: (2 * z * ct,))
    assert np.allclose(tj.grad(lambda z: f(z).real.sum())(tj.asarray(Z)), 2 * Z)
    assert np.allclose(tj.jit(tj.grad(lambda z: f(z).real.sum()))(Z), 2 * Z)


# -- checks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_knows_both_directions(fast: bool) -> None:
    z = tj.tensor(Z, requires_grad=True)
    x = tj.tensor([0.5, 1.0, 2.0], requires_grad=True)
    functions: list[Callable[[Any, Any], Any]] = [
        lambda z, x: z * x + tj.conj(z),
        lambda z, x: tj.abs(z) * x,
        lambda z, x: tj.exp(z * 1j) / x,
    ]
    for f in functions:
        assert tj.autograd.gradcheck(
            f, (z, x), fast_mode=fast, check_forward_ad=True, check_batched_grad=not fast
        )
        assert tj.autograd.gradgradcheck(f, (z, x), fast_mode=fast)

    class Unconjugated(tj.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            return z * 2j

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2j

    assert not tj.autograd.gradcheck(Unconjugated.apply, (z,), fast_mode=fast, raise_exception=False)


def test_check_op_knows_complex_numbers() -> None:
    tj.testing.check_op(lambda z, w: z * w + tj.exp(z).conj(), [(Z, W)])
    with pytest.raises(AssertionError, match="gradient"):
        tj.testing.check_op(tj.custom_grad(lambda z: (z * z, lambda ct: 3 * z * ct)), [(Z,)])


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_normal_numbers(dtype: str) -> None:
    draw = lambda: tj.random.normal(tj.random.key(3), (100_000,), dtype)  # noqa: E731
    z = draw().numpy()
    assert z.dtype == dtype
    assert np.allclose(tj.jit(draw)().numpy(), z, rtol=1e-5)
    assert abs(z.mean()) < 0.02
    assert abs(z.real.var() - 0.5) < 0.01
    assert abs(z.imag.var() - 0.5) < 0.01
    assert abs((z.real * z.imag).mean()) < 0.01
    with pytest.raises(tj.DTypeError, match="expected a floating dtype"):
        tj.random.uniform(tj.random.key(0), (2,), dtype)


def test_direction_of_a_determinant() -> None:
    """The sign that ``slogdet`` gives is a point on the unit circle; its gradient is that of differences."""
    f = lambda m: (tj.linalg.slogdet(m)[0] * (0.3 - 0.7j)).real  # noqa: E731
    want = np.zeros((3, 3), complex)
    for place in np.ndindex(3, 3):
        for direction in (1.0, 1j):
            ends = []
            for step in (1e-6, -1e-6):
                moved = M.copy()
                moved[place] += step * direction
                ends.append((np.linalg.slogdet(moved)[0] * (0.3 - 0.7j)).real)
            want[place] += np.conj(direction) * (ends[0] - ends[1]) / 2e-6
    assert np.allclose(tj.grad(f)(tj.asarray(M)), want, rtol=1e-5, atol=1e-6)
    assert np.allclose(tj.jit(tj.grad(f))(M), want, rtol=1e-5, atol=1e-6)
    assert np.allclose(tj.linalg.slogdet(tj.asarray(M))[0], np.linalg.slogdet(M)[0])
    assert tj.linalg.slogdet(tj.zeros((2, 2), dtype=complex))[0].item() == 0
