"""Texts of the functions that random programs call; each has a number for its name."""

from __future__ import annotations

#: Functions of two numbers.
SCALAR = (
    """def clip{0}(v, z):
    if v > 2.0:
        return 2.0
    elif v < z:
        return z
    return v
""",
    """def halves{0}(v, z):
    for q in range(4):
        if v < z:
            return v
        v = v * 0.5
        if v == 0.0:
            break
    else:
        return v + 8.0
    return z
""",
    """def steps{0}(v, z):
    q = 0.0
    while q < 5.0:
        q += 1.0
        if q > v:
            continue
        if q == 3.0:
            return q + z
    return q
""",
    """def scaled{0}(v, z=1.0, by=0.5, *, at=0.25):
    if z > v:
        return v * by
    return v * by + at
""",
    """def gathered{0}(*v, **named):
    q = 0.0
    for e in v:
        if e > 1.0:
            continue
        q += e * named.get("by", 0.5)
    return q
""",
    """def down{0}(v, z, q=3):
    if q <= 0:
        return v
    return down{0}(max(v * 0.5, z), z, q - 1)
""",
    """def nested{0}(v, z):
    for q in range(3):
        for e in range(2):
            if v > z + e:
                return v
            if v < -2.0:
                break
        else:
            v = v + 0.5
            continue
        return z
    return v
""",
    """def until{0}(v, z):
    if z <= 0.0:
        return v
    q = 0.0
    while q * z < 3.0:
        q += 1.0
    return q
""",
    """def until_else{0}(v, z):
    if v > 0.0:
        q = v
        while q < 4.0:
            q += v
    else:
        return z
    return q
""",
)
#: Functions of two numbers that raise; only programs with a handler, or that may end so, call them.
RAISING = (
    """def demand{0}(v, z):
    if v > 1.5:
        raise ValueError("too large")
    return v + 0.5
""",
    """def found{0}(v, z):
    for q in range(4):
        if v + q > z:
            return v + q
    raise ValueError("not there")
""",
    """def guarded{0}(v, z):
    if z <= 0.0:
        raise ValueError("no end")
    q = 0.0
    while q * z < 2.0:
        q += 0.5
    return q + v
""",
)
#: Functions that write an array of rank 1.
FILLING = (
    """def fill{0}(r, v):
    for q in range(len(r)):
        r[q] = v * 0.5 + q
""",
    """def shift{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            r[q] -= 1.0
            continue
        if q == 2:
            return
        r[q] = r[q] + 0.5
""",
    """def double{0}(r, v):
    r *= 2.0
    r[0] = v
""",
    """def first{0}(r, v):
    r[:2] = v
""",
    """def bounded{0}(r, v):
    for q in range(len(r)):
        r[q] = max(min(r[q], 4.0), v)
""",
    """def reverse{0}(r, v):
    q = 0
    e = len(r) - 1
    while q < e:
        r[q], r[e] = r[e], r[q]
        q += 1
        e -= 1
""",
    """def sift{0}(r, v=0.0, *rest):
    for q in range(1, len(r)):
        e = r[q]
        j = q - 1
        while j >= 0 and r[j] > e:
            r[j + 1] = r[j]
            j -= 1
        r[j + 1] = e
""",
    """def pair{0}(r, v):
    t = (r[:1], r[1:])
    t[0][0] = v
    for q in range(len(t[1])):
        t[1][q] -= 0.5
""",
    """def ends{0}(r, v):
    for e in (r[:1], r[-1:]):
        e += v
        if v > 1.0:
            break
    else:
        r[0] = 0.25
""",
)
#: Functions that write an array of rank 2.
MATRICES = (
    """def spread{0}(c, v):
    for q in range(c.shape[0]):
        for e in range(c.shape[1]):
            if c[q, e] > v:
                continue
            c[q][e] = v * 0.5 + q - e
""",
    """def swept{0}(c, v):
    for r in c:
        for q in range(1, len(r)):
            r[q] = r[q - 1] * 0.5 + v
            if r[q] > 2.0:
                return
""",
    """def turned{0}(c, v):
    for q in range(len(c.T)):
        r = c[:, q]
        if r[0] > v:
            r[:] = r[::-1]
        else:
            r[1:] += 0.5
""",
    """def crossed{0}(c, v):
    q = 0
    while q < min(c.shape):
        c[q], c[:, q] = v, 0.5
        q += 1
""",
)
#: Functions of an array of rank 1 and a number that give a number.
SEARCHING = (
    """def above{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            return q
    return len(r)
""",
    """def total{0}(r, v):
    q = 0.0
    for e in r:
        if e < v:
            continue
        q += e
    return q
""",
    """def least{0}(r, v):
    best = r[0]
    for q in range(1, len(r)):
        if r[q] < best:
            best = r[q]
    return min(best, v)
""",
    """def place_of{0}(r, v):
    best, where = r[0], 0
    for q, e in enumerate(r):
        if e > best:
            best, where = e, q
    return where
""",
    """def run{0}(r, v):
    most = count = 0
    for q, e in zip(range(len(r)), r):
        count = count + 1 if e > v else 0
        most = max(most, count)
        if most > 2 or q > 4:
            break
    else:
        return -most
    return most
""",
)
#: Functions that write, and give a bool: for `and` and `or`.
TOUCHING = (
    """def touch{0}(r, v):
    r[0] = v
    return v > 0.5
""",
    """def lower{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            r[q] = v
            return True
    return False
""",
)
#: Functions of an array of rank 1 and a number that give the array, a view of it or a new one, of its length;
#: those called tail, of one element less.
CHOOSING = (
    """def reached{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            return r
    return r * 0.5
""",
    """def tail{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            return r[1:]
    return r[:-1]
""",
    """def turning{0}(r, v):
    e = r
    q = 0
    while q < 3:
        if r[q % len(r)] > v:
            e = e[::-1]
            break
        q += 1
    return e
""",
    """def damped{0}(r, v):
    e = r
    while e[0] > v and e[0] > 0.25:
        e = e * 0.5
    return e
""",
    """def latest{0}(r, v):
    e = last = r
    for q in range(int(abs(v)) % 3):
        last = e
        e = e * 0.5
    return last
""",
    """def larger{0}(r, v):
    e = r
    for q in range(len(r)):
        e = r if r[q] > v else e * 0.5
    return e
""",
    """def either{0}(r, v):
    e = (r, r * 0.5)
    for q in range(len(r)):
        if r[q] < v:
            e = (e[1], e[0])
        if r[q] == 0.0:
            break
    else:
        return e[1]
    return e[0]
""",
    """def collected{0}(r, v):
    e = []
    for q in range(3):
        e.append(r[::-1] if v > 0.5 else r)
    return e[-1]
""",
    """def stored{0}(r, v):
    d = {{"r": r * 0.5, "s": v}}
    for q in range(2):
        if r[q % len(r)] > v:
            d = {{"r": r, "s": d["s"] * 0.5}}
    return d["r"]
""",
    """def lowered{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            return r
        r[q] = v
    return r
""",
    """def deep{0}(r, v):
    for q in range(2):
        for e in range(len(r)):
            if r[e] > v + q:
                return r[::-1]
        else:
            if q and v > 0.0:
                return r
    return r.copy()
""",
    """def twins{0}(r, v):
    for q in range(3):
        e = r * 0.5 + q
        c = (e, e[::-1])
        if e[0] > v:
            break
    c[0][0] = v
    return c[1]
""",
    """def named{0}(r, v):
    q = 0
    while (e := r if r[q] > v else r[::-1])[0] < 0.5:
        q += 1
        if q >= len(r):
            return r
    return e
""",
    """def cases{0}(r, v):
    for q in range(3):
        match q:
            case 1:
                e = r
            case _:
                e = r * 0.5
        if e[0] > v:
            break
    return e
""",
    """def tried{0}(r, v):
    e = r * 0.5
    for q in range(3):
        try:
            if r[q % len(r)] > v:
                e = r
                continue
        finally:
            v = v * 0.5
    return e
""",
)
#: Functions of an array of rank 1 and a number that give two arrays of its length, which may share memory.
PAIRING = (
    """def sides{0}(r, v):
    for q in range(len(r)):
        if r[q] > v:
            return r, r[::-1]
    return r * 0.5, r
""",
    """def ordered{0}(r, v):
    e, c = r, r[::-1]
    for q in range(3):
        if r[q % len(r)] > v:
            e, c = c, e
    return e, c
""",
    """def history{0}(r, v):
    e = c = r
    for q in range(int(abs(v)) % 3):
        e, c = c * 0.5, e
    return e, c
""",
    """def halved{0}(r, v):
    for q in range(3):
        e = r * 0.5
        c = e[::-1]
        if e[0] > v:
            break
    return e, c
""",
    """def rebound{0}(r, v):
    e = c = r

    def again():
        nonlocal e, c
        e, c = c[::-1], e

    for q in range(3):
        if r[q % len(r)] > v:
            again()
            continue
        c = e
    return [e, c]
""",
)
#: Functions of two dicts with the keys "s" and "r" and a number, that give such a dict.
SHARING = (
    """def chosen{0}(d, e, v):
    for q in range(3):
        if d["s"] > v + q:
            return e
    return d
""",
    """def renewed{0}(d, e, v):
    for q in range(3):
        d = {{"s": d["s"] * 0.5 + v, "r": d["r"]}}
        if v > 0.5:
            e = d
    return e
""",
    """def stored{0}(d, e, v):
    e["s"] = v
    return d
""",
    """def shared{0}(d, e, v):
    for q in range(2):
        c = d = {{"s": v * 0.5, "r": d["r"] * 0.5}}
    c["s"] = v
    return d
""",
    """def former{0}(d, e, v):
    for q in range(int(abs(v)) % 3):
        d, e = {{"s": d["s"] * 0.5, "r": d["r"]}}, d
    return e
""",
    """def undone{0}(d, e, v):
    q = d["s"]
    d["s"] = v
    v = e["s"]
    d["s"] = q
    return {{"s": v, "r": d["r"]}}
""",
    """def nested{0}(d, e, v):
    for q in range(2):
        c = {{"s": v, "r": e["r"]}}
        for i in range(3):
            e = c
        if v > 0.25:
            c["s"] = v * 0.5
    return e
""",
)
#: A class with attributes that programs write.
BOX = """class Box:
    def __init__(self, v, r):
        self.v = v
        self.r = r

    def add(self, v):
        self.v = self.v * 0.5 + v
        return self.v

    def put(self, q, v):
        self.r[q] = v
"""
#: Arrays that a module holds: one that programs read, and one that they write.
GLOBALS = """TABLE = np.array([0.5, -1.0, 2.0, 0.25, -0.75, 1.5])
STATE = np.array([1.0, 0.0, -0.5, 2.0, 0.5, -2.0])
"""
