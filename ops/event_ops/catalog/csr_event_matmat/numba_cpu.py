"""`csr_event_matmat` on the CPU: see kernels/numba_cpu/csr_products.py."""

from __future__ import annotations

from event_ops.kernels.numba_cpu.csr_products import csr_event_matmat as build

__all__ = ["build"]
