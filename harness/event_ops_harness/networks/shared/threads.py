"""How many threads XLA has beside the one that runs a program."""

import os


def leave_a_processor() -> None:
    """Let XLA's pool have a thread for each processor but one; call it before JAX is used.

    The thread that runs a program is not of the pool. Those that wait for work keep looking for it, and where
    there is one for each processor, they take turns with the thread that has work.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("PJRT_NPROC", str(max(1, available - 1)))
