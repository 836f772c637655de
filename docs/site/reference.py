"""The reference of the API: pages by subject, with the signature and docstring of every public name."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

import tracejit as tj

_ROOT = Path(__file__).resolve().parents[2]


def words(text: str) -> tuple[str, ...]:
    """The words of `text`."""
    return tuple(text.split())


@dataclass(frozen=True)
class Subject:
    """A page about names of ``tj``: those whose source is in one of `sources`, and `names`."""

    page: str
    title: str
    introduction: str
    sources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


SUBJECTS = (
    Subject(
        "transforms",
        "Compiling and differentiating",
        "`jit` and the transforms, which take functions and return functions. "
        "Guides: :doc:`/transforms`, :doc:`/calls`, :doc:`/custom_derivatives`.",
        ("tracejit/jitted", "tracejit/transforms"),
    ),
    Subject(
        "control",
        "Control flow and callbacks",
        "Loops and branches that stay so in compiled code. Guide: :doc:`/control`.",
        ("tracejit/control", "tracejit/callbacks.py"),
    ),
    Subject(
        "modes",
        "Modes of eager autograd",
        "What eager operations record. Guide: :doc:`/autograd`.",
        ("tracejit/autograd",),
    ),
    Subject(
        "creation",
        "Creating arrays",
        "Arrays from values, ranges, functions and files.",
        (
            "tracejit/array/creation.py",
            "tracejit/array/ranges.py",
            "tracejit/array/diagonals.py",
            "tracejit/array/assembly/grids.py",
            "tracejit/array/assembly/triangles.py",
            "tracejit/array/assembly/main_diagonals.py",
            "tracejit/array/information/files.py",
            "tracejit/array/information/memory.py",
            "tracejit/array/information/array_api.py",
        ),
        ("mgrid", "ogrid"),
    ),
    Subject(
        "elementwise",
        "Functions of elements",
        "NumPy's universal functions: arguments broadcast. Accuracy: :doc:`/maths`.",
        ("tracejit/array/elementwise", "tracejit/tape", "tracejit/array/numerical/reals.py"),
    ),
    Subject(
        "reductions",
        "Reductions, statistics and sums along axes",
        "Functions that fold axes, or accumulate along them.",
        (
            "tracejit/surface/making.py",
            "tracejit/array/statistics.py",
            "tracejit/array/ordering/counting.py",
            "tracejit/array/cumulative.py",
            "tracejit/array/aggregates",
            "tracejit/array/indexing/segments.py",
        ),
    ),
    Subject(
        "products",
        "Products",
        "Products of vectors and matrices. Speed and threads: :doc:`/matmul`.",
        ("tracejit/array/contraction.py", "tracejit/array/einsum.py", "tracejit/array/numerical/products.py"),
        ("bmm",),
    ),
    Subject(
        "shapes",
        "Shapes and joining",
        "Functions that move, repeat, join and split what there is.",
        (
            "tracejit/array/manipulation.py",
            "tracejit/array/joining.py",
            "tracejit/array/assembly",
            "tracejit/array/rearranging.py",
        ),
        words("broadcast_shapes c_ r_ iscomplexobj isrealobj isscalar iterable ndim shape size"),
    ),
    Subject(
        "indexing",
        "Indexing, sorting and sets",
        "Reading and writing by index, order and membership.",
        ("tracejit/array/indexing", "tracejit/array/selection", "tracejit/array/ordering/sorting.py"),
        words("index_exp s_ ndindex newaxis topk"),
    ),
    Subject(
        "numerical",
        "Polynomials, convolution, interpolation, windows",
        "What NumPy has of numerical methods.",
        ("tracejit/array/numerical",),
        ("convolve", "correlate"),
    ),
    Subject(
        "trees",
        "Containers",
        "Pytrees: nested lists, tuples, dicts and dataclasses of arrays.",
        ("tracejit/pytree.py",),
    ),
    Subject(
        "dtypes",
        "Dtypes and constants",
        "Dtypes are NumPy's; Python scalars are weak, as in NumPy 2.",
        ("tracejit/array/information/dtypes.py", "tracejit/ir/dtypes.py"),
        words(
            """
            dtype finfo iinfo promote_types mintypecode typename typecodes bool_ bool byte ubyte
            short ushort intc uintc int_ uint intp uintp long ulong longlong ulonglong half
            single double int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32
            float64 complex64 complex128 generic number integer signedinteger unsignedinteger
            inexact floating e pi inf nan euler_gamma True_ False_ little_endian
            """
        ),
    ),
    Subject(
        "running",
        "Running: threads, profiles, printing",
        "How code runs and is watched. Guides: :doc:`/profiling`, :doc:`/debugging`.",
        ("tracejit/runtime", "tracejit/profiling", "tracejit/tools"),
        words(
            "errstate geterr geterrcall seterr seterrcall format_float_positional format_float_scientific "
            "progress get_printoptions printoptions set_printoptions base_repr binary_repr"
        ),
    ),
    Subject(
        "extending",
        "Ops, kernels and backends of one's own",
        "The functions of `tj.extend`, which `tj` has too. Guide: :doc:`/extending`.",
        ("tracejit/extend",),
        ("ops",),
    ),
    Subject(
        "types",
        "Types of the IR",
        "What traces are made of: :doc:`/ir`.",
        ("tracejit/ir/graph.py", "tracejit/ir/types.py"),
    ),
    Subject(
        "errors",
        "Errors and warnings",
        "Each error is a ``TracejitError``, and of the built-in class that NumPy raises. Which mistake "
        "raises which: :doc:`/debugging`.",
        ("tracejit/base/errors.py",),
    ),
)
#: Namespaces, each a page: module, and what it is.
NAMESPACES = {
    "autograd": "Eager autograd under PyTorch's names. Guide: :doc:`/autograd`.",
    "autograd.functional": "Jacobians and products with them under the names of `torch.autograd.functional`.",
    "autograd.graph": "Hooks of the graph, and what it saves, under the names of `torch.autograd.graph`.",
    "dask": "Sums over blocks of dask's arrays. Guide: :doc:`/dask`.",
    "debug": "Finding NaNs and infinities. Guide: :doc:`/debugging`.",
    "emath": "Maths functions whose result is complex where it has to be.",
    "extend": "Ops, kernels, gradients and backends of one's own. Guide: :doc:`/extending`.",
    "fft": "Fourier transforms, as `numpy.fft`. Guide: :doc:`/fft`.",
    "linalg": "Linear algebra, as `numpy.linalg`. Guide: :doc:`/linalg`.",
    "nn": "Functions of neural networks, as `torch.nn.functional`. Guide: :doc:`/nn`.",
    "optim": "Optimizers and schedules. Guide: :doc:`/optim`.",
    "random": "Random numbers by key or from a generator. Guide: :doc:`/random`.",
    "scipy.fft": "Cosine and sine transforms, as `scipy.fft`.",
    "scipy.linalg": "Linear algebra, as `scipy.linalg`. Guide: :doc:`/linalg`.",
    "scipy.signal": "Convolution and correlation, as `scipy.signal`.",
    "scipy.special": "Special functions with derivatives in every argument. Accuracy: :doc:`/special`.",
    "testing": "Checks of ops and gradients. Guide: :doc:`/extending`.",
    "tree": "Functions of pytrees, as `jax.tree`.",
}
#: Classes whose methods have a page: module, class, and what it is.
CLASSES = {
    "Tensor": (
        "tracejit",
        "The array. Most methods are functions of `tj` with the tensor as first argument.",
    ),
    "JitFunction": ("tracejit.jitted.function", "What `tj.jit` returns."),
}


def public_names(namespace: str) -> list[str]:
    """Names that a namespace exports."""
    module = importlib.import_module(f"tracejit.{namespace}")
    return sorted(set(module.__all__))


def subject_of(name: str) -> Subject | None:
    """The page of a name of ``tj``; none for namespaces, which have their own, and classes in `CLASSES`."""
    for subject in SUBJECTS:
        if name in subject.names:
            return subject
    source = source_of(getattr(tj, name))
    places = [
        (len(prefix), subject)
        for subject in SUBJECTS
        for prefix in subject.sources
        if source == prefix or source.startswith(prefix + "/")
    ]
    return max(places, key=lambda pair: pair[0])[1] if places else None


def source_of(value: object) -> str:
    """The file that defines `value`, from the root of the repository."""
    try:
        path = Path(inspect.getsourcefile(inspect.unwrap(value)) or "")  # type: ignore[arg-type]
    except TypeError:
        return ""
    text = path.as_posix().removesuffix(".generated")
    if "numpy" in path.parts:
        return ""
    inside = text.rsplit("/tracejit/", 1)[-1] if "/tracejit/" in text else path.relative_to(_ROOT).as_posix()
    return f"tracejit/{inside}"


def entries(subject: Subject) -> list[str]:
    """The names of ``tj`` on the page of `subject`."""
    return sorted(name for name in tj.__all__ if has_entry(name) and subject_of(name) is subject)


def has_entry(name: str) -> bool:
    """Whether a name of ``tj`` is described on the page of a subject."""
    return not isinstance(getattr(tj, name), ModuleType) and name not in ("Tensor", "ndarray")


def write(folder: Path) -> None:
    """Write all pages of the reference to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for subject in SUBJECTS:
        described = [description("tracejit", name) for name in entries(subject)]
        (folder / f"{subject.page}.rst").write_text(page(subject.title, subject.introduction, described))
    for namespace, introduction in NAMESPACES.items():
        module = f"tracejit.{namespace}"
        described = [description(module, name) for name in public_names(namespace)]
        (folder / f"{namespace}.rst").write_text(page(f"tj.{namespace}", introduction, described))
    for name, (module, introduction) in CLASSES.items():
        options = "   :members:\n   :inherited-members: object\n   :no-index-entry:\n"
        text = f".. autoclass:: {module}.{name}\n{options}"
        (folder / f"{name}.rst").write_text(page(f"{name}", introduction, [text]))


def page(title: str, introduction: str, described: list[str]) -> str:
    """The text of a page."""
    return "\n".join([title, "=" * len(title), "", introduction, "", *described])


def description(module: str, name: str) -> str:
    """The directive that describes a name of a module."""
    value = getattr(importlib.import_module(module), name)
    if isinstance(value, ModuleType):
        inside = f"{module}.{name}".removeprefix("tracejit.")
        return f".. py:data:: {module}.{name}\n\n   The module :doc:`tj.{inside} <{inside}>`.\n"
    if module != "tracejit" and name in tj.__all__ and getattr(tj, name) is value:
        return f".. py:data:: {module}.{name}\n\n   The same as :py:obj:`tj.{name} <tracejit.{name}>`.\n"
    if is_numpys(value):
        kind = "class" if inspect.isclass(value) else "function"
        own = f"{value.__module__.split('.')[0]}.{value.__name__}"
        return f".. py:{kind}:: {module}.{name}\n\n   NumPy's own: ``{own}``.\n"
    if not callable(value):
        return f".. py:data:: {module}.{name}\n\n   {meaning(value)}\n"
    kind = "autoexception" if inspect.isclass(value) and issubclass(value, BaseException) else "autofunction"
    if inspect.isclass(value) and kind == "autofunction":
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    return f".. {kind}:: {module}.{name}\n"


def without_example(folder: Path) -> list[str]:
    """The names that the pages in `folder` describe by a docstring that has no runnable example."""
    missing = []
    for page_ in sorted(folder.glob("*.rst")):
        for name in re.findall(
            r"^\.\. auto(?:function|class|exception):: (\S+)$", page_.read_text(), re.MULTILINE
        ):
            module, _, attribute = name.rpartition(".")
            if ">>>" not in (inspect.getdoc(getattr(importlib.import_module(module), attribute)) or ""):
                missing.append(name)
    return missing


def is_numpys(value: object) -> bool:
    """Whether `value` is a class or function of NumPy's."""
    return (
        callable(value)
        and str(getattr(value, "__module__", "")).split(".")[0] == "numpy"
        and hasattr(value, "__name__")
    )


def meaning(value: object) -> str:
    """A line about a constant, or an object that is indexed."""
    if isinstance(value, np.dtype):
        example = f"``tj.ones(3, dtype=tj.{'bool_' if value.name == 'bool' else value.name})``"
        return f"The dtype ``{value.name}``: {value.itemsize} bytes an element. {example}."
    if value is None or isinstance(value, (bool, float, np.bool_)):
        return f"``{value!r}``"
    if isinstance(value, dict):
        return f"A dict, {len(value)} entries: {', '.join(f'``{key}``' for key in value)}."
    first = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(first.split())
