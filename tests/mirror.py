"""The tests that hold a source, and the tests that a change touches.

Tests mirror the tree: `codegen/plan/arena.py` has `tests/codegen/plan/test_arena.py`. A module without a
file at its own path is named in `UNMIRRORED`, and `TESTED_BY` says what holds its room.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
#: The folders of the sources.
SOURCES: Final = ("base", "ir", "codegen", "runtime", "tracejit")
#: Variable that names the commit that a change begins at.
SINCE: Final = "TRACEJIT_TEST_SINCE"
#: Rooms where some modules have no test file at their own path, and the files and folders below `tests` that
#: hold those.
TESTED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "base": ("base", "tracejit/bad_input", "test_architecture.py"),
    "base/lapack": ("base/lapack",),
    "base/process": ("base/process", "runtime/test_forks.py", "runtime/test_interrupts.py"),
    "codegen": ("codegen/test_tiers.py", "codegen/native"),
    "codegen/control": ("codegen/control",),
    "codegen/export": ("codegen/export", "tracejit/export"),
    "codegen/instrument": ("codegen/instrument",),
    "codegen/kernels/conv": ("codegen/kernels/conv",),
    "codegen/kernels/fft": ("codegen/kernels/fft", "codegen/kernels/test_fft.py"),
    "codegen/kernels/gemm": ("codegen/kernels/gemm", "codegen/kernels/test_long_products.py"),
    "codegen/kernels/indexing": ("codegen/kernels/indexing", "codegen/kernels/test_concat.py"),
    "codegen/kernels/lapack": (
        "codegen/kernels/test_lapack.py", "codegen/kernels/test_blocked_factorizations.py",
        "codegen/kernels/test_blocked_solutions.py",
    ),
    "codegen/kernels/linalg": ("codegen/kernels/test_linalg.py",),
    "codegen/kernels/scan": ("codegen/kernels/scan",),
    "codegen/kernels/sort": ("codegen/kernels/sort",),
    "codegen/llvm": ("codegen/llvm",),
    "codegen/lowering": ("codegen/kernels/test_lowering.py", "codegen/kernels/test_tasks.py"),
    "codegen/maths": ("codegen/maths",),
    "codegen/module": ("codegen/module",),
    "codegen/native": ("codegen/native", "tracejit/dispatch"),
    "codegen/nest": ("codegen/nest",),
    "codegen/plan": ("codegen/plan",),
    "ir": ("ir/test_complex_ops.py", "ir/test_verifier.py", "ir/text", "test_registry.py"),
    "ir/analysis": ("ir/analysis", "codegen/control/test_index_ranges.py", "tracejit/loops"),
    "ir/grouping": ("ir/grouping", "ir/passes/fusion", "codegen/plan/test_recovery.py"),
    "ir/ops": ("test_registry.py", "ir/test_gradients.py", "ir/test_complex_ops.py"),
    "ir/ops/control_flow": ("ir/test_control.py", "tracejit/control"),
    "ir/ops/linalg": ("ir/test_linalg.py", "tracejit/linalg"),
    "ir/ops/ordering": ("codegen/kernels/sort",),
    "ir/ops/signal": ("codegen/kernels/conv", "codegen/kernels/test_fft.py"),
    "ir/passes": ("test_filetests.py",),
    "ir/passes/algebra": ("test_filetests.py", "ir/passes/algebra"),
    "ir/passes/array_loops": ("test_filetests.py", "ir/passes/array_loops", "tracejit/loops"),
    "ir/passes/dtypes": ("test_filetests.py", "ir/passes/dtypes"),
    "ir/passes/fusion": ("test_filetests.py", "ir/passes/fusion"),
    "ir/passes/layout": ("test_filetests.py", "ir/passes/layout"),
    "ir/passes/loops": ("test_filetests.py", "ir/passes/loops", "tracejit/loops"),
    "ir/special": ("ir/special",),
    "ir/text": ("ir/text", "test_filetests.py"),
    "ir/transforms": ("test_batching.py", "ir/test_gradients.py", "ir/test_control.py"),
    "runtime": ("runtime",),
    "runtime/cache": ("runtime/test_cache.py", "runtime/test_cache_attacks.py"),
    "runtime/loading": ("runtime/loading", "runtime/test_arm64_objects.py"),
    "runtime/native": ("runtime/native", "runtime/test_entries.py", "codegen/native"),
    "tracejit": ("tracejit/sending", "tracejit/test_callbacks.py", "tracejit/test_tracebacks.py"),
    "tracejit/arguments": ("tracejit/bad_input", "tracejit/jitted/test_calls.py"),
    "tracejit/array": ("tracejit/array", "numpy_differences"),
    "tracejit/autograd": ("tracejit/autograd", "tracejit/pytorch"),
    "tracejit/backward": ("tracejit/tape", "tracejit/pytorch"),
    "tracejit/compat": ("tracejit/compat",),
    "tracejit/control": ("tracejit/control",),
    "tracejit/dask": ("tracejit/dask",),
    "tracejit/dispatch": ("tracejit/dispatch",),
    "tracejit/export": ("tracejit/export",),
    "tracejit/extend": ("tracejit/extend",),
    "tracejit/fft": ("tracejit/fft",),
    "tracejit/frontend": ("tracejit/jitted/stale", "tracejit/jitted/test_reading.py", "python_programs"),
    "tracejit/jitted": ("tracejit/jitted", "runtime/test_entries.py"),
    "tracejit/linalg": ("tracejit/linalg",),
    "tracejit/loops": ("tracejit/loops", "python_programs"),
    "tracejit/nn": ("tracejit/nn",),
    "tracejit/numpy_random": ("tracejit/numpy_random", "tracejit/jitted/test_random_draws.py"),
    "tracejit/optim": ("tracejit/optim",),
    "tracejit/profiling": ("tracejit/tools/profiling",),
    "tracejit/random": ("tracejit/random",),
    "tracejit/scipy": ("tracejit/scipy",),
    "tracejit/scipy/special": ("tracejit/scipy", "derivatives"),
    "tracejit/tape": ("tracejit/tape", "tracejit/pytorch"),
    "tracejit/tensors": ("tracejit/tensors", "tracejit/array/test_methods.py"),
    "tracejit/testing": ("tracejit/testing",),
    "tracejit/tools": ("tracejit/tools",),
    "tracejit/tracing": ("tracejit/tracing", "tracejit/loops"),
    "tracejit/transforms": ("tracejit/transforms",),
}  # fmt: skip
#: Modules, by their folders, that have no test file at their own path: the tests of their room hold them. A
#: new module has one, or is named here.
UNMIRRORED: Final[Mapping[str, str]] = {
    "base": "errors user_code",
    "base/lapack": "calls",
    "base/process": "finalization forking locks",
    "codegen": "interface",
    "codegen/control": "elements loop_records lowering proven_indices regions register_loops",
    "codegen/export": "adapters casadi reflections routine symbols targets",
    "codegen/instrument": "check_functions listing probes variants",
    "codegen/kernels/conv": "packing parts result slab tiling",
    "codegen/kernels/fft": (
        "chirp codelets fourier halves memory plan primes roots rows stockham two_steps writer"
    ),
    "codegen/kernels/gemm": "batches contraction direct library micro_kernel panels tiles",
    "codegen/kernels/indexing": "bincount concatenation copies gather scatter slice_update slices",
    "codegen/kernels/lapack": (
        "banded blocked_cholesky blocked_lu blocked_qr blocked_solutions blocks calls elements "
        "factorizations indefinite lowering movement problem schur_forms spectra table toeplitz triangular"
    ),
    "codegen/kernels/linalg": (
        "adjugates algorithms arithmetic columns groups lowering matrices memory_matrix transfers"
    ),
    "codegen/kernels/sort": "columns network ordered_keys quicksort radix ranking rows search strategy",
    "codegen/llvm": "compiler control_operations emitter operations registers scratch target",
    "codegen/loops": (
        "accesses affine columns emit guards interpreter intrinsics legality lines nodes printer rewriting"
    ),
    "codegen/loops/passes": (
        "ask forward invert normalize parallelize peel poll rfactor split stream tile transpose_reads "
        "unroll vectorize"
    ),
    "codegen/lowering": (
        "capabilities element_code exits kernel loop_nest lowering packing parallel_for small_matrices"
    ),
    "codegen/maths": (
        "bases division divisors error_function exponential huge_angle hyperbolic integers "
        "inverse_trigonometric logarithm ordering power special support trigonometric"
    ),
    "codegen/maths/wide": "logarithm lookup power",
    "codegen/module": "allocation body parts single_gemm step_copies writer",
    "codegen/native": (
        "allocator atomics buffers float_mode functions interrupts module objects pointers pool python_api "
        "scopes structs tensors"
    ),
    "codegen/native/eager": "calls inner_loops operands special_loops",
    "codegen/native/entry": "code matching table",
    "codegen/nest": "elements fusions lowering maps overwriting prefetch schedule tasks transposed_reads",
    "codegen/nest/reductions": "chunks columns totals",
    "codegen/plan": "generated",
    "ir": "access callbacks capabilities content dataflow failures interpreter registry types",
    "ir/analysis": "linear_indices loop_arrays moments",
    "ir/grouping": "inlining reasons recovery",
    "ir/ops": (
        "__main__ arithmetic callbacks complex_numbers contraction creation cumulative define "
        "differentiation fusion indexing logic random reductions shape special strong_zeros transcendental "
        "vector_norms"
    ),
    "ir/ops/control_flow": "batching counters definitions gradients rewinding versions",
    "ir/ops/linalg": (
        "adjugate banded cholesky common determinant eigen general_eigen ldl lu pairs pseudoinverse qr "
        "schur svd sylvester toeplitz triangular undetermined"
    ),
    "ir/ops/ordering": "arg_reductions compaction counting search sorting",
    "ir/ops/signal": "convolution fourier",
    "ir/passes": "rewriting",
    "ir/passes/algebra": (
        "adjugates cleanup columns gathers masked_choices repeated_lines shifted_sums simplify "
        "strong_products triangular_systems values_with_vectors"
    ),
    "ir/passes/array_loops": (
        "affine_accesses branch_writes conditional_folds conversion early_reads forwarded_elements "
        "mapped_loops product_sums step_folds written_elements"
    ),
    "ir/passes/dtypes": "complex_arithmetic complex_inverses planes widen_float16",
    "ir/passes/fusion": "fuse horizontal_fusion tiling",
    "ir/passes/layout": "factors repeated_writes",
    "ir/passes/layout/broadcasts": (
        "arithmetic axis_ops constant_lines contractions control_flow implied_joins merged_lines pieces "
        "places repeated_axes repeated_gathers repeated_joins repeated_matrices repeated_values "
        "sunk_broadcasts views"
    ),
    "ir/passes/loops": (
        "control_flow hoisted_reads loop_invariant_motion loop_merging matrix_maps repeated_steps "
        "repetitions reversed_steps reversed_values rotated_products stacked_results step_writer "
        "unchanged_carries unread_writes"
    ),
    "ir/special": (
        "activations arrays bessel bessel_integer beta coefficients error evaluator gamma hypergeometric "
        "incomplete_beta incomplete_gamma information integrals jets polynomials table"
    ),
    "ir/text": "differences formatter lexer parser printer",
    "ir/transforms": "batching differentiation forward strong_zeros unit_vectors",
    "runtime": "bypass compilation compiling executable host_calls loop_kernels observing",
    "runtime/cache": "code entries keys store",
    "runtime/loading": "objects relocations support",
    "runtime/native": "allocator capi eager entry gemm lapack",
    "tracejit": (
        "__main__ arrivals callback_results carried debug generator missing_names provided providers "
        "sending state version"
    ),
    "tracejit/arguments": "errors kinds plain_calls wrong_arguments",
    "tracejit/array": "constants copying einsum joining operands ranges reducing statistics",
    "tracejit/array/aggregates": "quantile_methods",
    "tracejit/array/assembly": "element_order",
    "tracejit/array/elementwise": "float_parts floats logic making powers ufuncs",
    "tracejit/array/indexing": (
        "access dynamic_slices functional inplace keys nonzero outside parts segments taking writing"
    ),
    "tracejit/array/information": "array_api dtypes error_state files memory shapes",
    "tracejit/array/methods": "binding ndarray torch",
    "tracejit/array/numpy_calls": "signatures",
    "tracejit/autograd": (
        "anomaly checking function functional_parts gradcheck_checks gradcheck_jacobians graph passes "
        "traced"
    ),
    "tracejit/backward": "backward engine functions",
    "tracejit/compat/autograd": (
        "arrays builtins derivatives extend primitive_nodes primitives products test_util tracer util "
        "vector_spaces"
    ),
    "tracejit/compat/autograd/misc": "fixed_points flatten optimizers",
    "tracejit/compat/autograd/numpy": "construction fft linalg random",
    "tracejit/compat/autograd/scipy": "integrate linalg signal special",
    "tracejit/compat/autograd/scipy/stats": "beta chi2 dirichlet gamma multivariate_normal norm poisson t",
    "tracejit/control": "branches carry loops scans",
    "tracejit/dask": "sums",
    "tracejit/dispatch": "dispatch eager_functions regions",
    "tracejit/export": (
        "casadi compiling header identifiers linking manifest methods pointers programs prototypes "
        "signatures"
    ),
    "tracejit/extend": "calling cfunctions checked composite definition pullback several tables",
    "tracejit/fft": "frequencies lines pairs several_axes",
    "tracejit/frontend": (
        "asking attributes branching bytecode calls classes contents escapes execution guards handlers "
        "operations reads rewritten trail usage values variables"
    ),
    "tracejit/frontend/libraries": (
        "builtin_calls container_calls library library_calls origins probes process_state"
    ),
    "tracejit/jitted": "call_traces container_writes disabling exporting function jit registry signatures",
    "tracejit/jitted/guard_tree": "entries nodes paths report shared_paths specializations",
    "tracejit/linalg": "decompositions determinants diagonals norms operands products solutions",
    "tracejit/loops": (
        "arrays attempts branches calls carries conversion iterations maths origins reports running "
        "scalars scipy_functions stand_ins statements variables"
    ),
    "tracejit/loops/lists": "appends blocks buffered_dicts buffered_lists buffers "
    "conversions functions hashing heaps stacked_lists",
    "tracejit/loops/source": (
        "definitions descriptions exits expressions functions liveness names refusals rewriting syntax"
    ),
    "tracejit/nn": "activations classification convolution layers losses normalization pooling",
    "tracejit/numpy_random": "rejection",
    "tracejit/optim": "groups",
    "tracejit/profiling": "memory nonfinite observing profiles records tables trace",
    "tracejit/random": "choices",
    "tracejit/scipy/fft": "cosines real_transforms sizes",
    "tracejit/scipy/linalg": (
        "exponential factors functions_of_matrices indefinite polar_decomposition schur_forms structured "
        "structured_solutions sylvester"
    ),
    "tracejit/scipy/signal": "convolutions",
    "tracejit/scipy/special": (
        "functions gamma_functions lambert_w normalizing operands sine_integrals spherical_harmonics"
    ),
    "tracejit/surface": "__main__ elementwise making namespace namespaces reductions signatures special",
    "tracejit/tape": "hooks liveness modes nodes saved views",
    "tracejit/tensors": "array_callers python_values",
    "tracejit/testing": "checks ops",
    "tracejit/tools": "dumping numpy_names",
    "tracejit/tools/cli": (
        "colors errors inputs kernel_inputs kernels loading scripts target_options targets trials"
    ),
    "tracejit/tools/cli/commands": (
        "cache completion demo doctor dump explain fmt opt port profile reduce repro run verify view"
    ),
    "tracejit/tools/demo": "bar data report train",
    "tracejit/tools/notebooks": "reports tensors",
    "tracejit/tools/picture": "columns layers of_function palette",
    "tracejit/tools/porting": "names",
    "tracejit/tools/repro": "cases edits resizing server",
    "tracejit/tools/viewer": "drawing kernels measuring numbering passes peaks sources views",
    "tracejit/tracing": "branches integers merged_containers random_draws regions traces windows",
    "tracejit/transforms": "raveling",
    "tracejit/transforms/custom": "jvp rule traced vjp",
}  # fmt: skip


def own_test(source: str) -> str:
    """The test file, below `tests`, at the path of a source."""
    folder, _, name = source.rpartition("/")
    return f"{folder}/test_{name}"


def is_named(source: str) -> bool:
    """Whether a source needs no test file of its own: `UNMIRRORED` names it, or it is an ``__init__``."""
    folder, _, name = source.removesuffix(".py").rpartition("/")
    return name == "__init__" or name in UNMIRRORED.get(folder, "").split()


def room_of(source: str) -> str | None:
    """The entry of `TESTED_BY` for a source: its own or that of the nearest folder above it."""
    path = source
    while path:
        if path in TESTED_BY:
            return path
        path = path.rpartition("/")[0]
    return None


def holders(source: str, imports: Mapping[str, frozenset[str]]) -> set[str]:
    """The files and folders below `tests` that hold a source: the file at its own path, or what the table
    says; and all files that import it."""
    room = room_of(source)
    own = own_test(source)
    held = {own} if (ROOT / "tests" / own).exists() else set(TESTED_BY[room] if room else ())
    return held.union(imports.get(source, ()))


@functools.cache
def importing() -> Mapping[str, frozenset[str]]:
    """The test files that import each source themselves."""
    files: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for source in _imported(path):
            files.setdefault(source, set()).add(path.relative_to(ROOT / "tests").as_posix())
    return {source: frozenset(tests) for source, tests in files.items()}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        else:
            continue
        for name in names:
            if name.startswith("tracejit.") and (source := _source(name)) is not None:
                yield source


def _source(module: str) -> str | None:
    parts = module.split(".")
    place = "/".join(parts[1:] if parts[1] in SOURCES else parts)
    return next((f for f in (f"{place}.py", f"{place}/__init__.py") if (ROOT / f).is_file()), None)


def changed() -> list[str]:
    """Paths that differ, committed or not, from the commit that `SINCE` names.

    Without it, that is where this branch left the origin's main branch, or on that branch itself the commit
    before. None where there is no repository.
    """
    since = os.environ.get(SINCE)
    try:
        if not since:
            main = (
                _git("for-each-ref", "--format=%(objectname)", "refs/remotes/origin/main").strip() or "HEAD"
            )
            since = _git("merge-base", "HEAD", main).strip()
            if since == _git("rev-parse", "HEAD").strip():
                since = "HEAD^"
        return _git("diff", "--name-only", since).splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []


def _git(*words: str) -> str:
    command = ("git", "-C", str(ROOT), *words)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def touched(paths: Iterable[str]) -> set[str]:
    """The files and folders below `tests` that hold what stands at `paths`, and those that are there."""
    tests: set[str] = set()
    for path in paths:
        if path.startswith("tests/"):
            tests.add(path.removeprefix("tests/"))
        elif path.endswith(".py") and path.split("/")[0] in SOURCES:
            tests |= holders(path, importing())
    return tests
