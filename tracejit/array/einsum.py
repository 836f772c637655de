"""einsum: sums of products written with labelled axes, contracted two operands at a time by matmul."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import ShapeError
from ..ir.dtypes import as_dtype
from ..tensors.tensor import Tensor
from .diagonals import diagonal
from .operands import broadcast, cast_by, given_as_scalar, permuted, promoted_arrays, reshaped, run, write_out


def einsum(
    subscripts: Any,
    *operands: Any,
    out: Any = None,
    optimize: Any = "greedy",
    dtype: Any = None,
    casting: str = "safe",
) -> Tensor:
    """The sum of products that `subscripts` describe, such as ``"ij,jk->ik"``.

    Each letter labels an axis; labels missing from the output are summed over. Without ``->`` the output has
    the labels that occur once, in alphabetical order. A label repeated in one operand takes its diagonal;
    ``...`` stands for further axes, which broadcast. Three and more operands are contracted in the order of
    ``numpy.einsum_path``, which `optimize` is passed to; with ``False``, from left to right. `dtype` is that
    of the products and sums, to which `casting` must lead; `out` takes the result.
    The labels may also be lists of numbers from 0 to 51, one behind each operand and, if wanted, one for the
    output: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    Example:
        >>> import tracejit as tj
        >>> tj.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1])
        tensor([3, 7])

    Raises ShapeError for subscripts that do not fit. Semantics: ``numpy.einsum``.
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    tensors = promoted_arrays(*operands)
    if dtype is not None:
        tensors = [cast_by("einsum", tensor, as_dtype(dtype), casting) for tensor in tensors]
    inputs, output = _parse(subscripts, tensors)
    sizes = _sizes(subscripts, inputs, tensors)
    terms = [_prepared(tensor, labels, sizes) for tensor, labels in zip(tensors, inputs, strict=True)]
    for chosen in _path(terms, output, optimize):
        taken = [terms.pop(position) for position in sorted(chosen, reverse=True)][::-1]
        while len(taken) > 1:
            needed = set(output).union(*(labels for _, labels in (*terms, *taken[2:])))
            taken[:2] = [_pair(taken[0], taken[1], needed)]
        terms.append(taken[0])
    result, labels = _summed(*terms[0], set(output))
    result = permuted(result, [labels.index(text) for text in output if text in labels])
    shape = tuple(sizes[text] for text in output)
    present = tuple(sizes[text] if text in labels else 1 for text in output)
    result = given_as_scalar(broadcast(reshaped(result, present), shape))
    return result if out is None else write_out("einsum", out, result)


Term = tuple[Tensor, str]
_SMALL: Final = "abcdefghijklmnopqrstuvwxyz"
#: The letters that stand for the labels 0, 1, 2, ..., in the order that an implicit output has.
_LETTERS: Final = _SMALL.upper() + _SMALL


def _from_lists(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Operands that are each followed by a list of labels, as a string of subscripts and the operands."""
    if len(arguments) < 2:
        raise ShapeError(
            "einsum: expected subscripts as a string first, or a list of labels behind each operand, got "
            f"{type(arguments[0]).__name__}"
        )
    *pairs, output = arguments if len(arguments) % 2 else (*arguments, None)
    text = ",".join(map(_labels, pairs[1::2]))
    return text if output is None else f"{text}->{_labels(output)}", tuple(pairs[::2])


def _labels(numbers: Any) -> str:
    """The letters of a list of labels. Raises ShapeError for what is none."""
    if isinstance(numbers, (str, Tensor)) or not hasattr(numbers, "__iter__"):
        raise ShapeError(f"einsum: expected a list of labels behind each operand, got {numbers!r}")
    letters = []
    for label in numbers:
        if label is not Ellipsis and (
            not isinstance(label, (int, np.integer)) or not 0 <= label < len(_LETTERS)
        ):
            raise ShapeError(f"einsum: labels are integers from 0 to 51 or ..., got {label!r}")
        letters.append("..." if label is Ellipsis else _LETTERS[label])
    return "".join(letters)


def _parse(subscripts: str, tensors: Sequence[Tensor]) -> tuple[list[str], str]:
    """The labels of each operand and of the output, with fresh labels in place of ellipses."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        raise ShapeError(f"einsum: {subscripts!r} has {len(parts)} operands, {len(tensors)} were given")
    letters = text.replace("...", "").replace(",", "").replace("->", "")
    if not all(letter in _LETTERS for letter in letters):
        raise ShapeError(f"einsum: subscripts are letters, commas, '...' and '->', got {subscripts!r}")
    unused = [letter for letter in _SMALL + _SMALL.upper() if letter not in letters]
    counts = [tensor.ndim - len(part.replace("...", "")) for part, tensor in zip(parts, tensors, strict=True)]
    for part, count, tensor in zip(parts, counts, tensors, strict=True):
        if count < 0 or (count and "..." not in part):
            raise ShapeError(
                f"einsum: {part!r} in {subscripts!r} does not fit an operand of shape {tensor.shape}"
            )
    extra = max((count for part, count in zip(parts, counts, strict=True) if "..." in part), default=0)
    if extra > len(unused):
        raise ShapeError(f"einsum: {subscripts!r} needs more labels than there are letters")
    ellipsis = "".join(unused[:extra])
    # shorter ellipses align at their end, as in broadcasting
    inputs = [
        part.replace("...", ellipsis[extra - count :]) for part, count in zip(parts, counts, strict=True)
    ]
    if arrow:
        output = right.replace("...", ellipsis)
    else:
        seen = Counter(left.replace("...", "").replace(",", ""))
        output = ellipsis + "".join(sorted(text for text, times in seen.items() if times == 1))
    if len(set(output)) < len(output) or not set(output) <= set("".join(inputs)):
        raise ShapeError(
            f"einsum: the output {right!r} of {subscripts!r} must use labels of the operands, each once"
        )
    return inputs, output


def _sizes(subscripts: str, inputs: Sequence[str], tensors: Sequence[Tensor]) -> dict[str, int]:
    """The size of each label; axes of size 1 broadcast."""
    sizes: dict[str, int] = {}
    for labels, tensor in zip(inputs, tensors, strict=True):
        for label, size in zip(labels, tensor.shape, strict=True):
            earlier = sizes.setdefault(label, size)
            if earlier == 1:
                sizes[label] = size
            elif size not in (1, earlier):
                shapes = ", ".join(str(each.shape) for each in tensors)
                raise ShapeError(
                    f"einsum: {subscripts!r} gives label {label!r} sizes {earlier} and {size} in {shapes}"
                )
    return sizes


def _prepared(x: Tensor, labels: str, sizes: dict[str, int]) -> Term:
    """`x` without axes that broadcast, and with the diagonals of repeated labels."""
    narrow = [axis for axis, label in enumerate(labels) if x.shape[axis] == 1 and sizes[label] != 1]
    if narrow:
        x = reshaped(x, tuple(size for axis, size in enumerate(x.shape) if axis not in narrow))
        labels = "".join(label for axis, label in enumerate(labels) if axis not in narrow)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return x, labels


def _path(terms: Sequence[Term], output: str, optimize: Any) -> list[tuple[int, ...]]:
    """The operands to contract at each step; each result is appended to the operands."""
    if len(terms) == 1:
        return []
    if len(terms) == 2 or not optimize:
        return [tuple(range(len(terms)))]
    # einsum_path only looks at shapes: arrays without memory will do
    shapes = [np.broadcast_to(np.empty(()), tensor.shape) for tensor, _ in terms]
    present = "".join(labels for _, labels in terms)
    text = (
        ",".join(labels for _, labels in terms) + "->" + "".join(text for text in output if text in present)
    )
    steps, _ = np.einsum_path(text, *shapes, optimize=optimize)
    return [tuple(step) for step in steps[1:]]


def _summed(x: Tensor, labels: str, needed: set[str]) -> Term:
    """`x` summed over the labels that are not needed."""
    gone = tuple(axis for axis, label in enumerate(labels) if label not in needed)
    if not gone:
        return x, labels
    return run("sum", x, axes=gone), "".join(label for label in labels if label in needed)


def _pair(first: Term, second: Term, needed: set[str]) -> Term:
    """The product of two operands, summed over the labels not in `needed`."""
    x, xs = _summed(*first, needed | set(second[1]))
    y, ys = _summed(*second, needed | set(first[1]))
    size = dict(zip(xs, x.shape, strict=True)) | dict(zip(ys, y.shape, strict=True))
    batch = [x for x in xs if x in ys and x in needed]
    summed = [x for x in xs if x in ys and x not in needed]
    rows = [x for x in xs if x not in ys]
    columns = [y for y in ys if y not in xs]
    if summed and not rows and not columns and not set(xs[-len(summed) :]) <= set(summed):
        # dot products across lines: they are added up as they lie
        return _summed(run("mul", x, permuted(y, [ys.index(text) for text in xs])), xs, needed)
    result = "".join((*batch, *rows, *columns))

    def arranged(tensor: Tensor, labels: str, order: list[str], shape: Sequence[int]) -> Tensor:
        return reshaped(permuted(tensor, [labels.index(label) for label in order]), tuple(shape))

    lead = [size[text] for text in batch]
    m, n = math.prod(size[row] for row in rows), math.prod(size[column] for column in columns)
    if summed:
        k = math.prod(size[text] for text in summed)
        left = arranged(x, xs, batch + rows + summed, (*lead, m, k))
        right = arranged(y, ys, batch + summed + columns, (*lead, k, n))
        product = run("matmul", left, right)
    else:
        left = arranged(x, xs, batch + rows, (*lead, m, 1))
        right = arranged(y, ys, batch + columns, (*lead, 1, n))
        product = run("mul", left, right)
    return reshaped(product, tuple(size[text] for text in result)), result
