"""The catalog's operators with kernels for all threads, on inputs of any size."""

from event_ops_harness.conformance.all_threads import use_all_threads

use_all_threads()

from catalog_operators import OPERATORS as OPERATORS  # noqa: E402
