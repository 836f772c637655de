"""Look at what tracejit makes of a function: its trace, its optimised form, its loops, and why it compiled.

Shows: ``f.lower(*args).as_text(stage)`` for the stages trace, optimized, fused, loops, llvm, llvm-opt and
asm, and ``f.explain()``. Every line of the IR names the source line that it comes from.
"""

import numpy as np

import tracejit as tj


def log_density(mean, log_scale, x):
    """A Gaussian's log-density over a sample, up to a constant."""
    z = (x - mean) * tj.exp(-log_scale)
    return tj.sum(-0.5 * z * z - log_scale)


score = tj.jit(tj.value_and_grad(log_density, argnums=(0, 1)))


def show(title, text):
    print(f"--- {title} " + "-" * (90 - len(title)))
    print(text, end="\n\n")


def main():
    x = np.random.default_rng(0).normal(loc=3.0, scale=2.0, size=1000)
    lowered = score.lower(0.5, 0.1, x)
    show("trace: what the function did, and its gradient after it", lowered.as_text("trace"))
    show("optimized: simplified, common subexpressions shared", lowered.as_text("optimized"))
    show("loops: what is left after fusion", lowered.as_text("loops"))

    value, (by_mean, by_log_scale) = score(0.5, 0.1, x)
    score(0.7, 0.2, x)  # another value of a Python number: the same code
    score(0.5, 0.1, x.astype(np.float32))  # another dtype: compiled again
    show("explain", score.explain())

    z = (x - 0.5) * np.exp(-0.1)
    assert np.isclose(value.item(), np.sum(-0.5 * z * z - 0.1))
    assert np.isclose(by_mean.item(), np.sum(z) * np.exp(-0.1))
    assert np.isclose(by_log_scale.item(), np.sum(z * z) - len(x))
    assert "2 signatures compiled" in score.explain()
    assert "everything is native code" in score.explain()


if __name__ == "__main__":
    main()
