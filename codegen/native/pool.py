"""The worker pool: ``parallel_for`` and the workers' loop, over pthreads.

One job at a time. A job is published in `_job` (task, context, tasks, chunk, mode) together with a ticket: a
64-bit word of generation (upper half) and chunks claimed (lower half). Claiming a chunk is one
compare-and-swap on the ticket, so a worker that wakes late sees another generation and leaves; nobody waits
for a worker that has claimed nothing. The caller works too, then waits until the claimed
chunks are done, briefly spinning and then on a condition variable. Where another thread has a job running,
the caller runs its own alone.

Before each chunk the caller lets signals in (`interrupts`), also while it waits for the others. Where a
handler raises, the job is cancelled: its chunks are claimed and left out, and the caller asks once more.

The caller does the first chunks, the workers the last ones, up to where they meet: in a loop of jobs on the
same arrays each core mostly meets what it has in its own caches.

Linux may wake a worker on its caller's core and leave it waiting there, call after call, while another core
is idle. A worker that finds itself there moves away (`step_aside`).

A task runs in its caller's floating-point mode, so that results do not depend on who runs it.
"""

from __future__ import annotations

from typing import Annotated, Final

from ..interface import CANCELLED, PARALLEL_FOR, POLL, THREADS
from ..llvm.emitter import Reg
from .atomics import atomic_add, atomic_load, atomic_store, compare_and_swap
from .float_mode import float_mode_numbers, read_mode, write_mode
from .functions import Bool, Bytes, ImportedFunction, Int, ModuleVariable, native
from .module import NativeModule
from .pointers import Pointer
from .structs import BYTES, WORDS, CFunctionType, words
from .writer import NativeWriter

#: Iterations of a pause loop before anyone blocks: some microseconds (15 where a pause takes 65 cycles). A
#: core that spins longer is missing elsewhere on a busy machine.
SPINS: Final = 600
#: Chunks that a caller alone does between two looks for signals. What knows that it got all of a range
#: (`nests.cumulative`) has fewer.
PIECE: Final = 64
#: Nanoseconds between two looks of a caller that waits.
WAIT: Final = 20_000_000
_SECOND: Final = 1_000_000_000
#: Words of a mask of cores: for 1,024 of them.
_CORE_WORDS: Final = 16

#: ``void task(context, start, stop)``.
TASK: Final = CFunctionType(None, (BYTES, "i64", "i64"))
JOB: Final = words("job", ("task", "context", "tasks", "size", "mode"), task=TASK, context=BYTES)
Task = Annotated[Pointer, TASK]

_job = ModuleVariable("job", "i64", 5)
_ticket = ModuleVariable("ticket", "i64")
_chunks = ModuleVariable("chunks", "i64")
_done = ModuleVariable("done", "i64")
_from_end = ModuleVariable("from_end", "i64")
_busy = ModuleVariable("busy", "i32")
_sleeping = ModuleVariable("sleeping", "i64")
_caller_core = ModuleVariable("caller_core", "i32", initial=-1)
_workers = ModuleVariable("tracejit_workers", "i64", exported=True)
_begun = ModuleVariable("workers_begun", "i64")
_mutex = ModuleVariable("mutex", "i8", 128)
_work_ready = ModuleVariable("work_ready", "i8", 128)
_work_done = ModuleVariable("work_done", "i8", 128)

_poll = ImportedFunction(POLL, "i32")
_x86_pause = ImportedFunction("llvm.x86.sse2.pause", None)
_synchronize_instructions = ImportedFunction("llvm.aarch64.isb", None, "i32")
#: The operand of ``isb sy``.
_WHOLE_SYSTEM: Final = 15
_init_mutex = ImportedFunction("pthread_mutex_init", "i32", BYTES, BYTES)
_lock_mutex = ImportedFunction("pthread_mutex_lock", "i32", BYTES)
_unlock_mutex = ImportedFunction("pthread_mutex_unlock", "i32", BYTES)
_init_condition = ImportedFunction("pthread_cond_init", "i32", BYTES, BYTES)
_wait = ImportedFunction("pthread_cond_wait", "i32", BYTES, BYTES)
_wait_until = ImportedFunction("pthread_cond_timedwait", "i32", BYTES, BYTES, WORDS)
_wake_all = ImportedFunction("pthread_cond_broadcast", "i32", BYTES)
_read_clock = ImportedFunction("clock_gettime", "i32", "i32", WORDS)
_this_core = ImportedFunction("sched_getcpu", "i32")
_get_cores = ImportedFunction("sched_getaffinity", "i32", "i32", "i64", WORDS)
_set_cores = ImportedFunction("sched_setaffinity", "i32", "i32", "i64", WORDS)


def _cancelled(f: NativeWriter) -> Pointer:
    return f.global_(CANCELLED, "i64")


def _pause(f: NativeWriter) -> None:
    """Tell the core that this is a loop that waits. Arm's hint for that does nothing on most cores, so they
    empty their pipeline, which takes about as long as x86's pause."""
    if f.module.numbers["x86"]:
        _x86_pause(f)
    elif f.module.numbers["arm"]:
        _synchronize_instructions(f, _WHOLE_SYSTEM)


def _wake(f: NativeWriter, condition: ModuleVariable) -> None:
    _lock_mutex(f, _mutex(f))
    _wake_all(f, condition(f))
    _unlock_mutex(f, _mutex(f))


def _generation(f: NativeWriter, ticket: Reg) -> Reg:
    return f.lshr(ticket, 32)


@native(export="tracejit_pool_init")
def init_pool(f: NativeWriter, workers: Int) -> None:
    """Fresh locks and counters. After a fork the child has no workers, and no job: one that another thread of
    the parent was running is not the child's."""
    atomic_store(f, _chunks(f), 0)
    _init_mutex(f, _mutex(f), None)
    _init_condition(f, _work_ready(f), None)
    _init_condition(f, _work_done(f), None)
    atomic_store(f, _busy(f), 0)
    atomic_store(f, _sleeping(f), 0)
    atomic_store(f, _begun(f), 0)
    atomic_store(f, _workers(f), workers)


@native("i64", export=THREADS)
def threads(f: NativeWriter) -> None:
    """Number of threads that work at most, including the caller."""
    f.ret(f.add(atomic_load(f, _workers(f)), 1))


@native("i64")
def work(f: NativeWriter, generation: Int, caller: Bool) -> None:
    """Claim chunks of a generation until none is left, the caller's from the first on, the others' from the
    last on back; returns how many were done."""
    count, job = f.variable("i64", 0), _job(f).as_(JOB)
    with f.repeat():
        with f.if_(caller), f.if_(f.ne(_poll(f), 0)):
            atomic_store(f, _cancelled(f), 1)
        seen = atomic_load(f, _ticket(f))
        f.out_of_loop.unless(f.eq(_generation(f, seen), generation))
        total = atomic_load(f, _chunks(f))
        f.out_of_loop.unless(f.below(f.and_(seen, 0xFFFFFFFF), total))
        task, context, tasks, size = (job[field] for field in ("task", "context", "tasks", "size"))
        mode = job["mode"]
        f.next_turn.unless(compare_and_swap(f, _ticket(f), seen, f.add(seen, 1)))
        chunk = f.variable("i64", count.value)
        with f.if_(f.not_(caller)):
            write_mode(f, mode)
            chunk.value = f.sub(f.sub(total, 1), atomic_add(f, _from_end(f), 1))
        with f.if_(f.eq(atomic_load(f, _cancelled(f)), 0)):
            start = f.mul(chunk.value, size)
            f.invoke_at(task, context, start, _least(f, f.add(start, size), tasks))
        atomic_add(f, _done(f), 1)
        count.value = f.add(count.value, 1)
    f.ret(count.value)


def _least(f: NativeWriter, x: Reg, y: Reg) -> Reg:
    result: Reg = f.select(f.below(y, x), y, x)
    return result


@native(export=PARALLEL_FOR)
def parallel_for(f: NativeWriter, task: Task, context: Bytes, tasks: Int, size: Int) -> None:
    """Run ``task(context, start, stop)`` for all of `tasks` numbers, in chunks of `size`."""
    leave = f.returning(None)
    # where a signal's handler raised before, what the tasks would read may not be there
    leave.unless(f.eq(_poll(f), 0))
    with f.attempt() as alone:
        alone.when(f.eq(atomic_load(f, _workers(f)), 0))
        alone.unless(f.below(size, tasks))
        alone.unless(compare_and_swap(f, _busy(f), 0, 1))
        total = f.integer("udiv", f.sub(f.add(tasks, size), 1), size)
        fields = {"task": task, "context": context, "tasks": tasks, "size": size, "mode": read_mode(f)}
        generation = _publish(f, fields, total)
        with f.if_(f.ne(atomic_load(f, _sleeping(f)), 0)):
            atomic_store(f, _caller_core(f), _this_core(f) if f.module.numbers["linux"] else -1)
            _wake(f, _work_ready)
        work(f, generation, True)
        wait_for(f, total)
        atomic_store(f, _chunks(f), 0)
        atomic_store(f, _busy(f), 0)
        f.ret()
    piece, start = f.mul(size, PIECE), f.variable("i64", 0)
    with f.repeat():
        stop = f.add(start.value, piece)
        f.invoke_at(task, context, start.value, _least(f, stop, tasks))
        leave.unless(f.below(stop, tasks))
        leave.unless(f.eq(_poll(f), 0))
        start.value = stop


def _publish(f: NativeWriter, fields: dict[str, Reg], total: Reg) -> Reg:
    """Offer a job to the workers; its generation."""
    # close the old generation before touching the job, so that no late worker claims from a mixture
    atomic_store(f, _chunks(f), 0)
    last = _generation(f, atomic_load(f, _ticket(f)))
    generation = f.and_(f.add(last, 1), 0xFFFFFFFF)
    atomic_store(f, _ticket(f), f.shl(generation, 32))
    job = _job(f).as_(JOB)
    for field, value in fields.items():
        job[field] = value
    atomic_store(f, _done(f), 0)
    atomic_store(f, _cancelled(f), 0)
    atomic_store(f, _from_end(f), 0)
    atomic_store(f, _chunks(f), total)
    return generation


@native()
def wait_for(f: NativeWriter, total: Int) -> None:
    """Wait until `total` chunks are done, and let signals in meanwhile."""
    finished = f.returning(None)
    with f.for_(SPINS):
        finished.when(f.eq(atomic_load(f, _done(f)), total))
        _pause(f)
    deadline = f.array("i64", 2)
    _lock_mutex(f, _mutex(f))
    with f.repeat():
        f.out_of_loop.when(f.eq(atomic_load(f, _done(f)), total))
        _read_clock(f, 0, deadline)
        deadline[1] = f.add(deadline[1], WAIT)
        with f.if_(f.ge(deadline[1], _SECOND)):
            deadline[0], deadline[1] = f.add(deadline[0], 1), f.sub(deadline[1], _SECOND)
        f.next_turn.when(f.eq(_wait_until(f, _work_done(f), _mutex(f), deadline), 0))
        _unlock_mutex(f, _mutex(f))
        with f.if_(f.ne(_poll(f), 0)):
            atomic_store(f, _cancelled(f), 1)
        _lock_mutex(f, _mutex(f))
    _unlock_mutex(f, _mutex(f))


@native(BYTES, export="tracejit_worker")
def worker(f: NativeWriter, argument: Bytes) -> None:
    """A worker's life, entered by pthread_create; it never returns. Workers are numbered as they begin, and
    each works while its number is below the number of workers wanted."""
    number = atomic_add(f, _begun(f), 1)
    last = f.variable("i64", 1 << 32)  # no generation
    with f.repeat():
        with f.attempt() as start:
            with f.for_(SPINS):
                start.when(is_called(f, number, last))
                _pause(f)
            _lock_mutex(f, _mutex(f))
            atomic_add(f, _sleeping(f), 1)
            with f.repeat():
                f.out_of_loop.when(is_called(f, number, last))
                _wait(f, _work_ready(f), _mutex(f))
            atomic_add(f, _sleeping(f), -1)
            _unlock_mutex(f, _mutex(f))
            if f.module.numbers["linux"]:
                step_aside(f)
        with f.if_(f.ne(work(f, last.value, False), 0)):
            _wake(f, _work_done)


@native("bool")
def is_called(f: NativeWriter, number: Int, last: Annotated[Pointer, WORDS]) -> None:
    """Whether there is a job of another generation than the `last` one, for a worker with this number; that
    is its last one then."""
    generation = _generation(f, atomic_load(f, _ticket(f)))
    is_open = f.ne(atomic_load(f, _chunks(f)), 0)
    is_wanted = f.below(number, atomic_load(f, _workers(f)))
    f.returning(False).unless(f.all_(is_open, is_wanted, f.ne(generation, last.value)))
    last.value = generation
    f.ret(True)


@native()
def step_aside(f: NativeWriter) -> None:
    """Leave the core of the caller: for a moment this thread may run on the others alone. The mask is for
    1,024 cores; where there are more, or no other, it stays. Measured in the suite, where workers sleep
    between turns: softmax 2.1 and 0.8 ms."""
    stay, core = f.returning(None), _this_core(f)
    stay.unless(f.eq(core, atomic_load(f, _caller_core(f))))
    stay.unless(f.below(core, 64 * _CORE_WORDS))
    allowed, others = f.array("i64", _CORE_WORDS), f.array("i64", _CORE_WORDS)
    nbytes = 8 * _CORE_WORDS
    f.clear(allowed.text, nbytes)
    stay.unless(f.eq(_get_cores(f, 0, nbytes, allowed), 0))
    f.copy(others.text, allowed.text, nbytes)
    number = f.cast(core, "i64")
    place = f.lshr(number, 6)
    others[place] = f.and_(others[place], f.not_(f.shl(f.coerced(1, "i64"), f.and_(number, 63))))
    stay.unless(f.eq(_set_cores(f, 0, nbytes, others), 0))
    _set_cores(f, 0, nbytes, allowed)


def pool_text(triple: str) -> str:
    """Module of the pool for a target, whose pause instruction and choice of cores depend on that."""
    numbers = {**float_mode_numbers(triple), "linux": int("linux" in triple)}
    return NativeModule(numbers=numbers).text(init_pool, threads, parallel_for, worker)
