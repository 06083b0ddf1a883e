"""List BrainEvent's primitives that the catalog serves, by name, and the reasons why it leaves the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from event_ops.brainevent import products
from event_ops.checks.arrays import FLOAT_WEIGHTS, FLOATS


@dataclass(frozen=True)
class Served:
    """An operator of the catalog, and the builder of calls to it; None for a call that stays BrainEvent's.

    `stays`: which calls these are, besides those whose weights are of other dtypes than `dtypes`.
    """

    operator: str
    build: Callable[..., products.Call | None]
    stays: str = ""
    dtypes: tuple[str, ...] = FLOAT_WEIGHTS


SERVED: Final[Mapping[str, Served]] = {
    "binary_csrmv": Served("csr_event_matvec", products.binary_csrmv),
    "binary_csrmm": Served("csr_event_matmat", products.binary_csrmm),
    "binary_csrmv_indexed": Served("csr_event_matvec", products.binary_csrmv_indexed),
    "binary_csrmm_indexed": Served("csr_event_matmat", products.binary_csrmm_indexed),
    "tcsr_binary_csrmv": Served("csr_event_matvec", products.tiled_event_product),
    "tcsr_binary_csrmm": Served("csr_event_matmat", products.tiled_event_product),
    "csrmv": Served("csr_matvec", products.csrmv),
    "csrmm": Served("csr_matmat", products.csrmm),
    "tcsr_csrmv": Served("csr_matvec", products.csrmv),
    "tcsr_csrmm": Served("csr_matmat", products.tiled_number_matmat),
    "csrmv_dt2t": Served("csr_scale_rows", products.csrmv_dt2t, dtypes=FLOATS),
    "binary_densemv": Served("dense_event_matvec", products.binary_densemv),
    "binary_densemm": Served("dense_event_matmat", products.binary_densemm),
    "ell_binary_matvec": Served("ell_event_matvec", products.fixed_event_product),
    "binary_fcnmm": Served("csr_event_matmat", products.fixed_event_matmat, "2**31 entries or more"),
    "binary_csr_plast": Served("stdp_on_pre", products.csr_on_pre, dtypes=FLOATS),
    "csr2csc_on_post": Served("stdp_on_post", products.csr_on_post, dtypes=FLOATS),
    "fcn_plasticity_row": Served("stdp_on_pre", products.fixed_on_pre, dtypes=FLOATS),
    "csr_delay_deliver": Served(
        "csr_event_deliver", products.delay_deliver, "more than 2**22 entries", dtypes=FLOATS
    ),
    "csr_delay_deliver_layout": Served("csr_event_deliver", products.delay_deliver_layout, dtypes=FLOATS),
    "binary_1d_array_index": Served("spike_compact", products.ids_of_events),
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
