"""Fit a dose-response curve inside a layer, and differentiate the fit by what it was fitted to.

Shows: Newton's method with ``tj.autograd.functional.hessian``; a ``tj.autograd.Function`` whose result is
defined by an equation, and whose backward follows from it (the implicit function theorem) instead of from the
iterations; the inverse Hessian as covariance (Laplace's approximation). Data: C. I. Bliss (1935), The
calculation of the dosage-mortality curve: beetles after five hours of gaseous carbon disulphide.
"""

import numpy as np

import tracejit as tj
from tracejit.autograd import Function, gradcheck
from tracejit.autograd.functional import hessian, jacobian, vjp

DOSE = tj.tensor([1.6907, 1.7242, 1.7552, 1.7842, 1.8113, 1.8369, 1.8610, 1.8839])  # log10 of mg / l
BEETLES = tj.tensor([59.0, 60.0, 62.0, 56.0, 63.0, 59.0, 62.0, 60.0])
KILLED = tj.tensor([6.0, 13.0, 18.0, 28.0, 52.0, 53.0, 61.0, 60.0])
#: Dose near the middle, so that the intercept and the slope are nearly independent.
CENTRE = 1.78


def objective(line, killed):
    """Negative log-likelihood: log(1 + exp(z)) per beetle, less z per dead one, for log-odds z of death."""
    z = line[0] + line[1] * (DOSE - CENTRE)
    return (BEETLES * tj.logaddexp(0.0, z) - killed * z).sum()


def slope_of_objective(line, killed):
    """Gradient of the objective by the line, which is zero at the fit."""
    return jacobian(lambda at: objective(at, killed), line, create_graph=True)


def curvature(line, killed):
    return hessian(lambda at: objective(at, killed), line)


class Fit(Function):
    """The line that minimises the objective, as a function of the numbers of dead beetles."""

    @staticmethod
    def forward(ctx, killed):
        line = tj.zeros(2)
        for _ in range(25):
            slope = jacobian(lambda at: objective(at, killed), line)
            if tj.abs(slope).max() < 1e-10:
                break
            line = line - tj.tensor(np.linalg.solve(curvature(line, killed).numpy(), slope.numpy()))
        ctx.save_for_backward(line, killed)
        return line

    @staticmethod
    @tj.autograd.function.once_differentiable
    def backward(ctx, ct):
        """slope(line(k), k) = 0 for all k, so d line / d k = -H^-1 (d slope / d k)."""
        line, killed = (saved.detach() for saved in ctx.saved_tensors)
        weights = tj.tensor(np.linalg.solve(curvature(line, killed).numpy(), -ct.numpy()))
        return vjp(lambda k: slope_of_objective(line, k), killed, weights)[1]


def median_dose(killed):
    """The dose at which half would die: where the log-odds are zero."""
    line = Fit.apply(killed)
    return CENTRE - line[0] / line[1]


def main():
    killed = KILLED.detach().requires_grad_()
    line = Fit.apply(KILLED)
    deviation = np.sqrt(np.diag(np.linalg.inv(curvature(line, KILLED).numpy())))
    print(f"log-odds of death: {line[0]:.3f} + {line[1]:.3f} (dose - {CENTRE})")
    print(f"standard deviations: {deviation[0]:.3f} and {deviation[1]:.3f}")

    dose = median_dose(killed)
    dose.backward()
    print(f"half die at a dose of {dose:.4f}; one more dead beetle would move that by")
    for at, moved in zip(DOSE, killed.grad, strict=True):
        print(f"    {moved:+.6f}  if it had been given {at:.4f}")

    # Dobson, An Introduction to Generalized Linear Models, gives -60.72 + 34.27 dose, and 2.91 for the slope
    assert abs(line[1] - 34.27) < 0.005
    assert abs(line[0] - line[1] * CENTRE + 60.72) < 0.005
    assert abs(deviation[1] - 2.91) < 0.005
    assert gradcheck(median_dose, killed), "differences of whole fits agree"
    again = median_dose(KILLED + tj.tensor([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    assert abs(again - dose - killed.grad[3]) < 1e-5


if __name__ == "__main__":
    main()
