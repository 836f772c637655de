"""A function to look at, and Chromium to look with."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.viewer import view

from ....browser import chromium  # noqa: F401 (a fixture)


def score(x, w):
    hidden = tj.tanh(x @ w)
    twice = tj.exp(x.T) + tj.exp(x.T)  # one of them goes away
    unused = tj.sin(x)  # noqa: F841
    weights = hidden / tj.sum(hidden * hidden, axis=1, keepdims=True)
    return tj.sum(weights * twice)


#: The lines of `score` by what is on them.
LINE = {
    name: score.__code__.co_firstlineno + 1 + number
    for number, name in enumerate(["tanh", "exp", "sin", "div", "sum"])
}


@pytest.fixture(scope="session")
def shown():
    """`score` and its gradient, with times."""
    rng = np.random.default_rng(0)
    return view(tj.jit(tj.value_and_grad(score)), rng.normal(size=(40, 40)), rng.normal(size=(40, 40)))


@pytest.fixture
def visit(chromium, tmp_path):  # noqa: F811
    """``visit(view)``: its page in the browser; at the end, nothing may have been loaded or gone wrong."""
    opened = []

    def go(what, *, theme="light", width=1600, height=950, tab=None):
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        page = context.new_page()
        seen = SimpleNamespace(requests=[], errors=[])
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("console", lambda message: seen.errors.append(message.text))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        path = what.save(tmp_path / f"page{len(opened)}.html")
        page.goto(path.as_uri())
        opened.append((context, seen, path.as_uri()))
        if tab:
            page.click(f"#tab-{tab}")
        return page

    yield go
    for context, seen, address in opened:
        context.close()
        assert seen.errors == []
        assert [request for request in seen.requests if request.partition("#")[0] != address] == []
