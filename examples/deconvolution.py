"""Sharpen a blurred image in two ways, by Fourier transforms and gradients through them.

Shows: ``tj.fft.rfft2`` and ``irfft2`` in compiled functions, and their gradients. Wiener's filter needs the
blur and the spectra of image and noise: four parameters, fitted to the blurred image alone by the gradient of
its likelihood. Richardson and Lucy's iteration for photon counts is written as a step along the gradient of
another likelihood. With matplotlib: deconvolution.png.

Sources: Wiener, 1949; Richardson, 1972; Lucy, 1974. The image, overlapping discs, is made here.
"""

import numpy as np

import tracejit as tj

SIZE, WIDTH, LIGHT = 128, 1.5, 5_000.0
#: Distances to the first pixel, and frequencies squared, of an image that goes on at its other edge.
_NEAR = np.minimum(np.arange(SIZE), SIZE - np.arange(SIZE))
DISTANCES = _NEAR[:, None] ** 2 + _NEAR[None, :] ** 2
FREQUENCIES = np.fft.fftfreq(SIZE)[:, None] ** 2 + np.fft.rfftfreq(SIZE)[None, :] ** 2
#: Number of times that each coefficient of the half spectrum stands in the whole one.
COUNTS = np.where((np.arange(SIZE // 2 + 1) % (SIZE // 2)) == 0, 1.0, 2.0)[None, :]


def blur_of(width):
    """A Gaussian of this width around the first pixel, of sum 1."""
    weights = tj.exp(-DISTANCES / (2 * width**2))
    return weights / weights.sum()


def convolved(image, blur):
    """Circular convolution of `image` and `blur`."""
    return tj.fft.irfft2(tj.fft.rfft2(image) * tj.fft.rfft2(blur))


def make_image(seed=4):
    """Discs of different brightness, and photons counted of them through a blur."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    image = np.full((SIZE, SIZE), 0.1)
    for row, column, radius, light in rng.random((60, 4)):
        within = (rows - row * SIZE) ** 2 + (columns - column * SIZE) ** 2 < (2 + 10 * radius**2) ** 2
        image[within] = 0.1 + 0.9 * light
    blurred = np.maximum(convolved(image, blur_of(WIDTH)).numpy(), 0.0)
    return image, rng.poisson(LIGHT * blurred) / LIGHT


# -- Wiener's filter -------------------------------------------------------------------------------


def spectra(logarithms):
    """The blur's response, and the power of image and noise at each frequency. Edges make the image's fall
    with the cube, from the corner on that the size of its parts makes."""
    width, power, corner, noise = tj.exp(logarithms)
    return tj.fft.rfft2(blur_of(width)).real, power * (1 + FREQUENCIES / corner**2) ** -1.5, noise


def wiener_loss(logarithms, image):
    """The negative log likelihood of a blurred image whose coefficients are independent and normal."""
    response, power, noise = spectra(logarithms)
    coefficients = tj.fft.rfft2(image - image.mean(), norm="ortho")
    variance = response**2 * power + noise
    return 0.5 * (COUNTS * (tj.abs(coefficients) ** 2 / variance + tj.log(variance))).sum() / SIZE**2


def fit_wiener(image, iterations=400):
    """The logarithms of width, power, corner and noise of the largest likelihood."""
    optimizer = tj.optim.adam(lr=tj.optim.cosine_decay(0.1, iterations))

    @tj.jit
    def update(logarithms, state):
        gradient = tj.grad(wiener_loss)(logarithms, image)
        return optimizer.update(logarithms, gradient, state)

    logarithms = tj.log(tj.tensor([1.0, 1.0, 0.1, 0.01]))
    state = optimizer.init(logarithms)
    for _ in range(iterations):
        logarithms, state = update(logarithms, state)
    return logarithms.numpy()


@tj.jit
def wiener(logarithms, image):
    """The expected image: response times power over variance, at each frequency."""
    response, power, noise = spectra(logarithms)
    share = response * power / (response**2 * power + noise)
    return image.mean() + tj.fft.irfft2(tj.fft.rfft2(image - image.mean()) * share)


# -- Richardson and Lucy's iteration ---------------------------------------------------------------


def poisson_loss(estimate, image, blur):
    """The negative log likelihood of counts of photons, without terms that do not depend on the estimate."""
    expected = convolved(estimate, blur) + 1e-9
    return (expected - image * tj.log(expected)).sum()


@tj.jit(static_argnames="iterations")
def richardson_lucy(image, width, iterations=40):
    """The estimate after some steps ``x * (1 - gradient)``: for a blur of sum 1 the gradient is
    1 - blur^T (image / blurred estimate), and so this is the published multiplication."""
    blur = blur_of(width)

    def step(estimate, _):
        gradient = tj.grad(poisson_loss)(estimate, image, blur)
        return estimate * (1 - gradient), None

    return tj.scan(step, tj.full_like(image, image.mean()), length=iterations)[0]


def error(estimate, truth):
    """The root mean square difference."""
    return float(np.sqrt(np.mean((np.asarray(estimate) - truth) ** 2)))


def main():
    """Blur, sharpen, print, and draw where matplotlib is installed."""
    truth, image = make_image()
    logarithms = fit_wiener(image)
    width, _, _, noise = np.exp(logarithms)
    print(f"fitted to the blurred image alone: width {width:.2f} (true {WIDTH}),", end=" ")
    print(f"noise {np.sqrt(noise):.4f} (true {np.sqrt(image.mean() / LIGHT):.4f})")
    linear, counted = wiener(logarithms, image).numpy(), richardson_lucy(image, width).numpy()
    print(
        f"root mean square error: blurred {error(image, truth):.3f}, Wiener {error(linear, truth):.3f}, "
        f"Richardson-Lucy {error(counted, truth):.3f}"
    )
    assert max(error(linear, truth), error(counted, truth)) < 0.9 * error(image, truth)
    draw({"true": truth, "blurred": image, "Wiener": linear, "Richardson-Lucy": counted})


def draw(images):
    """The images beside each other, to deconvolution.png."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        return
    figure, places = plt.subplots(1, len(images), figsize=(14, 4), layout="constrained")
    for axes, (title, image) in zip(places, images.items(), strict=True):
        axes.imshow(image, cmap="gray", vmin=0, vmax=1)
        axes.set(title=title, xticks=[], yticks=[])
    figure.savefig("deconvolution.png", dpi=120)


if __name__ == "__main__":
    main()
