"""Describe `lif_step` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench

BENCH = Bench(carried={0: 0, 1: 1})
