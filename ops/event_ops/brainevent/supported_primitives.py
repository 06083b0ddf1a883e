"""List BrainEvent's primitives that the catalog serves, by name, and the reasons why it leaves the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import event_ops
from event_ops.brainevent import products
from event_ops.checks.arrays import FLOAT_WEIGHTS, FLOATS


@dataclass(frozen=True)
class Served:
    """An operator of the catalog, and the function of `products` that computes a primitive with it.

    `stays`: the calls that stay BrainEvent's, besides weights of other dtypes than `dtypes`: with more
    entries than `most`.
    """

    operator: Callable[..., Any]
    compute: Callable[..., products.Results]
    stays: str = ""
    dtypes: tuple[str, ...] = FLOAT_WEIGHTS
    most: int | None = None


_MOST: Final = 1 << 22  # above, both wait for memory: ours takes 0.9 of their time with 3.2 M, 1.1 with 4.8 M

SERVED: Final[Mapping[str, Served]] = {
    "binary_csrmv": Served(event_ops.csr_event_matvec, products.csr_events),
    "binary_csrmm": Served(event_ops.csr_event_matmat, products.csr_events),
    "binary_csrmv_indexed": Served(event_ops.csr_event_matvec, products.indexed_events),
    "binary_csrmm_indexed": Served(event_ops.csr_event_matmat, products.indexed_events),
    "tcsr_binary_csrmv": Served(event_ops.csr_event_matvec, products.tiled_events),
    "tcsr_binary_csrmm": Served(event_ops.csr_event_matmat, products.tiled_events),
    "csrmv": Served(event_ops.csr_matvec, products.csr_numbers),
    "csrmm": Served(event_ops.csr_matmat, products.csr_numbers),
    "tcsr_csrmv": Served(event_ops.csr_matvec, products.csr_numbers),
    "tcsr_csrmm": Served(event_ops.csr_matmat, products.tiled_numbers_matmat),
    "csrmv_dt2t": Served(event_ops.csr_scale_rows, products.scaled_rows, dtypes=FLOATS),
    "binary_densemv": Served(event_ops.dense_event_matvec, products.dense_events),
    "binary_densemm": Served(event_ops.dense_event_matmat, products.dense_events),
    "ell_binary_matvec": Served(event_ops.ell_event_matvec, products.fixed_events),
    "binary_fcnmm": Served(
        event_ops.csr_event_matmat, products.fixed_events_matmat, "2**31 entries or more", most=2**31 - 1
    ),
    "binary_csr_plast": Served(event_ops.stdp_on_pre, products.csr_on_pre, dtypes=FLOATS),
    "csr2csc_on_post": Served(event_ops.stdp_on_post, products.csr_on_post, dtypes=FLOATS),
    "fcn_plasticity_row": Served(event_ops.stdp_on_pre, products.fixed_on_pre, dtypes=FLOATS),
    "csr_delay_deliver": Served(
        event_ops.csr_event_deliver, products.delayed, "more than 2**22 entries", FLOATS, _MOST
    ),
    "csr_delay_deliver_layout": Served(event_ops.csr_event_deliver, products.delayed, dtypes=FLOATS),
    "binary_1d_array_index": Served(event_ops.spike_compact, products.ids_of_events),
}

_GENERATED: Final = "its matrices are drawn by another generator than ours, so they would be other matrices"
_WHY_NOT: Final = {
    "jit": _GENERATED,
    "csr_slice_rows": "its result is a dense matrix",
    "dense_on_": "rows or columns of a dense matrix change in place, for which the catalog has no operator",
    "binary_2d_": "its encodings serve BrainEvent's own kernels",
}


def why_not(name: str) -> str:
    """Return why the catalog does not serve a primitive of this name."""
    reasons = (reason for part, reason in _WHY_NOT.items() if part in name)
    return next(reasons, "the catalog has no operator for it")
