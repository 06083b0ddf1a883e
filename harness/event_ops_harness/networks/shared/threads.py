"""How many threads XLA has beside the one that runs a program, and which of them gives way."""

import os


def leave_a_processor() -> None:
    """Let XLA's pool have a thread for each processor but one; call it before JAX is used.

    The thread that runs a program is not of the pool. Those that wait for work keep looking for it, and where
    there is one for each processor, they take turns with the thread that has work.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("PJRT_NPROC", str(max(1, available - 1)))


def let_threads_finish() -> None:
    """Have threads that wake up wait until those that run have nothing to do, where the system can.

    To be called before JAX starts threads, which do as the one that starts them. A thread of gloo's waits in
    a loop while the thread that communicates holds a lock; if it interrupts that one, it waits for all of its
    time slice, which is some milliseconds, and so would every all-gather.
    """
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
