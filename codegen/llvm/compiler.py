"""Compilation of LLVM IR text to callable addresses: parse, optimise, emit an object, link it with ORC.

A `Library` owns the code it was linked from; dropping it gives the memory back.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...base.errors import CompileError
from ...base.loading import LazyModule
from ...base.process.finalization import Followed, finalize
from ...base.process.forking import FORKS, free_lock_of_llvmlite
from ...base.process.forking import LLVM_LOCK as LOCK
from ...base.process.progress import with_progress
from ..interface import Library, bundled, images_of
from ..tiers import Effort
from .loading import emitted, emitted_without_lock, library, llvm_binding, machine_for, parsed
from .pieces import PIECE, apart, cut
from .target import Target, host, target_machine

if TYPE_CHECKING:
    from . import fast_selection
else:  # with the first text that chooses
    fast_selection = LazyModule(".fast_selection", __package__)

T = TypeVar("T")
_NAMES = itertools.count()
#: Level of code generation: 1 takes a tenth less time than 2, and the code is as fast on our workloads.
_LEVEL = 1
#: LLVM is at texts of more characters for some tenths of a second: nobody waits for them.
_LONG = 2 * PIECE


#: LLVM's level of code generation.
_OPT = {Effort.FULL: _LEVEL, Effort.LIGHT: _LEVEL, Effort.PLAIN: 0}


def compile_module(
    text: str,
    exports: Sequence[str],
    imports: Mapping[str, int] | None = None,
    effort: Effort = Effort.FULL,
) -> Library:
    """Compile `text` for the host and link it.

    `exports` are the functions whose addresses are wanted, `imports` external symbols by address; libc's
    are found in the process. Raises CompileError with LLVM's message.
    """
    image, milliseconds = emit_object(text, effort)
    start = time.perf_counter()
    library = link_object(image, exports, imports)
    library.milliseconds = milliseconds | {"link": (time.perf_counter() - start) * 1e3}
    return library


def emit_object(
    text: str,
    effort: Effort = Effort.FULL,
    *,
    reduce_loops: bool = True,
    variables: bool = False,
    worth: Collection[str] = (),
    between: Callable[[], None] = lambda: None,
) -> tuple[bytes, dict[str, float]]:
    """`text` as object code for the host, and milliseconds by phase.

    Large modules are compiled in pieces (`pieces`). Before each of them ``between()`` is called, without the
    lock: what it raises ends the compilation.

    Without `reduce_loops` LLVM leaves the addresses in loops as they are written ("loop strength reduction"),
    which for unrolled code takes up to half of the time and gains nothing. With `variables` those that
    lie in memory become registers, and functions that ask for it are inlined. Where there are functions that
    are `worth` the effort, the others are compiled as they stand.
    """
    free_lock_of_llvmlite()
    clock, images = _Clock(), []
    for piece, effort_ in with_progress(_pieces(text, effort, worth), "machine code"):
        between()
        # options are the process's: with one of its own nothing may run beside it
        alone = len(piece) > _LONG and (reduce_loops or effort_ is not Effort.FULL)
        if alone:
            emit = functools.partial(_emit_apart, piece, effort_, variables, clock)
        else:
            emit = functools.partial(_emit, piece, effort_, reduce_loops, variables, clock)
        images.append(interruptibly(emit))
    return bundled(images), clock.laps


def _pieces(text: str, effort: Effort, worth: Collection[str]) -> list[tuple[str, Effort]]:
    """The modules that `text` is compiled as, each with what LLVM is to do for it."""
    parts = apart(text, worth) if worth else None
    if parts is None:
        return [(piece, effort) for piece in cut(text)]
    inside, outside = parts
    plain = [(piece, Effort.PLAIN) for piece in cut(outside)]
    return [*plain, *[(piece, effort) for piece in cut(inside)]]


def _emit(text: str, effort: Effort, reduce_loops: bool, variables: bool, clock: _Clock) -> bytes:
    if effort is not Effort.FULL:
        return _emit_as_written(text, effort, reduce_loops, clock)
    with LOCK:
        module = _prepared(text, effort, variables, clock)
        with _loop_reduction(reduce_loops):
            image: bytes = _machine(host(), _OPT[effort]).emit_object(module)
        clock.lap("codegen")
        del module  # under the lock: see `runtime.tiers`
        return image


def _emit_as_written(text: str, effort: Effort, reduce_loops: bool, clock: _Clock) -> bytes:
    """Emit a module without passes, for which LLVM's library is enough."""
    with LOCK:
        clock.begin()
        target = host()
        machine = machine_for(target.triple, target.cpu, target.features, _OPT[effort])
        with parsed(_with_triple(_selectable(text, effort, target), target)) as module:
            clock.lap("parse")
            clock.lap("optimize")
            with _loop_reduction(reduce_loops or effort is Effort.PLAIN):  # where it is not done at all
                image = emitted(machine, module)
            clock.lap("codegen")
    return image


def _emit_apart(text: str, effort: Effort, variables: bool, clock: _Clock) -> bytes:
    """Emit a module that takes LLVM long, with a context and a machine of its own, so that nobody waits."""
    with contextlib.ExitStack() as stack:
        with LOCK:
            module = _prepared(text, effort, variables, clock, llvm_binding().create_context())
            machine = target_machine(host(), opt=_OPT[effort])
            stack.enter_context(FORKS.at_work())
        image = emitted_without_lock(machine, module)
    clock.lap("codegen")
    with LOCK:
        del module, machine
    return image


def _prepared(text: str, effort: Effort, variables: bool, clock: _Clock, context: Any = None) -> Any:
    """The module of `text`, after the passes that it is worth."""
    clock.begin()
    target = host()
    module = _parse(_selectable(text, effort, target), target, context)
    clock.lap("parse")
    if effort is Effort.FULL:
        if variables:
            _take_to_registers(module)
        _optimize(module)
    clock.lap("optimize")
    return module


def _selectable(text: str, effort: Effort, target: Target) -> str:
    """`text` as LLVM's instruction selection has to see it."""
    if target.triple.startswith("x86_64") and " = select " in text:
        if effort is Effort.PLAIN:
            text = fast_selection.with_frozen_choices(text)
        if not target.has_avx:
            text = fast_selection.with_frozen_lanes(text)
    return text


def interruptibly(work: Callable[[], T]) -> T:
    """``work()``, while signals are let in where this is the main thread: another thread does it, with the
    context variables of this one, such as `machine`. After an exception of theirs that thread ends what it is
    at, and nobody looks at it. None of llvmlite's finalizers, in which exceptions are lost, runs in the main
    thread."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[Any] = []
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # raised below, or nobody waits any more
            outcome.append(error)
        finally:
            done.release()

    try:
        FORKS.threads.begin(functools.partial(contextvars.copy_context().run, run))
    except RuntimeError:  # too many threads, or Python is ending
        return work()
    done.acquire()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    result: T = outcome[0]
    return result


@contextlib.contextmanager
def _loop_reduction(enabled: bool) -> Iterator[None]:
    """Code generation with loop strength reduction or without. The option is the process's, so it is put back
    at once."""
    if enabled:
        yield
        return
    llvm = library()
    llvm.set_option("tracejit", "-disable-lsr")
    try:
        yield
    finally:
        llvm.set_option("tracejit", "-disable-lsr=false")


class _LinkedCode:
    """Owner of code that LLVM has linked."""


#: Objects that unload code. They do so before the next code is linked: llvmlite's Python code would lose the
#: exception of a signal's handler where the code is dropped.
_LINKED: Final[Followed[_LinkedCode, Any]] = Followed()


def link_object(image: bytes, exports: Sequence[str], imports: Mapping[str, int] | None = None) -> Library:
    """Link an object image into this process."""
    free_lock_of_llvmlite()
    return interruptibly(functools.partial(_linked, image, exports, imports or {}))


def _linked(image: bytes, exports: Sequence[str], imports: Mapping[str, int]) -> Library:
    binding = llvm_binding()
    with LOCK:
        builder = binding.JITLibraryBuilder().add_current_process()
        for part in images_of(image):
            builder.add_object_img(part)
        for name in exports:
            builder.export_symbol(name)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for dropped in _LINKED.take():
            dropped.close()
        try:
            tracker = builder.link(_jit(), f"tracejit{next(_NAMES)}")
        except RuntimeError as error:
            raise CompileError(f"linking failed: {error}") from error
        code = _LinkedCode()
        _LINKED.follow(code, tracker)
        return Library({name: tracker[name] for name in exports}, code)


def optimized_text(text: str, target: Target | None = None) -> str:
    """`text` after LLVM's passes, for ``--stage llvm-opt``."""
    with LOCK:
        module = _parse(text, target or host())
        _optimize(module, target)
        return str(module)


def assembly(text: str, target: Target | None = None) -> str:
    """The machine code of `text` as assembly."""
    with LOCK:
        module = _parse(text, target or host())
        _optimize(module, target)
        return str(_machine(target or host()).emit_assembly(module))


def rejects(text: str) -> bool:
    """Whether LLVM does not take `text`."""
    with LOCK:
        try:
            _parse(text, host())
        except CompileError:
            return True
        return False


def _with_triple(text: str, target: Target) -> str:
    return f'target triple = "{target.triple}"\n{text}'


def _parse(text: str, target: Target, context: Any = None) -> Any:
    try:
        module = llvm_binding().parse_assembly(_with_triple(text, target), context)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM rejects the generated code: {error}") from error
    return module


def _optimize(module: Any, target: Target | None = None) -> None:
    defined = [function for function in module.functions if not function.is_declaration]
    optimized = [
        function
        for function in defined
        if not any(b"optnone" in attribute for attribute in function.attributes)
    ]
    # all at once where all are: what runs passes over a function takes as long as they do. They would leave
    # functions that are not to be optimised alone, and say so on standard error
    whole = len(optimized) == len(defined)
    passes, builder = _cleaning_passes(target or host(), whole)
    for part in [module] if whole else optimized:
        passes.run(part, builder)


def _take_to_registers(module: Any) -> None:
    """Inline what is to be inlined, and turn variables in memory into registers."""
    passes, builder = _register_passes(host())
    passes.run(module, builder)


@functools.lru_cache(maxsize=8)
def _register_passes(target: Target) -> tuple[Any, Any]:
    binding = llvm_binding()
    builder = binding.create_pass_builder(_machine(target), binding.create_pipeline_tuning_options(1))
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    return passes, builder


@functools.lru_cache(maxsize=8)
def _cleaning_passes(target: Target, whole: bool) -> tuple[Any, Any]:
    """Cleaning passes only, over a module as a `whole` or a function: vectors and loops are written as they
    should be."""
    binding = llvm_binding()
    builder = binding.create_pass_builder(_machine(target), binding.create_pipeline_tuning_options(1))
    manager = binding.create_new_module_pass_manager if whole else binding.create_new_function_pass_manager
    passes = manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes, builder


# at the end of the process, when no job compiles any more and llvmlite can dispose of them still
for _passes in (_register_passes, _cleaning_passes):
    finalize(_passes, _passes.cache_clear, at_exit=True)


@functools.lru_cache(maxsize=8)
def _machine(target: Target, opt: int = 2) -> Any:
    return target_machine(target, opt=opt)


@functools.lru_cache(maxsize=1)
def _jit() -> Any:
    """LLVM's linker: JITLink, which lays an image out in one place, and makes tables and stubs for addresses
    out of reach. The older one takes places apart for code and for constants, and ends the process where
    they lie too far from each other. It is there for Windows alone, whose objects JITLink knows in part."""
    return new_jit(use_jit_link="windows" not in host().triple)


def new_jit(*, use_jit_link: bool) -> Any:
    """Create one of LLVM's linkers. It owns its TargetMachine, and lives as long as the process: code may run
    until the very end."""
    return llvm_binding().create_lljit_compiler(target_machine(host()), use_jit_link=use_jit_link)


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def begin(self) -> None:
        """Restart the clock: the time until now is left out."""
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + (now - self._last) * 1e3
        self._last = now
