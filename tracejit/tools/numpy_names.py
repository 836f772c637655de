"""The table of NumPy's public names in docs/numpy.md: the same here, different, or absent.

``python -m tracejit.tools.numpy_names > docs/numpy.md`` writes it. What is the same is read off both
libraries; what is different or absent is said here, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

import tracejit as tj

#: Differences of functions that both have; "eager only" where the shape depends on values.
DIFFERS: Final = {
    "allclose": "gives a tensor of rank 0, so that it can be traced",
    "array": "`requires_grad=` is new; traced tensors have no `order=`",
    "array_equal": "gives a tensor of rank 0, so that it can be traced",
    "array_equiv": "gives a tensor of rank 0, so that it can be traced",
    "asarray_chkfinite": "eager only",
    "asfortranarray": "traced tensors have no layout",
    "bincount": "compiled once for each largest element, unless `length=` or `minlength=` is given",
    "bool": "NumPy's scalar type; `bool_` is the dtype",
    "digitize": "traced bins are taken for monotonic",
    "finfo": "takes tensors, too",
    "iinfo": "takes tensors, too",
    "load": "gives a dict of tensors for `.npz` files",
    "nanargmax": "traced, all NaN gives 0 in place of an error",
    "nanargmin": "traced, all NaN gives 0 in place of an error",
    "nanmax": "traced, all NaN gives NaN without a warning",
    "nanmean": "traced, all NaN gives NaN without a warning",
    "nanmedian": "traced, all NaN gives NaN without a warning",
    "nanmin": "traced, all NaN gives NaN without a warning",
    "nanpercentile": "traced, all NaN gives NaN without a warning",
    "nanquantile": "traced, all NaN gives NaN without a warning",
    "nanstd": "traced, too few elements give NaN without a warning",
    "nanvar": "traced, too few elements give NaN without a warning",
    "piecewise": "each function is called with all of `x`",
    "poly": "zeros alone, no matrices: whether the result is complex depends on values",
    "polydiv": "traced, the remainder keeps its leading zeros",
    "polymul": "traced, leading zeros stay",
    "random": "keys as JAX's, and NumPy's names; [random.md](random.md)",
    "ravel_multi_index": "traced indices are not checked",
    "repeat": "by a traced tensor jitted with `total_repeat_length=`",
    "roots": "traced, zeros at the ends are not known: the result is complex, a first coefficient 0 an error",
    "save": "without the graph; eager only",
    "savetxt": "without the graph; eager only",
    "savez": "without the graph; eager only",
    "savez_compressed": "without the graph; eager only",
    "testing": "checks of ops; NumPy's own take tensors as arrays",
    "trim_zeros": "eager only",
    "trace": "`tj.trace` traces a function: `x.trace()`, and `np.trace(x)`, are NumPy's",
    "unique_values": "in ascending order",
    "unravel_index": "traced indices are not checked",
    "vectorize": "traced functions are batched",
}
#: Names that are missing here, by the reason.
ABSENT: Final = {
    "other names of dtypes, and kinds of them: `complex64` and `complex128` are there": """cdouble
        complexfloating csingle""",
    "extended precision: dtypes are those that machines compute in": """clongdouble complex256 float128
        longdouble""",
    "dates, texts, objects and records: tensors hold numbers": """busday_count busday_offset busdaycalendar
        bytes_ char character datetime64 datetime_as_string datetime_data flexible fromregex is_busday isnat
        object_ rec recarray record str_ strings timedelta64 void""",
    "matrices and masked arrays, classes of NumPy's: `tj.where`, and `nan*` functions": """asmatrix bmat ma
        matrix""",
    "packages of their own": "polynomial poly1d",
    "iterators over memory: loops over elements are slow in any library": """broadcast flatiter ndenumerate
        nditer nested_iters""",
    "arrays on disk: `tj.asarray(np.memmap(...))`": "memmap",
    "new ufuncs: `tj.vectorize`, `tj.register_op`": "frompyfunc ufunc",
    "about shapes alone: `np.einsum_path` takes tensors, traced ones too": "einsum_path",
    "about NumPy itself, its build and its settings": """ScalarType core ctypeslib dtypes exceptions
         f2py get_include getbufsize info isfortran lib sctypeDict setbufsize show_config
        show_runtime test typing""",
}


#: Parameters of functions that both have, and that are not taken, with the reason.
OTHER_PARAMETERS: Final = {
    ("array", "ndmax"): "deeper lists would be objects",
}
#: Parameters that have no meaning for tensors, or another one than in NumPy.
_PARAMETERS: Final = {
    "`order` of ufuncs": "results are in C order; of `array`, `asarray`, `astype`, `copy`, `eye`, `full`, "
    "`zeros` and their like it is NumPy's, but traced tensors have no order",
    "`order` of sorts": "the names of fields, which there are not: an error",
    "`kind`, `stable`, `assume_unique`": "the algorithm is the same for all; sorts are stable",
    "`subok`, `like`, `device`": "there are no subclasses, no other kinds of arrays, no devices but the CPU",
    "`overwrite_input`": "the input stays",
    "`signature` of ufuncs": "not taken: `dtype` is",
    "`a`, `arr`, `m`, `x1`, ...": "NumPy's names of first arguments are taken as ours are, but by `copy`, "
    "`expand_dims`, `reshape`, `squeeze`, `swapaxes` and `transpose`, which take them by place",
}
#: Attributes of ndarray that Tensor has not, by the reason.
ABSENT_ATTRIBUTES: Final = {
    "about memory: tensors share it as views do, and traced ones have none (`x.numpy().base`, ...)": """base
        byteswap ctypes getfield setfield setflags""",
    "a tensor keeps its shape and dtype, on which its graph depends: `tj.resize` gives another": "resize",
    "protocols of subclasses and of memory: `__array__`, `__dlpack__` and NumPy's functions serve": """
        __array_finalize__ __array_interface__ __array_struct__ __array_wrap__""",
    "Python's, of containers and their types": "__class_getitem__ __delitem__ __setstate__",
}


def absent_attributes() -> dict[str, str]:
    """The reason by the name of what ndarray has and Tensor has not."""
    return {name: reason for reason, names in ABSENT_ATTRIBUTES.items() for name in names.split()}


def public_names() -> list[str]:
    """NumPy's public names in its main namespace."""
    return sorted(name for name in dir(np) if not name.startswith("_"))


def absent_names(absent: Mapping[str, str] = ABSENT) -> dict[str, str]:
    """The reason by the name of what is absent."""
    return {name: reason for reason, names in absent.items() for name in names.split()}


_INTRODUCTION: Final = """\
Written by `python -m tracejit.tools.numpy_names`; `tests/numpy_differences/test_names.py` keeps it true.

NumPy's own functions take tensors: `np.sin(x)` is `tj.sin(x)`, eagerly, under `jit` and every other
transform, with its gradient; so are ufunc methods (`np.add.reduce(x)`), `out=`, `where=` and `dtype=`. A
function that is absent raises `ArgumentError` for a tensor, with the nearest one that there is; what only
shows or stores an array gets the tensor's. What differs in results is in [differences.md](differences.md),
and of NumPy's own examples in `tests/numpy_differences/test_numpy_examples.py`."""


def _introduction() -> Iterator[str]:
    yield "# NumPy's names"
    yield ""
    yield from _INTRODUCTION.splitlines()
    yield ""


def table() -> Iterator[str]:
    """The lines of docs/numpy.md."""
    absent = absent_names()
    names = public_names()
    same = [name for name in names if name in tj.__all__ and name not in DIFFERS]
    different = [name for name in names if name in DIFFERS]
    missing = [name for name in names if name in absent]
    yield from _introduction()
    counts = f"{len(same)} are the same, {len(different)} differ, and {len(missing)} are absent."
    yield f"Of the {len(names)} public names of `numpy`, {counts}"
    yield ""
    yield from sections(same, {name: DIFFERS[name] for name in different}, ABSENT, level=2)
    yield from _parameters()
    yield from _attributes()


def sections(
    same: Sequence[str], differs: Mapping[str, str], absent: Mapping[str, str], *, level: int
) -> Iterator[str]:
    """The names that are the `same`, what `differs` with how it does, and what is `absent`, by the reason."""
    if same:
        yield f"{'#' * level} The same"
        yield ""
        yield from _wrapped(same)
        yield ""
    if differs:
        yield f"{'#' * level} Different"
        yield ""
        yield "| name | how |"
        yield "|---|---|"
        yield from (f"| `{name}` | {differs[name]} |" for name in sorted(differs))
        yield ""
    yield f"{'#' * level} Absent"
    yield ""
    yield "| names | why |"
    yield "|---|---|"
    yield from _rows(absent)


def _parameters() -> Iterator[str]:
    yield ""
    yield "## Parameters"
    yield ""
    yield "Functions and methods take NumPy's parameters, at its places and by its names; what of them does"
    yield "something else here:"
    yield ""
    yield "| parameters | what they do |"
    yield "|---|---|"
    yield from (f"| {names} | {meaning} |" for names, meaning in _PARAMETERS.items())
    yield from (f"| `{name}` of `{of}` | not taken: {why} |" for (of, name), why in OTHER_PARAMETERS.items())


def _attributes() -> Iterator[str]:
    both = [name for name in dir(np.ndarray) if not name.startswith("_") and hasattr(tj.Tensor, name)]
    yield ""
    yield "## Methods and properties of arrays"
    yield ""
    yield "These are on `Tensor`, too:"
    yield ""
    yield from _wrapped(both)
    yield ""
    yield "| absent | why |"
    yield "|---|---|"
    yield from _rows(ABSENT_ATTRIBUTES)


def _rows(reasons: Mapping[str, str]) -> Iterator[str]:
    for reason, text in reasons.items():
        yield f"| {', '.join(f'`{name}`' for name in sorted(text.split()))} | {reason} |"


def _wrapped(names: Sequence[str]) -> Iterator[str]:
    line = ""
    for name in names:
        word = f"`{name}`"
        if len(line) + len(word) + 1 > 110:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


if __name__ == "__main__":
    for row in table():
        print(row)
