"""The pass pipeline. Reading `PIPELINE` tells what happens between a trace and code generation.

A pass is a pure function from Function to Function whose docstring says what it requires and ensures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ...base.loading import LazyModule
from ...base.process.progress import with_progress
from ...base.records import record
from ..capabilities import by_element
from ..failures import not_ours, warn_of_failure
from ..graph import Function, Instruction
from .algebra.cleanup import cse, dce, decompose, fold
from .algebra.multiply_adds import multiply_adds
from .algebra.simplify import simplify
from .fusion.fuse import fuse
from .loops.control_flow import map_regions
from .on_demand import (
    OnDemand,
    complex_planes,
    defer_products,
    delay_repeats,
    drop_choices,
    drop_fills,
    drop_unread_writes,
    free_unchanged_carries,
    fuse_gemv_pairs,
    fuse_nothing,
    hoist_invariants,
    interpreted,
    map_matrices,
    merge_scans,
    merge_whiles,
    move_pads,
    multiply_before,
    place_updates,
    read_joins,
    rematerialize,
    reroll_loops,
    reuse_stacks,
    rotate_products,
    shorten_carry_chains,
    sink_broadcasts,
    split_exponential_sums,
    split_narrow_axes,
    tape_loops,
    tile_transforms,
    widen_float16,
)

if TYPE_CHECKING:
    from .. import verifier
else:
    verifier = LazyModule("..verifier", __package__)


@record
class Pass:
    """A named transformation of Functions."""

    name: str
    apply: Callable[[Function], Function]
    #: Control flow ops to whose regions it does not apply.
    skips: Callable[[Instruction], bool] | None = None
    #: Fallback where `apply` fails; no pass is skipped then.
    otherwise: Callable[[Function], Function] | None = None

    @property
    def promise(self) -> str:
        """Docstring of the pass: what it requires and ensures."""
        apply = self.apply.load() if isinstance(self.apply, OnDemand) else self.apply
        return apply.__doc__ or ""


PIPELINE: Final[tuple[Pass, ...]] = (
    Pass("reroll-loops", reroll_loops),  # a loop for the same ops many times over
    Pass("merge-scans", merge_scans),  # one loop for a scan and the same scan with what its gradient reads
    Pass("merge-whiles", merge_whiles),  # one loop for a while and the same while with its tangents
    Pass("tape-loops", tape_loops),  # gradients of loops that write arrays, by loops with a tape
    Pass("decompose", decompose),  # composite ops such as mean, written with simpler ones
    Pass("widen-float16", widen_float16),  # arithmetic on float16 in float32, and rounded
    Pass("complex-planes", complex_planes, otherwise=interpreted),  # two real values for a complex one
    Pass("dce", dce),  # dead code elimination; gradients leave much
    Pass("sink-broadcasts", sink_broadcasts),  # large repeated values repeated behind what reads them
    Pass("simplify", simplify),  # algebraic simplification, and views of views
    Pass("fold", fold),  # constant folding
    Pass("simplify", simplify),  # what the constants allow
    Pass("cse", cse),  # common subexpression elimination
    Pass("drop-choices", drop_choices),  # choices by the mask that chooses what is made of them
    Pass("drop-unread-writes", drop_unread_writes),  # a loop's writes to elements that nothing reads
    Pass("rotate-products", rotate_products),  # products at the end of steps with the sums of the next ones
    Pass("free-unchanged-carries", free_unchanged_carries),  # what no step changes is no state
    Pass("reuse-stacks", reuse_stacks),  # stack in a scan once what several scans stack
    Pass("licm", hoist_invariants),  # loop-invariant code motion
    Pass("multiply-before", multiply_before),  # one matrix product before a loop for those of its steps
    Pass("defer-products", defer_products),  # one matrix product after a loop that adds up many
    Pass("dce", dce),  # what the rewrites left behind
    Pass("map-matrices", map_matrices, by_element),  # one map over a batch of small matrices
    Pass("place-updates", place_updates, by_element),  # writes to few elements, so that they work in place
    Pass("delay-repeats", delay_repeats, by_element),  # arithmetic on repeated values in front of the repeats
    Pass("move-pads", move_pads, by_element),  # padding outside of arithmetic, so that both are one nest
    Pass("split-narrow-axes", split_narrow_axes, by_element),  # few columns one by one, vectors along rows
    Pass("split-exponential-sums", split_exponential_sums, by_element),  # long softmax by parts of a cache
    Pass("fuse-gemv-pairs", fuse_gemv_pairs, by_element),  # A x and A^T y in one pass over A
    Pass("shorten-carry-chains", shorten_carry_chains),  # what waits for the last step enters last
    Pass("multiply-adds", multiply_adds, by_element),  # fma for a product that one sum reads
    Pass("rematerialize", rematerialize, by_element),  # large values computed again from small ones
    Pass("read-joins", read_joins, by_element),  # concatenations read where their parts lie
    Pass("drop-fills", drop_fills, by_element),  # memory as it is, where a loop writes all of it
    Pass("fuse", fuse, by_element, otherwise=fuse_nothing),  # groups that become one loop nest each
    Pass(
        "tile-transforms", tile_transforms, by_element
    ),  # transforms with the maps around them, line by line
)

#: The passes before fusion: what ``--stage optimized`` shows.
OPTIMIZE: Final = PIPELINE[: next(i for i, pass_ in enumerate(PIPELINE) if pass_.name == "fuse")]

#: Called after each pass with its name, its result and its seconds.
Observer: TypeAlias = Callable[[str, Function, float], None]


def apply_pass(pass_: Pass, function: Function) -> Function:
    """`function` after one pass, and the regions of its control flow ops after the same."""
    return map_regions(pass_.apply(function), lambda region: apply_pass(pass_, region), pass_.skips)


def run_passes(
    function: Function,
    passes: Sequence[Pass] = PIPELINE,
    observe: Observer | None = None,
    failures: list[str] | None = None,
) -> Function:
    """Apply `passes` in order, to the function and to the regions of its control flow ops.

    With ``TRACEJIT_VERIFY=1`` each result is verified. Where there is a list of `failures`, a pass that
    raises is left out with a CompilerWarning, whose text is added there.
    """
    checking = os.environ.get("TRACEJIT_VERIFY") == "1"
    checked: set[Instruction] = set()
    verified: Function | None = None
    #: The last result of each pass: a repeated pass has nothing to do where nothing changed in between.
    returned: dict[tuple[object, object], Function] = {}
    for pass_ in with_progress(passes, f"passes of {function.name}"):
        start = time.perf_counter()
        try:
            key = pass_.apply, pass_.skips
            if returned.get(key) is not function:
                after = returned[key] = apply_pass(pass_, function)
            else:
                after = function
            if checking and after is not verified:
                verifier.verify(after, checked)
                verified = after
        except not_ours():
            raise
        except Exception as error:
            if failures is None:
                raise
            after = _without_pass(pass_, function, error, failures)
        function = after
        seconds = time.perf_counter() - start
        if observe:
            observe(pass_.name, function, seconds)
    return function


def _without_pass(pass_: Pass, function: Function, error: Exception, failures: list[str]) -> Function:
    """Continue without a pass that failed on `function`: by its alternative, or else unchanged. Where the
    alternative fails too, NumPy runs the Function."""
    instead = (
        "It is compiled without that pass" if pass_.otherwise is None else "Its ops are compiled one by one"
    )
    failures.append(warn_of_failure(f"@{function.name} by the pass {pass_.name}", instead, error))
    if pass_.otherwise is None:
        return function
    try:
        return apply_pass(Pass(pass_.name, pass_.otherwise, pass_.skips), function)
    except not_ours():
        raise
    except Exception as second:
        what = f"@{function.name} op by op"
        failures.append(warn_of_failure(what, "NumPy computes it", second))
        return interpreted(function)
