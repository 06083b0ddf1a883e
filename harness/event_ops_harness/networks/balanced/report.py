"""The table at the end of a simulation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import jax
import numpy as np
from rich.markup import escape
from rich.table import Table

from event_ops_harness.networks.balanced.analysis import interval_cv, mean_rate
from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.model import BalancedParameters
from event_ops_harness.networks.balanced.packed import PackedBlocks
from event_ops_harness.networks.shared.blocks import OneDevice
from event_ops_harness.networks.shared.display import quantities
from event_ops_harness.networks.shared.simulation import Recording
from ffi_bridge.operators import Explanation


@dataclass(frozen=True)
class Summary:
    """Hold the figures of a simulation; times are wall clock unless they say model."""

    neurons: int
    synapses: int
    model_seconds: float
    spikes: int
    rate: float  # Hz
    cv: float
    us_per_step: float
    real_time_factor: float  # wall clock over model time
    events_per_second: float  # synaptic events delivered per second of wall clock

    @classmethod
    def of(cls, recording: Recording, connectivity: Connectivity, model: BalancedParameters) -> "Summary":
        seconds = recording.steps * model.dt * 1e-3
        ids, spikes = recording.ids, recording.spikes
        return cls(
            neurons=connectivity.neurons,
            synapses=connectivity.synapses,
            model_seconds=seconds,
            spikes=spikes,
            rate=mean_rate(spikes, connectivity.neurons, seconds),
            cv=interval_cv(recording.times, ids),
            us_per_step=recording.seconds / recording.steps * 1e6,
            real_time_factor=recording.seconds / seconds,
            events_per_second=synaptic_events(ids, connectivity, spikes) / recording.seconds,
        )


def synaptic_events(ids: np.ndarray, connectivity: Connectivity, spikes: int) -> float:
    """Return spikes times the mean out-degree of the neurons that fired, taken from the listed spikes."""
    if not ids.size:
        return 0.0
    return spikes * float(np.diff(connectivity.indptr)[ids].mean())


def table_of(
    title: str,
    summary: Summary,
    connectivity: Connectivity,
    ran_on: list[Explanation],
    placement: OneDevice,
) -> Table:
    """Return two columns: quantity and value. No explanations: the step was one kernel of its own."""
    rows = {
        "neurons": f"{summary.neurons:,} ({connectivity.excitatory.mean():.0%} excitatory)",
        "synapses": f"{summary.synapses:,} ({connectivity.source})",
        "model time": f"{summary.model_seconds:g} s",
        "spikes": f"{summary.spikes:,}",
        "mean rate": f"{summary.rate:.2f} Hz",
        "CV of intervals": f"{summary.cv:.2f}" if np.isfinite(summary.cv) else "too few spikes",
        "time per step": f"{summary.us_per_step:.2f} µs (recording included, compilation not)",
        "real-time factor": f"{summary.real_time_factor:.3f} (wall clock / model time)",
        "synaptic events": f"{summary.events_per_second / 1e6:,.1f} million per second",
    }
    if isinstance(placement, PackedBlocks):
        rows["devices"] = f"{placement.devices} (processes: {jax.process_count()})"
        sent = f"{placement.exchanged_bytes:,} bytes to each device"
        rows["exchange per step"] = f"all-gather of spikes, {sent}"
    return with_backends(title, rows, ran_on)


def with_backends(title: str, rows: Mapping[str, str], ran_on: list[Explanation]) -> Table:
    """Return a table of quantities, and below them the backends."""
    table = quantities(rows, title=title)
    table.add_section()
    for name, value, style in backend_rows(ran_on):
        table.add_row(name, escape(value), style=style)
    return table


def backend_rows(ran_on: list[Explanation]) -> Iterator[tuple[str, str, str]]:
    """Yield name, text and style; operators with the same choice for the same reasons share their rows."""
    if not ran_on:
        yield "backend", "none: the step is one Numba kernel of its own", ""
    alike: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[str]] = {}
    for explanation in ran_on:
        key = explanation.backend, explanation.why, explanation.others
        alike.setdefault(key, []).append(explanation.operator)
    for (backend, why, others), operators in alike.items():
        yield "backend", f"{backend}: {why}\n({', '.join(operators)})", ""
        for other, reason in others:
            yield f"  not {other}", reason, "dim"
