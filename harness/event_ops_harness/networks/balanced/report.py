"""The table and the figure at the end of a simulation: a raster, the population rate, one potential."""

from pathlib import Path

import jax
import numpy as np
from matplotlib.axes import Axes
from rich.table import Table

from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.network import BalancedParameters
from event_ops_harness.networks.shared import figures
from event_ops_harness.networks.shared.blocks import EqualBlocks, OneDevice
from event_ops_harness.networks.shared.display import with_backends
from event_ops_harness.networks.shared.simulation import Recording
from event_ops_harness.networks.shared.statistics import interval_cv, mean_rate
from ffi_bridge.operators import Explanation

SHOWN_SECONDS = 1.0  # the last second
BIN_MS = 2.0
SPIKE_TIP_MV = -30.0  # integrate-and-fire neurons have no spike shape: drawn up to here
LINE = {"color": "#333333", "linewidth": 1.0}


def table_of(
    title: str,
    recording: Recording,
    connectivity: Connectivity,
    model: BalancedParameters,
    ran_on: list[Explanation] | str,
    placement: OneDevice,
) -> Table:
    """Return two columns: quantity and value."""
    neurons, seconds, spikes = connectivity.neurons, recording.steps * model.dt * 1e-3, recording.spikes
    cv = interval_cv(recording.times, recording.ids)
    events = synaptic_events(recording.ids, connectivity, spikes) / recording.seconds
    rows = {
        "neurons": f"{neurons:,} ({connectivity.excitatory.mean():.0%} excitatory)",
        "synapses": f"{connectivity.synapses:,} ({connectivity.source})",
        "model time": f"{seconds:g} s",
        "spikes": f"{spikes:,}",
        "mean rate": f"{mean_rate(spikes, neurons, seconds):.2f} Hz",
        "CV of intervals": f"{cv:.2f}" if np.isfinite(cv) else "too few spikes",
        "time per step": f"{recording.us_per_step:.2f} µs (recording included, compilation not)",
        "real-time factor": f"{recording.seconds / seconds:.3f} (wall clock / model time)",
        "synaptic events": f"{events / 1e6:,.1f} million per second",
    }
    if isinstance(placement, EqualBlocks):
        rows["devices"] = f"{placement.devices} (processes: {jax.process_count()})"
        sent = f"{placement.exchanged_bytes:,} bytes to each device"
        rows["exchange per step"] = f"all-gather of spikes, {sent}"
    table = with_backends(title, rows, ran_on)
    if recording.lost:
        table.caption = f"{recording.lost:,} spikes of crowded steps are counted, but not in the raster."
    return table


def synaptic_events(ids: np.ndarray, connectivity: Connectivity, spikes: int) -> float:
    """Return spikes times the mean out-degree of the neurons that fired, taken from the listed spikes."""
    if not ids.size:
        return 0.0
    return spikes * float(np.diff(connectivity.indptr)[ids].mean())


def save_figure(recording: Recording, excitatory: np.ndarray, model: BalancedParameters, path: Path) -> None:
    """Draw the last second into a PNG (or whatever matplotlib writes for this suffix)."""
    first, dt, neurons = max(0, recording.steps - model.steps(SHOWN_SECONDS)), model.dt, excitatory.size
    mean = mean_rate(recording.spikes, neurons, recording.steps * dt * 1e-3)
    with figures.saved_figure(path, size=(10, 7.5), font_size=13) as figure:
        heights = {"height_ratios": [3, 1, 1.2]}
        raster, rate, potential = figure.subplots(3, 1, sharex=True, gridspec_kw=heights)
        figures.draw_rate(rate, recording.counts[first:], neurons, dt, BIN_MS, first, **LINE)
        figures.draw_level(rate, mean, f"mean\n{mean:.1f} Hz")
        rate.set_ylim(bottom=0)
        draw_potential(potential, recording, model, first)
        potential.set_xlabel("Time (ms)")
        figures.draw_raster(raster, recording, excitatory, dt, range(first, recording.steps))
        raster.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, markerscale=5, borderpad=0)
        figures.name_panels(raster, rate, potential, x=-0.085)
        figure.align_ylabels()


def draw_potential(axes: Axes, recording: Recording, model: BalancedParameters, first: int) -> None:
    """Draw the traced neuron with the median number of spikes in view; a reset is drawn as a spike."""
    V_m = recording.traces["V_m"][first:]
    fired = (V_m == np.float32(model.V_reset)) & (np.roll(V_m, 1, axis=0) > model.V_reset)
    fired[0] = False
    totals = fired.sum(axis=0)
    neuron = int(np.argsort(totals, kind="stable")[totals.size // 2])
    time = (first + np.arange(len(V_m))) * model.dt
    axes.plot(time, V_m[:, neuron], **LINE)
    axes.vlines(time[fired[:, neuron]], model.V_th, SPIKE_TIP_MV, **LINE)
    figures.draw_level(axes, model.V_th, "$V_{th}$")
    axes.set_ylabel("$V_m$ (mV)")
    axes.set_ylim(top=SPIKE_TIP_MV + 2)
