"""LLVM text of ``tracejit_poll``, by which native loops let signals in, and of ``tracejit_run``.

CPython only notes a signal when it comes; what the user has set for it runs where the main thread asks.
So loops that may run long call ``i32 tracejit_poll()`` every hundred thousand cycles or so. It reads a clock,
and every few milliseconds of the main thread takes the GIL and runs the handlers (``PyErr_CheckSignals``). If
one raises, as that of Ctrl-C does, the exception stays set, `raised` is noted, and this call and all
later ones give -1: what runs leaves its loops and returns -1 in turn. Whoever hands the exception to Python
clears `raised`. A worker of the pool gets -1 where the job that it works for was `cancelled` by its caller.

Other Python threads run no handlers and go on. A thread that holds the GIL in a loop lets others have it.

Taking the GIL lasts as long as another thread keeps it. So the next time is put off in proportion.
"""

from __future__ import annotations

from typing import Final

from ..interface import POLL, RUN_MAIN

#: Nanoseconds between two looks of the main thread, at least and at most; and while it holds the GIL.
_LEAST: Final = 10_000_000
_MOST: Final = 500_000_000
_HOLDING: Final = 5_000_000
#: A look may take one part in so many of the time.
_SHARE: Final = 30

_TEXT: Final = f"""
@tracejit_main_thread = external global i64
@tracejit_raised = external global i64
@tracejit_cancelled = external global i64
@tracejit_next_look = external global i64
@tracejit_next_turn = external global i64
declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)
declare ptr @PyGILState_GetThisThreadState()
declare i32 @PyGILState_Check()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

; Nanoseconds by a clock of the system's.
define internal i64 @now(i32 %clock) nounwind {{
  %time = alloca [2 x i64], align 8
  %failed = call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest = getelementptr i64, ptr %time, i64 1
  %nanoseconds = load i64, ptr %rest, align 8
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %nanoseconds
  ret i64 %all
}}

; Let other threads of Python's have the GIL, which this one holds.
define internal void @take_turns() nounwind {{
  %thread = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %thread)
  ret void
}}

define i32 @{POLL}() nounwind {{
entry:
  %self = call i64 @pthread_self()
  %main = load i64, ptr @tracejit_main_thread
  %is_main = icmp eq i64 %self, %main
  br i1 %is_main, label %look, label %other
look:
  %raised = load i64, ptr @tracejit_raised
  %already = icmp ne i64 %raised, 0
  br i1 %already, label %stop, label %time
time:
  %now = call i64 @now(i32 COARSE)
  %next = load i64, ptr @tracejit_next_look
  %early = icmp slt i64 %now, %next
  br i1 %early, label %go_on, label %signals
signals:
  %answer = call i32 @run_handlers()
  ret i32 %answer
other:
  %state = call ptr @PyGILState_GetThisThreadState()
  %worker = icmp eq ptr %state, null
  br i1 %worker, label %of_pool, label %python
of_pool:
  %cancelled = load atomic i64, ptr @tracejit_cancelled monotonic, align 8
  %goes_on = icmp eq i64 %cancelled, 0
  br i1 %goes_on, label %go_on, label %stop
python:
  %holds = call i32 @PyGILState_Check()
  %free = icmp eq i32 %holds, 0
  br i1 %free, label %go_on, label %turns
turns:
  %moment = call i64 @now(i32 COARSE)
  %next_turn = load i64, ptr @tracejit_next_turn
  %too_early = icmp slt i64 %moment, %next_turn
  br i1 %too_early, label %go_on, label %turn
turn:
  %later = add i64 %moment, {_HOLDING}
  store i64 %later, ptr @tracejit_next_turn
  call void @take_turns()
  br label %go_on
stop:
  ret i32 -1
go_on:
  ret i32 0
}}

define internal i32 @run_handlers() cold noinline nounwind {{
entry:
  %begin = call i64 @now(i32 PRECISE)
  %held = call i32 @PyGILState_Check()
  %state = call i32 @PyGILState_Ensure()
  %status = call i32 @PyErr_CheckSignals()
  %raises = icmp ne i32 %status, 0
  br i1 %raises, label %raise, label %fine
raise:
  store i64 1, ptr @tracejit_raised
  call void @PyGILState_Release(i32 %state)
  ret i32 -1
fine:
  call void @PyGILState_Release(i32 %state)
  %end = call i64 @now(i32 PRECISE)
  %took = sub i64 %end, %begin
  %share = mul i64 %took, {_SHARE}
  %low = icmp slt i64 %share, {_LEAST}
  %bounded = select i1 %low, i64 {_LEAST}, i64 %share
  %high = icmp sgt i64 %bounded, {_MOST}
  %pause = select i1 %high, i64 {_MOST}, i64 %bounded
  %holding = icmp ne i32 %held, 0
  %wait = select i1 %holding, i64 {_HOLDING}, i64 %pause
  %next = add i64 %end, %wait
  store i64 %next, ptr @tracejit_next_look
  br i1 %holding, label %share_lock, label %done
share_lock:
  call void @take_turns()
  br label %done
done:
  ret i32 0
}}

; Run a function's ``@main`` without the GIL, for a caller that looks whether an exception is set then. What a
; variant with an instrument takes besides comes last; others do not look at it.
define i32 @{RUN_MAIN}(ptr %main, ptr %inputs, ptr %outputs, ptr %more) nounwind {{
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 %main(ptr %inputs, ptr %outputs, ptr %more)
  call void @PyEval_RestoreThread(ptr %thread)
  %stopped = icmp slt i32 %status, 0
  br i1 %stopped, label %clear, label %done
clear:
  store i64 0, ptr @tracejit_raised
  br label %done
done:
  ret i32 %status
}}
"""


def interrupts_text(triple: str) -> str:
    """The module for a target: clocks have other numbers, and Linux one that is quicker to read."""
    coarse, precise = ("6", "1") if "linux" in triple else ("6", "6")
    return _TEXT.replace("COARSE", coarse).replace("PRECISE", precise)
