"""The handwritten digits that come with tracejit, split into training and held-out images.

Source: E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning
Repository, https://doi.org/10.24432/C50P49, licensed under CC BY 4.0
(https://creativecommons.org/licenses/by/4.0/). ``digits.npz`` holds the 1,797 images of its test set, 8x8
pixels in 17 levels of grey, 0 to 16, as `numpy.savez_compressed` writes them. The attribution is in the file
too.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TRAINING_IMAGES = 1437
#: The order in which the images are dealt out: one split for everybody.
_SPLIT_SEED = 0


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 pixels from 0 to 1, labels from 0 to 9."""

    images: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)


def load_digits(dtype: Any = np.float64) -> tuple[Digits, Digits]:
    """The 1,437 training images and the 360 held-out ones, always the same.

    Example:
        >>> from tracejit.tools.demo import load_digits
        >>> training, held_out = load_digits()
        >>> training.images.shape, held_out.labels.shape
        ((1437, 64), (360,))
    """
    with files(__package__).joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        images = (arrays["images"].reshape(-1, 64) / 16.0).astype(dtype)
        labels = arrays["labels"].astype(np.int64)
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(labels))
    training, held_out = order[:TRAINING_IMAGES], order[TRAINING_IMAGES:]
    return Digits(images[training], labels[training]), Digits(images[held_out], labels[held_out])
