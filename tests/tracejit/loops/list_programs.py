"""Random functions whose loops read and change lists, for `test_changed_lists`."""

from __future__ import annotations

import random

#: Statements of a step, with the names of lists that they need: ``a`` of floats, ``b`` of integers, ``c`` of
#: pairs, ``q`` a deque of integers, ``h`` a heap of floats, ``p`` one of pairs.
STATEMENTS = (
    "a.append({float})", "if {test}: a.append({float})", "if a: s += a.pop()", "if len(a) > 2: s -= a.pop(0)",
    "while a and a[-1] > {float}: s += a.pop()", "if a: a[-1] = {float}", "if not a: a.append({float})",
    "if len(a) > 1: a[0], a[-1] = a[-1], a[0]", "a.extend([{float}, v])", "a += [v]", "a.insert(0, {float})",
    "if len(a) > 6: a.clear()", "s += len(a)", "for w in a: s += w", "for j in range(len(a)): s += a[j] * j",
    "if len(a) > 3: a.pop(1)", "if a and a[0] < v: a[0] = v", "s += a[-1] if a else 1.0",
    "if len(a) >= 2 and a[-1] < a[-2]: a.pop()", "a.append(a[-1] * 0.5 if a else v)", "push(a, {float})",
    "s += top(a)", "if {test}: s += sum(a)", "if a: s += max(a)",
    "b.append(i)", "if {test}: b.append(i)", "while b and x[b[-1]] < v: s += b.pop()", "if b: s += x[b[-1]]",
    "if b and b[0] < i - 2: b.pop(0)", "b.append(len(b))", "if len(b) > 1: b[b[-1] % len(b)] = i",
    "for j in range(len(b)): s += x[b[j] % len(x)]", "if b: b[-1] += 1", "if i in b: s += 1",
    "c.append((i, v))", "if {test}: c.append((i, {float}))", "if c: (k, t), s = c.pop(), s + 1; s += t * k",
    "while c and c[-1][1] > v: s += c.pop()[0]", "if c: c[0] = (i, s)", "if len(c) > 4: c.pop(0)",
    "for k, t in c: s += k * t",
    "q.append(i)", "while q and x[q[0]] < v: s += q.popleft()", "if len(q) > 3: q.popleft()",
    "if q: s += x[q[-1]]", "while q and x[q[-1]] <= v: q.pop()", "if q: q.append(q.popleft())",
    "heapq.heappush(h, {float})", "if h: s += heapq.heappop(h)", "if h: s += h[0]",
    "if len(h) > 3: s += heapq.heapreplace(h, {float})", "s += heapq.heappushpop(h, {float})",
    "heapq.heappush(p, ({float}, i))", "if p: t, k = heapq.heappop(p); s += t * k",
)  # fmt: skip
JUMPS = ("if {test}: break", "if {test}: continue", "if len(a) > 9: break", "")
FLOATS = ("v", "v * 0.5", "s * 0.25", "x[i] - v", "1.5", "v + i", "abs(v)")
TESTS = ("v > 0", "v < 0.3", "i % 3 == 1", "s > 1", "len(a) > 2", "x[i - 1] < v", "a and a[-1] < v", "not b")
HEADS = (
    "for i in range(len(x)):\n{pad}v = x[i]", "for i, v in enumerate(x):",
    "i = -1\n    while i < len(x) - 1:\n{pad}i += 1\n{pad}v = x[i]",
    "i = -1\n    while i < len(x) - 1 and len(a) < 12:\n{pad}i += 1\n{pad}v = x[i]",
)  # fmt: skip
RETURNS = ("s", "len(a)", "a", "np.array(b)", "len(q) + len(h)", "sum(a)", "a[-1] if a else s", "b", "c", "h")
STARTS = (("a", "[]", "[x[0]]", "[0.0, 1.0]", "[1]"), ("b", "[]", "[0]"), ("c", "[]", "[(0, 1.0)]"))


def _statements(draw: random.Random, pad: str, depth: int) -> list[str]:
    lines = []
    for _ in range(draw.randint(1, 4)):
        text = draw.choice(STATEMENTS)
        text = text.replace("{float}", draw.choice(FLOATS)).replace("{test}", draw.choice(TESTS))
        lines.append(pad + text)
    if depth and draw.random() < 0.4:
        lines.append(f"{pad}if {draw.choice(TESTS)}:")
        lines += _statements(draw, pad + "    ", depth - 1)
        if draw.random() < 0.5:
            lines.append(f"{pad}else:")
            lines += _statements(draw, pad + "    ", depth - 1)
    if depth and draw.random() < 0.3:
        lines.append(f"{pad}for r in range({draw.choice(('2', '3', 'i % 3'))}):")
        lines += _statements(draw, pad + "    ", depth - 1)
    jump = draw.choice(JUMPS).replace("{test}", draw.choice(TESTS))
    return [*lines, pad + jump] if jump and draw.random() < 0.4 else lines


def program(seed: int) -> str:
    """The source of a function ``f(x)``, and of what it calls."""
    draw = random.Random(seed)
    lines = ["def push(l, v):", "    l.append(v * 2)", "def top(l):", "    return l[-1] if l else 0.5"]
    lines.append("def f(x):")
    lines += [f"    {name} = {draw.choice(starts)}" for name, *starts in STARTS]
    lines += ["    q, h, p = deque(), [], []", "    s = 0.0"]
    for _ in range(draw.choice((1, 1, 2))):
        pad = " " * 8
        lines.append("    " + draw.choice(HEADS).replace("{pad}", pad))
        lines += _statements(draw, pad, 2)
    lines.append(f"    return s, {', '.join(draw.sample(RETURNS, 3))}")
    return "\n".join(lines) + "\n"
