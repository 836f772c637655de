"""Functions that use what masks select, for tests: each is run by NumPy, eagerly, and jitted."""

import numpy as np


def sum_of_logarithms(x):
    return np.log(x[x > 0]).sum()


def mean(x):
    return x[x > 0].mean()


def mean_by_numpy(x):
    return np.mean(x[x > 0], keepdims=True)[0]


def sum_of_exponentials(x):
    return np.sum(np.exp(x[x > 0]))


def deviation(x):
    return x[x > 0].std(ddof=1) + np.var(x[x < 0])


def extremes(x):
    return x[x < 0].max() - np.min(x[x > 0]) + np.ptp(x[x > 0])


def median(x):
    return np.median(x[x > 0]) + np.quantile(x[x < 1], 0.3) + np.percentile(x[x < 1], 20)


def two_branches(x):
    y, mask = x.copy(), x > 0
    y[~mask] = np.log(-y[~mask])
    y[mask] = np.sqrt(y[mask])
    return (y * y).sum()


def masks_computed_twice(x):
    y = x.copy()
    y[y < 0] = y[y < 0] ** 2
    return (y * x).sum()


def in_place(x):
    mask = x > 0
    y = x[mask]
    same = y
    y *= 2
    z = x.copy()
    z[mask] = same
    return (z * x).sum()


def augmented(x):
    mask, z = x > 0, x.copy()
    z[mask] += x[mask] * 3.0
    z[z < -1] -= 1.0
    return (z**2).sum()


def mask_of_a_selection(x):
    y = x[x > 0]
    y[y > 1] = 1.0
    y[y < 0.5] = y[y < 0.5] ** 2
    return y.sum() * y[y < 1].mean()


def where_and_clip(x):
    y = x[x > 0]
    return np.where(y > 1, y, 0.5).sum() + np.clip(y, 0.2, 1).sum()


def beside_traced_number(x):
    offset = np.abs(x.sum())
    return np.log(x[x > 0] + offset).sum() + (1 / (x[x < 1] - 1.0 - offset)).sum()


def beside_poison(x):
    # where x is not positive, the logarithm of what is left out is infinite, and so is its slope
    return np.log(x[x > 0] - 1.0 + x.max()).sum() + np.sqrt(x[x > 0] * x.max()).sum()


def normalized(x):
    y = x[x > 0]
    return ((y - y.mean()) / y.std()).max() + y.sum() / len(y) + y.sum() / y.size


def indices(x):
    (i,) = np.nonzero(x > 0)
    return x[i].sum() + x[i[0]] * 2 + x[i[-1]] + x[i[1]] + x[i[-2]] + len(i) + (x[i] * i).sum()


def writes_by_indices(x):
    y = x.copy()
    y[np.where(x > 0)[0]] = 0.5
    y[np.flatnonzero(x < -0.2)] *= x[np.flatnonzero(x < -0.2)]
    return (y * y).sum()


def compressed(x):
    return np.compress(x > 0, x).sum() + np.extract(x > 0, x).mean()


def neighbours(x):
    (i,) = np.where(x[:-1] > 0)
    return (x[i + 1] * x[i]).sum()


def weighted(x):
    mask = x > -0.5
    return np.average(x[mask], weights=x[mask] ** 2) + np.average(x[x > 0])


def new_array(x):
    y = np.zeros_like(x)
    mask = x > 0.1
    y[mask] = 1 / x[mask]
    return (y * x * x).sum()


def regression(x):
    mask = x > -1
    a, b = x[mask], np.exp(x)[mask]
    slope = ((a - a.mean()) * (b - b.mean())).sum() / ((a - a.mean()) ** 2).sum()
    return slope * a.mean() - b.mean()


LINES = [
    sum_of_logarithms, mean, mean_by_numpy, sum_of_exponentials, deviation, extremes, median, two_branches,
    masks_computed_twice, in_place, augmented, mask_of_a_selection, where_and_clip, beside_traced_number,
    beside_poison, normalized, indices, writes_by_indices, compressed, neighbours, weighted, new_array,
    regression,
]  # fmt: skip


def mean_of_rows(x):
    return (x[x[:, 0] > 0].mean(0) * np.arange(3.0)).sum()


def centred_rows(x):
    mask = x[:, 0] > 0
    return ((x[mask] - x[mask].mean(0)) ** 2).std(axis=0).sum() + np.median(x[mask], axis=0).sum()


def rows_and_an_array(x):
    mask, centre = x[:, 0] > 0, x.mean(0)
    return ((x[mask] - centre) ** 2).sum() + ((x[mask] - centre[None]) ** 3).mean()


def columns(x):
    mask = x[:, 1] > 0
    a, b = x[mask, 0], x[mask][:, 2]
    return np.hypot(a, b).sum() + (a * x[mask, 1]).max()


def along_rows(x):
    mask = x[:, 1] > 0
    weights = x[mask].sum(axis=1)
    return (
        (x[mask] * weights[:, None] * np.expand_dims(weights, -1)).sum()
        + x[mask].max(axis=1).mean()
        + np.sort(x[mask], axis=1)[:, 0].sum()
    )


def unit_rows(x):
    mask, y = x[:, 1] > 0, x.copy()
    y[mask] = x[mask] / np.linalg.norm(x[mask], axis=1, keepdims=True)
    return (y * np.arange(3.0)).sum()


def whole_mask(x):
    return (x[x > 0] ** 2).sum() + x[x > 0].mean() + np.median(x[x > 0])


def mask_of_columns(x):
    mask = x[0] > 0
    return x[:, mask].sum() + (x[:, mask].mean(1) * x[:, 0]).sum() + x[1, mask].sum()


def part_of_a_selection(x):
    y = x[x[:, 0] > 0]
    y[:, 1] = 0.5
    y[:, 2] *= 2
    return (y * y).sum()


def indices_of_both_axes(x):
    i, j = np.nonzero(x > 0)
    return x[i, j].sum() + (x[i, 0] * j).sum() + x[i].sum()


MATRICES = [
    mean_of_rows, centred_rows, rows_and_an_array, columns, along_rows, unit_rows, whole_mask,
    mask_of_columns, part_of_a_selection, indices_of_both_axes,
]  # fmt: skip
