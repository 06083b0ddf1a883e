"""A program: the CUBA demo, which says on stdout how far it is; run by test_scale_out.py."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from event_ops_harness.networks.cuba import main
from event_ops_harness.networks.shared import program, simulation


@contextmanager
def printed(label: str, total: int, options: object) -> Iterator[Callable[[int], None]]:
    """In the place of the progress bar."""
    yield lambda done: print(f"{done} of {total}", flush=True)


program.progress_bar, simulation.CHUNK_STEPS = printed, 50
sys.exit(main(sys.argv[1:]))
