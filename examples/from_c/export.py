"""Write the log density of the eight schools and its gradient as an object file, for main.c."""

from pathlib import Path

import numpy as np

import tracejit as tj

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


@tj.jit
def eight_schools(mu, log_tau, theta):
    """Effects of coaching in eight schools: effect i is mu + tau theta[i], theta is standard normal."""
    tau = tj.exp(log_tau)
    prior = log_tau - 0.5 * (mu / 5) ** 2 - tj.log1p((tau / 5) ** 2) - 0.5 * (theta * theta).sum()
    return prior - 0.5 * (((EFFECTS - mu - tau * theta) / ERRORS) ** 2).sum()


def main():
    schools = tj.TensorType(tj.float64, EFFECTS.shape)
    place = Path(__file__).parent / "build" / "eight_schools"
    print(eight_schools.export(place, float, float, schools, grad=(0, 1, 2)))


if __name__ == "__main__":
    main()
