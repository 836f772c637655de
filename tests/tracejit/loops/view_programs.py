"""Random programs that write arrays through views of them: how the array was made, how the view is taken and
handed on, how it is written, and what stands around it are drawn one by one."""

from __future__ import annotations

import random

#: Arrays of eight numbers or of two rows of four: arguments, copies, and what NumPy makes of numbers alone.
_MADE = (
    "x", "x.copy()", "x * 0.5", "np.zeros(8)", "np.linspace(0.0, 1.75, 8)",
    "np.array([0.5, 1.0, 2.0, 0.25] * 2)", "np.arange(8) * 0.5", "np.full(8, 0.25)",
    "np.ones((2, 4)).reshape(-1)", "np.tile([0.5, 1.5], 4)", "np.concatenate([x[:4], np.zeros(4)])",
    "np.repeat([0.25, 1.0], 4)", "np.zeros_like(x)", "x[::-1]", "np.asarray(x)", "np.array(x)",
    "np.empty(8) * 0.0", "np.array([v * 0.5 for v in range(8)])", "CONSTANT.copy()", "np.sort(x)",
    "np.hstack((x[4:], x[:4]))", "x.astype(float)", "x + CONSTANT", "np.abs(x)", "np.roll(x, 1)",
)  # fmt: skip
_TABLES = (
    "a", "a.copy()", "a + 0.5", "np.zeros((2, 4))", "np.arange(8.0).reshape(2, 4)",
    "np.linspace(0, 1.75, 8).reshape(2, 4)", "np.array([[0.5, 1.0, 2.0, 0.25]] * 2)", "np.ones((4, 2)).T",
    "np.vstack([a[0], np.zeros(4)])", "x.reshape(2, 4)", "np.eye(2, 4)", "np.full((2, 4), 0.5)",
    "a[::-1]", "np.outer([1.0, 0.5], x[:4])", "np.array([x[:4], x[4:]])",
)  # fmt: skip
#: Views of four numbers, of a line `t` and of a table `t`, at the counter `i`.
_OF_LINES = (
    "t[:4]", "t[2:6]", "t[::2]", "t[4:]", "t[::-2]", "t.reshape(2, 4)[i % 2]",
    "t.reshape(4, 2)[:, i % 2]", "t[1:][:4]", "np.ravel(t)[:4]", "np.asarray(t)[4:]", "t[3::-1]",
    "t.reshape(2, 2, 2)[i % 2].reshape(-1)", "np.split(t, 2)[1]", "t[i % 3 : i % 3 + 4]", "half(t)",
    "pick(t, i)", "(t, x)[0][:4]", "[t, x][0][4:]", '{"t": t}["t"][:4]', "t[...][:4]", "t[None, :4][0]",
    "t.view()[:4]", "np.flip(t)[:4]", "box.t[:4]", "t.T[:4]",
)  # fmt: skip
_OF_TABLES = (
    "t[0]", "t[i % 2]", "t[-1]", "t[:, :2].T[0]", "t.T[:, 1]", "t[i % 2, :]", "t[i % 2][:]", "t[::-1][0]",
    "t[1, ::-1]", "np.transpose(t)[:, 0]", "t.reshape(-1)[:4]", "t.ravel()[4:]", "t[i % 2, ...]",
    "list(t)[1]", "half(t[0])", "pick(t, i)[0]", "t.swapaxes(0, 1)[:, i % 2]", "np.atleast_2d(t)[0]",
    "t[None][0][1]", "box.t[1]", "next(iter(t))",
)  # fmt: skip
#: Statements that write the view `u`, which has at least two elements.
_WRITES = (
    "u[k % 2] = v", "u[k % 2] += v", "u[:] = v", "u += v", "u *= 0.5", "u[:2] -= v", "u[...] = v",
    "u[u > 0.5] = v", "np.copyto(u, v)", "np.add.at(u, k % 2, v)", "np.add.at(u, [0, 1, 0], v)",
    "np.put(u, [k % 2], v)", "u.fill(v)", "np.add(u, v, out=u)", "np.multiply(u, 0.5, out=u)",
    "u[[0, 1]] = u[[1, 0]]", "u.sort()", "fill(u, v)", "u[0], u[1] = u[1], v", "w = u\nw[1] = v",
    "w = u[:2]\nw[0] = v", "np.minimum(u, v, u)", "u[-1] = v", "for e in range(2):\n    u[e] = v + e",
    "for e in u[:2]:\n    v += e\nu[0] = v", "u[np.array([1, 0])] += v", "u[::-1][0] = v",
    "np.clip(u, 0.0, v, out=u)", "u[0] = u[1] = v", "part = u[:2]\npart -= v", "np.putmask(u, u < v, v)",
    "u[1:] = u[:-1]", "np.place(u, u > v, [v])", "np.subtract(u, v, u)", "u += 1", "np.add(u, 1, out=u)",
    "np.multiply(t, 0.5, out=t)", "t -= 0.5", "operator.iadd(u, 1)", "operator.setitem(u, 0, v)",
    "q = [u]\nq[0] += 1", "u.__iadd__(1)", "t += v", 'q = {"u": u}\nq["u"] *= 0.5', "np.ndarray.sort(u)",
    "np.add.at(u, [0, 0], 1)", "np.copyto(u, u + 1)", "list.append(items, k)", "items += [k]",
    "operator.iconcat(items, [k])", "box.n += 1", "decay(u)", "(lambda q: np.add(q, 1, out=q))(u)",
)  # fmt: skip
#: Ways in which the view gets its name.
_NAMED = ("u = {}",) * 8 + (
    "u, _ = {}, 1", "[u, _] = [{}, v]", "u = [{}][0]", "u = (lambda q: q)({})", 'u = {{"a": {}}}["a"]',
    "u = next(iter([{}]))", "for u in ({},):\n    pass", "u = keep({}).t", "u = _ = {}",
)  # fmt: skip
_AROUND = (
    "{w}", "if v > 0.5:\n    {w}", "if k % 3:\n    {w}\nelse:\n    {r}",
    "for l in range(3):\n    {w}\n    k += 1", "q = 0\nwhile q < 2 and v > 0.25:\n    {w}\n    q += 1",
    "if v > 0.75:\n    continue\n{w}", "if v > 1.75:\n    break\n{w}", "s += u[0]\n{w}\ns += t.sum()",
    "old = t.copy()\n{w}\ns += old.sum()", "try:\n    {w}\nfinally:\n    s += 0.5",
)  # fmt: skip
_LOOPS = ("for i in range(30):", "for i, v in enumerate(z):", "i = -1\nwhile i < 29:", "for v in z:")
_HELPERS = """import operator

import numpy as np

CONSTANT = np.array([0.25, 0.5, 1.0, 0.0, 0.5, 0.25, 1.5, 2.0])


class Box:
    n = 0


def keep(t):
    box = Box()
    box.t = t
    return box


def decay(r):
    np.multiply(r, 0.5, out=r)


def half(t):
    return t[: len(t) // 2] if len(t) > 4 else t[:]


def pick(t, i):
    if t.ndim > 1:
        return t[i % 2 :]
    r = t[i % 2 :]
    return r[:4]


def fill(r, v):
    for e in range(len(r)):
        r[e] = r[e] * 0.5 + v


"""


def program(seed: int) -> str:
    """A module with ``f(x, a)``, where `x` has eight numbers and `a` two rows of four."""
    rng = random.Random(seed)
    table = rng.random() < 0.5
    views, made = (_OF_TABLES, _TABLES) if table else (_OF_LINES, _MADE)
    view, write = rng.choice(views), rng.choice(_WRITES)
    if rng.random() < 0.3:
        view = f"{view} if {rng.choice(('v > 0.5', 'i % 2 == 0'))} else {rng.choice(views)}"
    named = rng.choice(_NAMED).format(view).split("\n")
    body = [*named]
    for line in rng.choice(_AROUND).split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        text = {"{w}": write, "{r}": rng.choice(_WRITES)}.get(line.strip(), line.strip())
        body += [indent + part for part in text.split("\n")]
    lines = [f"t = {rng.choice(made)}", "box = keep(t)", "items = [0]", "s = 0.0", "k = 0"]
    before = rng.random() < 0.15
    if before:
        lines += ["i, v = 1, 0.5", *named]
        del body[: len(named)]
    loop = rng.choice(
        ("for i in range(30):", "for i, v in enumerate(z):", "i = -1\nwhile i < 29:", "for v in z:")
    )
    lines += loop.split("\n")
    inner = ["i += 1"] if loop.startswith("i =") else ["i = k"] if loop.startswith("for v") else []
    inner += [] if "v in z" in loop or "enumerate" in loop else ["v = z[i]"]
    inner += ["k += 1", *body, f"s += {rng.choice(('v', 't.sum()', 'k'))}"]
    lines += [f"    {line}" for line in inner]
    lines += ["return s, t, x, a, len(items), box.n"]
    text = "\n".join(f"    {line}" for line in lines)
    return f"{_HELPERS}def f(x, a, z):\n{text}\n"
