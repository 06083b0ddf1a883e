"""Products of an ELLPACK matrix in Warp, which are products of a CSR matrix with rows of equal lengths."""

from collections.abc import Callable
from typing import Any

from event_ops.kernels.reference.entries import ell_as_csr
from event_ops.kernels.warp import csr_products


def ell_matvec(**static: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of numbers."""
    product = csr_products.csr_matvec(**static)
    return lambda data, indices, v: product(*ell_as_csr(data, indices), v)


def ell_event_matvec(**static: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: of flags or numbers."""
    product = csr_products.csr_event_matmat(**static)
    return lambda data, indices, events: product(*ell_as_csr(data, indices), events)
