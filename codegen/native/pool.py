"""LLVM text of the worker pool: ``parallel_for`` and the workers' loop, over pthreads.

One job at a time. A job is published in `@job` (task, context, tasks, chunk) together with a ticket: a 64-bit
word of generation (upper half) and chunks claimed (lower half). Claiming a chunk is one compare-and-swap on
the ticket, so a worker that wakes late sees another generation and leaves; nobody waits for a worker that has
claimed nothing. The caller works too, then waits until the claimed chunks are done, briefly spinning and then
on a condition variable. Where another thread has a job running, the caller runs its own alone.

Before each chunk the caller lets signals in (`interrupts`), also while it waits for the others. Where a
handler raises, the job is cancelled: its chunks are claimed and left out, and the caller asks once more.

The caller does the first chunks, the workers the last ones, up to where they meet: in a loop of jobs on the
same arrays each core mostly meets what it has in its own caches.

Linux may wake a worker on its caller's core and leave it waiting there, call after call, while another core
is idle. A worker that finds itself there moves away (`_ASIDE`).
"""

from __future__ import annotations

from typing import Final

#: Iterations of a pause loop before anyone blocks: some microseconds (15 where a pause takes 65 cycles). A
#: core that spins longer is missing elsewhere on a busy machine.
SPINS: Final = 600
#: Chunks that a caller alone does between two looks for signals. What knows that it got all of a range
#: (`nests.cumulative`) has fewer.
PIECE: Final = 64
#: Nanoseconds between two looks of a caller that waits.
WAIT: Final = 20_000_000

#: On Linux: the number of the core that runs this, and how a worker leaves the core of its caller: for a
#: moment it may run on the others alone. The mask is for 1,024 cores; where there are more, or no other, it
#: stays. Measured in the suite, where workers sleep between turns: softmax 2.1 and 0.8 ms.
_ASIDE: Final = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i32 @core() nounwind {
  %core = call i32 @sched_getcpu()
  ret i32 %core
}

define internal void @step_aside() nounwind {
entry:
  %allowed = alloca [16 x i64], align 8
  %others = alloca [16 x i64], align 8
  %core = call i32 @sched_getcpu()
  %callers = load atomic i32, ptr @caller_core seq_cst, align 4
  %same = icmp eq i32 %core, %callers
  %small = icmp ult i32 %core, 1024
  %shared = and i1 %same, %small
  br i1 %shared, label %ask, label %stay
ask:
  store [16 x i64] zeroinitializer, ptr %allowed, align 8
  %got = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %known = icmp eq i32 %got, 0
  br i1 %known, label %move, label %stay
move:
  %masks = load [16 x i64], ptr %allowed, align 8
  store [16 x i64] %masks, ptr %others, align 8
  %number = zext i32 %core to i64
  %word = lshr i64 %number, 6
  %bit = and i64 %number, 63
  %place = getelementptr i64, ptr %others, i64 %word
  %old = load i64, ptr %place, align 8
  %one = shl i64 1, %bit
  %without = xor i64 %one, -1
  %new = and i64 %old, %without
  store i64 %new, ptr %place, align 8
  %moved = call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)
  %gone = icmp eq i32 %moved, 0
  br i1 %gone, label %restore, label %stay
restore:
  %back = call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  br label %stay
stay:
  ret void
}
"""
_STAY: Final = """
define internal i32 @core() nounwind {
  ret i32 -1
}

define internal void @step_aside() nounwind {
  ret void
}
"""

POOL_TEXT: Final = f"""
@job = internal global {{ ptr, ptr, i64, i64 }} zeroinitializer, align 64
@ticket = internal global i64 0, align 64
@chunks = internal global i64 0, align 64
@done = internal global i64 0, align 64
@from_end = internal global i64 0, align 64
@busy = internal global i32 0, align 64
@sleeping = internal global i64 0, align 64
@caller_core = internal global i32 -1, align 64
@tracejit_workers = global i64 0, align 64
@tracejit_cancelled = external global i64
@mutex = internal global [128 x i8] zeroinitializer, align 64
@work_ready = internal global [128 x i8] zeroinitializer, align 64
@work_done = internal global [128 x i8] zeroinitializer, align 64

declare i32 @tracejit_poll()
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @clock_gettime(i32, ptr)

; Fresh locks and counters. After a fork the child has no workers, and no job: one that another thread of the
; parent was running is not the child's.
define void @tracejit_pool_init(i64 %workers) nounwind {{
  store atomic i64 0, ptr @chunks seq_cst, align 8
  %a = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %b = call i32 @pthread_cond_init(ptr @work_ready, ptr null)
  %c = call i32 @pthread_cond_init(ptr @work_done, ptr null)
  store atomic i32 0, ptr @busy seq_cst, align 4
  store atomic i64 0, ptr @sleeping seq_cst, align 8
  store atomic i64 %workers, ptr @tracejit_workers seq_cst, align 8
  ret void
}}

; How many threads work at most: the caller, too.
define i64 @tracejit_threads() nounwind {{
  %workers = load atomic i64, ptr @tracejit_workers seq_cst, align 8
  %all = add i64 %workers, 1
  ret i64 %all
}}

; Claim chunks of generation %generation until none is left, the caller's from the first on, the others' from
; the last on back; returns how many were done.
define internal i64 @work(i64 %generation, i1 %caller) nounwind {{
entry:
  br label %next
next:
  %count = phi i64 [ 0, %entry ], [ %count, %retry ], [ %more, %ran ]
  br i1 %caller, label %ask, label %begin
ask:
  %answer = call i32 @tracejit_poll()
  %fine = icmp eq i32 %answer, 0
  br i1 %fine, label %begin, label %cancel
cancel:
  store atomic i64 1, ptr @tracejit_cancelled seq_cst, align 8
  br label %begin
begin:
  %seen = load atomic i64, ptr @ticket seq_cst, align 8
  %current = lshr i64 %seen, 32
  %same = icmp eq i64 %current, %generation
  br i1 %same, label %look, label %leave
look:
  %claimed = and i64 %seen, 4294967295
  %total = load atomic i64, ptr @chunks seq_cst, align 8
  %left = icmp ult i64 %claimed, %total
  br i1 %left, label %claim, label %leave
claim:
  %task = load ptr, ptr @job
  %context = load ptr, ptr getelementptr ({{ ptr, ptr, i64, i64 }}, ptr @job, i64 0, i32 1)
  %tasks = load i64, ptr getelementptr ({{ ptr, ptr, i64, i64 }}, ptr @job, i64 0, i32 2)
  %size = load i64, ptr getelementptr ({{ ptr, ptr, i64, i64 }}, ptr @job, i64 0, i32 3)
  %after = add i64 %seen, 1
  %swap = cmpxchg ptr @ticket, i64 %seen, i64 %after seq_cst seq_cst
  %won = extractvalue {{ i64, i1 }} %swap, 1
  br i1 %won, label %side, label %retry
retry:
  br label %next
side:
  br i1 %caller, label %run, label %back
back:
  %behind = atomicrmw add ptr @from_end, i64 1 seq_cst
  %last = sub i64 %total, 1
  %place = sub i64 %last, %behind
  br label %run
run:
  %chunk = phi i64 [ %count, %side ], [ %place, %back ]
  %cancelled = load atomic i64, ptr @tracejit_cancelled seq_cst, align 8
  %skipped = icmp ne i64 %cancelled, 0
  br i1 %skipped, label %ran, label %do
do:
  %first = mul i64 %chunk, %size
  %stop = add i64 %first, %size
  %over = icmp ugt i64 %stop, %tasks
  %end = select i1 %over, i64 %tasks, i64 %stop
  call void %task(ptr %context, i64 %first, i64 %end)
  br label %ran
ran:
  %before = atomicrmw add ptr @done, i64 1 seq_cst
  %more = add i64 %count, 1
  br label %next
leave:
  ret i64 %count
}}

define void @tracejit_parallel_for(ptr %task, ptr %context, i64 %tasks, i64 %size) nounwind {{
entry:
  %deadline = alloca [2 x i64], align 8
  ; where a signal's handler raised before, what the tasks would read may not be there
  %interrupted = call i32 @tracejit_poll()
  %uninterrupted = icmp eq i32 %interrupted, 0
  br i1 %uninterrupted, label %choose, label %leave
choose:
  %workers = load atomic i64, ptr @tracejit_workers seq_cst, align 8
  %alone = icmp eq i64 %workers, 0
  %single = icmp uge i64 %size, %tasks
  %trivial = or i1 %alone, %single
  br i1 %trivial, label %serial, label %acquire
acquire:
  %lock = cmpxchg ptr @busy, i32 0, i32 1 seq_cst seq_cst
  %free = extractvalue {{ i32, i1 }} %lock, 1
  br i1 %free, label %publish, label %serial
serial:
  %piece = mul i64 %size, {PIECE}
  br label %turn
turn:
  %at = phi i64 [ 0, %serial ], [ %next, %ask ]
  %next = add i64 %at, %piece
  %over = icmp ugt i64 %next, %tasks
  %end = select i1 %over, i64 %tasks, i64 %next
  call void %task(ptr %context, i64 %at, i64 %end)
  %left = icmp ult i64 %next, %tasks
  br i1 %left, label %ask, label %leave
ask:
  %answer = call i32 @tracejit_poll()
  %fine = icmp eq i32 %answer, 0
  br i1 %fine, label %turn, label %leave
leave:
  ret void
publish:
  %round = add i64 %tasks, %size
  %up = sub i64 %round, 1
  %total = udiv i64 %up, %size
  ; close the old generation before touching the job, so that no late worker claims from a mixture
  store atomic i64 0, ptr @chunks seq_cst, align 8
  %old = load atomic i64, ptr @ticket seq_cst, align 8
  %oldgen = lshr i64 %old, 32
  %gen1 = add i64 %oldgen, 1
  %gen = and i64 %gen1, 4294967295
  %fresh = shl i64 %gen, 32
  store atomic i64 %fresh, ptr @ticket seq_cst, align 8
  store ptr %task, ptr @job
  store ptr %context, ptr getelementptr ({{ ptr, ptr, i64, i64 }}, ptr @job, i64 0, i32 1)
  store i64 %tasks, ptr getelementptr ({{ ptr, ptr, i64, i64 }}, ptr @job, i64 0, i32 2)
  store i64 %size, ptr getelementptr ({{ ptr, ptr, i64, i64 }}, ptr @job, i64 0, i32 3)
  store atomic i64 0, ptr @done seq_cst, align 8
  store atomic i64 0, ptr @tracejit_cancelled seq_cst, align 8
  store atomic i64 0, ptr @from_end seq_cst, align 8
  store atomic i64 %total, ptr @chunks seq_cst, align 8
  %asleep = load atomic i64, ptr @sleeping seq_cst, align 8
  %none = icmp eq i64 %asleep, 0
  br i1 %none, label %help, label %wake
wake:
  %core = call i32 @core()
  store atomic i32 %core, ptr @caller_core seq_cst, align 4
  %l1 = call i32 @pthread_mutex_lock(ptr @mutex)
  %w1 = call i32 @pthread_cond_broadcast(ptr @work_ready)
  %u1 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %help
help:
  %mine = call i64 @work(i64 %gen, i1 true)
  br label %wait
wait:
  %spin = phi i64 [ 0, %help ], [ %again, %waiting ]
  %finished = load atomic i64, ptr @done seq_cst, align 8
  %all = icmp eq i64 %finished, %total
  br i1 %all, label %release, label %waiting
waiting:
  call void asm sideeffect "{{PAUSE}}", "~{{memory}}"()
  %again = add i64 %spin, 1
  %patient = icmp ult i64 %again, {SPINS}
  br i1 %patient, label %wait, label %block
block:
  %l2 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %check
check:
  %d = load atomic i64, ptr @done seq_cst, align 8
  %complete = icmp eq i64 %d, %total
  br i1 %complete, label %unlock, label %sleep
sleep:
  %clock = call i32 @clock_gettime(i32 0, ptr %deadline)
  %rest = getelementptr i64, ptr %deadline, i64 1
  %nanoseconds = load i64, ptr %rest, align 8
  %later = add i64 %nanoseconds, {WAIT}
  %carry = icmp sge i64 %later, 1000000000
  br i1 %carry, label %next_second, label %this_second
next_second:
  %seconds = load i64, ptr %deadline, align 8
  %one_more = add i64 %seconds, 1
  store i64 %one_more, ptr %deadline, align 8
  %remaining = sub i64 %later, 1000000000
  br label %this_second
this_second:
  %fraction = phi i64 [ %later, %sleep ], [ %remaining, %next_second ]
  store i64 %fraction, ptr %rest, align 8
  %s = call i32 @pthread_cond_timedwait(ptr @work_done, ptr @mutex, ptr %deadline)
  %in_time = icmp eq i32 %s, 0
  br i1 %in_time, label %check, label %look
look:
  %u3 = call i32 @pthread_mutex_unlock(ptr @mutex)
  %signals = call i32 @tracejit_poll()
  %no_signal = icmp eq i32 %signals, 0
  br i1 %no_signal, label %again_locked, label %cancel
cancel:
  store atomic i64 1, ptr @tracejit_cancelled seq_cst, align 8
  br label %again_locked
again_locked:
  %l3 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %check
unlock:
  %u2 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %release
release:
  store atomic i64 0, ptr @chunks seq_cst, align 8
  store atomic i32 0, ptr @busy seq_cst, align 4
  ret void
}}

; A worker's life, entered by pthread_create with its number; it never returns. It works while its number is
; below the number of workers wanted.
define ptr @tracejit_worker(ptr %argument) nounwind {{
entry:
  %id = ptrtoint ptr %argument to i64
  br label %life
life:
  %last = phi i64 [ 4294967296, %entry ], [ %generation, %worked ]
  br label %spin
spin:
  %n = phi i64 [ 0, %life ], [ %n1, %pause ]
  %seen = load atomic i64, ptr @ticket seq_cst, align 8
  %gen = lshr i64 %seen, 32
  %total = load atomic i64, ptr @chunks seq_cst, align 8
  %open = icmp ne i64 %total, 0
  %new = icmp ne i64 %gen, %last
  %both = and i1 %open, %new
  %limit = load atomic i64, ptr @tracejit_workers seq_cst, align 8
  %wanted = icmp ult i64 %id, %limit
  %go = and i1 %both, %wanted
  br i1 %go, label %start, label %pause
pause:
  call void asm sideeffect "{{PAUSE}}", "~{{memory}}"()
  %n1 = add i64 %n, 1
  %patient = icmp ult i64 %n1, {SPINS}
  br i1 %patient, label %spin, label %block
block:
  %l = call i32 @pthread_mutex_lock(ptr @mutex)
  %a = atomicrmw add ptr @sleeping, i64 1 seq_cst
  br label %check
check:
  %seen2 = load atomic i64, ptr @ticket seq_cst, align 8
  %gen2 = lshr i64 %seen2, 32
  %total2 = load atomic i64, ptr @chunks seq_cst, align 8
  %open2 = icmp ne i64 %total2, 0
  %new2 = icmp ne i64 %gen2, %last
  %both2 = and i1 %open2, %new2
  %limit2 = load atomic i64, ptr @tracejit_workers seq_cst, align 8
  %wanted2 = icmp ult i64 %id, %limit2
  %go2 = and i1 %both2, %wanted2
  br i1 %go2, label %awake, label %sleep
sleep:
  %s = call i32 @pthread_cond_wait(ptr @work_ready, ptr @mutex)
  br label %check
awake:
  %r = atomicrmw sub ptr @sleeping, i64 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @step_aside()
  br label %start
start:
  %generation = phi i64 [ %gen, %spin ], [ %gen2, %awake ]
  %count = call i64 @work(i64 %generation, i1 false)
  %any = icmp ne i64 %count, 0
  br i1 %any, label %tell, label %worked
tell:
  %l3 = call i32 @pthread_mutex_lock(ptr @mutex)
  %w3 = call i32 @pthread_cond_broadcast(ptr @work_done)
  %u3 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %worked
worked:
  br label %life
}}
"""


def pool_text(triple: str) -> str:
    """The pool's module for a target: the pause instruction differs, and what there is to choose cores."""
    pause = "pause" if triple.startswith(("x86_64", "i686")) else "yield"
    return POOL_TEXT.replace("{PAUSE}", pause) + (_ASIDE if "linux" in triple else _STAY)
