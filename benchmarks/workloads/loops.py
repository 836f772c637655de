"""Programs with structured control flow: long loops over small state, and their gradients."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import LOOPLESS, UNROLLED, Function, Workload
from .inputs import generator

State = tuple[Any, ...]


def _lorenz(s: State) -> State:
    x, y, z = s
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z


def _moved(s: State, by: float, k: State) -> State:
    return tuple(component + by * slope for component, slope in zip(s, k, strict=True))


def _runge_kutta(s: State, dt: float) -> State:
    a = _lorenz(s)
    b = _lorenz(_moved(s, dt / 2, a))
    c = _lorenz(_moved(s, dt / 2, b))
    d = _lorenz(_moved(s, dt, c))
    slopes = zip(s, a, b, c, d, strict=True)
    return tuple(u + dt / 6 * (p + 2 * q + 2 * r + t) for u, p, q, r, t in slopes)


def _trajectory(lib: Library, steps: int, dt: float) -> Function:
    """Steps of the classical Runge-Kutta method on the Lorenz system, from three scalars."""

    def run(x: Any, y: Any, z: Any) -> Any:
        return lib.control.scan(lambda s, _: (_runge_kutta(s, dt), None), (x, y, z), None, length=steps)[0]

    return run


def _trajectory_numba(nb: Any, steps: int, dt: float) -> Function:
    @nb.njit
    def slope(x: float, y: float, z: float) -> Any:
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z

    @nb.njit
    def run(x: Any, y: Any, z: Any) -> Any:
        x, y, z = x.item(), y.item(), z.item()
        for _ in range(steps):
            a = slope(x, y, z)
            b = slope(x + dt / 2 * a[0], y + dt / 2 * a[1], z + dt / 2 * a[2])
            c = slope(x + dt / 2 * b[0], y + dt / 2 * b[1], z + dt / 2 * b[2])
            d = slope(x + dt * c[0], y + dt * c[1], z + dt * c[2])
            x += dt / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
            y += dt / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
            z += dt / 6 * (a[2] + 2 * b[2] + 2 * c[2] + d[2])
        return x, y, z

    compiled: Function = run
    return compiled


def _batch(lib: Library, steps: int, dt: float, count: int) -> Function:
    """Steps of the same method as `_trajectory`, on a state in one array, for many initial conditions at
    once."""

    def slope(s: Any) -> Any:
        return lib.np.stack(_lorenz((s[0], s[1], s[2])))

    def step(s: Any, _: None) -> tuple[Any, None]:
        a = slope(s)
        b = slope(s + dt / 2 * a)
        c = slope(s + dt / 2 * b)
        d = slope(s + dt * c)
        return s + dt / 6 * (a + 2 * b + 2 * c + d), None

    assert lib.vmap is not None, f"{lib.name} has no vmap"
    return lib.vmap(lambda s: lib.control.scan(step, s, None, length=steps)[0])


def _batch_squared(lib: Library, steps: int, dt: float, count: int) -> Function:
    run = _batch(lib, steps, dt, count)
    return lambda s: (run(s) ** 2).sum()


def _first_of_trajectory(lib: Library, steps: int, dt: float) -> Function:
    run = _trajectory(lib, steps, dt)
    return lambda x, y, z: run(x, y, z)[0]


def _counting(lib: Library, steps: int) -> Function:
    """A ``while_loop`` of cheap steps."""

    def run(x: Any) -> Any:
        return lib.control.while_loop(
            lambda s: s[0] < steps, lambda s: (s[0] + 1, s[1] * 0.999999 + 0.5), (0, x)
        )[1]

    return run


def _counting_numba(nb: Any, steps: int) -> Function:
    @nb.njit
    def run(x: Any) -> Any:
        i, value = 0, x.item()
        while i < steps:
            i, value = i + 1, value * 0.999999 + 0.5
        return value

    compiled: Function = run
    return compiled


def _neighbours(lib: Library, steps: int, size: int) -> Function:
    """Steps of scalars, each coupled to its neighbours: a carry of many leaves."""

    def step(c: State, _: None) -> tuple[State, None]:
        return tuple(
            c[i] + 0.01 * (lib.np.sin(c[(i + 1) % size]) - c[i - 1] * c[i]) for i in range(size)
        ), None

    def loss(c: State) -> Any:
        last = lib.control.scan(step, c, None, length=steps)[0]
        return sum(last[1:], last[0])

    return loss


def _kalman(lib: Library, count: int) -> Function:
    """A three-state Kalman filter's log-likelihood of observations, by two variances."""
    motion = lib.array(np.array([[1.0, 0.1, 0.005], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]]))
    identity = lib.array(np.eye(3))

    def likelihood(q: Any, r: Any, observations: Any) -> Any:
        def step(carry: State, y: Any) -> tuple[State, Any]:
            m, p = motion @ carry[0], motion @ carry[1] @ motion.T + q * identity
            s = p[0, 0] + r
            k, e = p[:, 0] / s, y - m[0]
            return (m + k * e, p - k[:, None] * p[0][None, :]), -0.5 * (lib.np.log(s) + e * e / s)

        return lib.control.scan(step, (identity[0] * 0.0, identity), observations)[1].sum()

    return likelihood


def _recurrent(lib: Library, steps: int, batch: int, hidden: int) -> Function:
    def loss(w: Any, u: Any, xs: Any) -> Any:
        last = lib.control.scan(lambda h, x: (lib.np.tanh(h @ w + x @ u), None), xs[0] * 0, xs)[0]
        return (last * last).sum()

    return loss


def _vector(lib: Library, steps: int, size: int) -> Function:
    """A state that a matrix moves on."""

    def loss(w: Any, h: Any) -> Any:
        last = lib.control.scan(lambda h, _: (lib.np.tanh(w @ h) + 0.1 * h, None), h, None, length=steps)[0]
        return (last * last).sum()

    return loss


def _lstm(lib: Library, steps: int, batch: int, hidden: int) -> Function:
    """Hochreiter and Schmidhuber's cell with a forget gate; the four gates in one product."""

    def sigmoid(x: Any) -> Any:
        return 0.5 * lib.np.tanh(0.5 * x) + 0.5

    def loss(w: Any, u: Any, xs: Any) -> Any:
        def step(state: State, x: Any) -> tuple[State, None]:
            h, c = state
            gates = h @ w + x @ u
            take, keep, give, new = (gates[:, i * hidden : (i + 1) * hidden] for i in range(4))
            c = sigmoid(keep) * c + sigmoid(take) * lib.np.tanh(new)
            return (sigmoid(give) * lib.np.tanh(c), c), None

        (last, _), _ = lib.control.scan(step, (xs[0] * 0, xs[0] * 0), xs)
        return (last * last).sum()

    return loss


def _sequences(steps: int, batch: int, hidden: int, gates: int) -> tuple[Any, ...]:
    rng = generator()
    shapes = ((hidden, gates * hidden), (hidden, gates * hidden), (steps, batch, hidden))
    w, u, xs = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    return w / 12, u / 12, xs


def _scalars(*values: float) -> tuple[Any, ...]:
    return tuple(np.array(value) for value in values)


def _states(steps: int, dt: float, count: int) -> tuple[Any, ...]:
    return (generator().normal(size=(count, 3)),)


def _network(name: str, text: str, program: Any, gates: int) -> Workload:
    return Workload(
        f"{name}-grad",
        f"value and gradient of {text}, 100 steps, batch 32, 128 units, f32",
        program,
        lambda steps, batch, hidden: _sequences(steps, batch, hidden, gates),
        sizes=(100, 32, 128),
        tiny=(3, 2, 5),
        gradient=(0, 1),
        skip=UNROLLED,
        tolerance=1e-3,
        work=lambda steps, batch, hidden: 5 * 2 * steps * batch * hidden * gates * hidden,
    )


# steps after one another: a different rounding of one grows in the next
WORKLOADS: Final = (
    Workload(
        "lorenz",
        "10,000 Runge-Kutta steps of the Lorenz system, f64",
        _trajectory,
        lambda *_: _scalars(1.0, 1.0, 1.0),
        sizes=(10_000, 1e-4),
        tiny=(5, 1e-3),
        numba=_trajectory_numba,
        skip=LOOPLESS,
        tolerance=1e-8,
    ),
    Workload(
        "lorenz-grad",
        "value and gradient of 1,000 Runge-Kutta steps of the Lorenz system, f64",
        _first_of_trajectory,
        lambda *_: _scalars(1.0, 1.0, 1.0),
        sizes=(1_000, 1e-3),
        tiny=(5, 1e-3),
        gradient=(0, 1, 2),
        skip=LOOPLESS,
        tolerance=1e-8,
        goal=3.0,
        against="jax",
    ),
    Workload(
        "ode-batch",
        "vmap over 1,000 initial conditions of 100 Runge-Kutta steps of a stacked state, f64",
        _batch,
        _states,
        sizes=(100, 1e-3, 1_000),
        tiny=(5, 1e-3, 4),
        skip=LOOPLESS,
        tolerance=1e-8,
    ),
    Workload(
        "ode-batch-grad",
        "value and gradient of the squares of ode-batch, f64",
        _batch_squared,
        _states,
        sizes=(100, 1e-3, 1_000),
        tiny=(5, 1e-3, 4),
        gradient=(0,),
        skip=LOOPLESS,
        tolerance=1e-8,
        goal=3.0,
        against="jax",
    ),
    Workload(
        "while",
        "a while_loop of 4 million cheap steps",
        _counting,
        lambda _: _scalars(1.0),
        sizes=(4_000_000,),
        tiny=(7,),
        numba=_counting_numba,
        skip=LOOPLESS,
        tolerance=1e-9,
    ),
    Workload(
        "scan-60-grad",
        "value and gradient of 600 steps of 60 coupled f64 scalars",
        _neighbours,
        lambda _, size: (tuple(np.array(0.1 + 0.01 * i) for i in range(size)),),
        sizes=(600, 60),
        tiny=(3, 4),
        gradient=(0,),
        skip=LOOPLESS,
        tolerance=1e-8,
        goal=10.0,
        against="jax",
    ),
    Workload(
        "kalman-grad",
        "gradient of a 3-state Kalman filter's likelihood, 1,000 observations, f64",
        _kalman,
        lambda count: (np.array(0.1), np.array(1.0), np.cumsum(generator().normal(size=count))),
        sizes=(1_000,),
        tiny=(5,),
        gradient=(0, 1),
        skip=LOOPLESS,
        tolerance=1e-8,
        goal=3.0,
        against="jax",
    ),
    Workload(
        "vector-grad",
        "value and gradient of 1,000 steps h = tanh(W h) + h / 10 of 100 units, f64",
        _vector,
        lambda _, size: (generator().normal(size=(size, size)) / 11, generator().normal(size=size)),
        sizes=(1_000, 100),
        tiny=(3, 5),
        gradient=(0, 1),
        skip=UNROLLED,
        tolerance=1e-8,
        work=lambda steps, size: 3 * 2 * steps * size * size,
        unit="f64",
    ),
    _network("rnn", "a recurrent network", _recurrent, 1),
    _network("lstm", "an LSTM network", _lstm, 4),
)
