"""The table and the figure at the end of a simulation: a raster, the population rate, one potential."""

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from matplotlib.axes import Axes
from rich.table import Table

from event_ops_harness.networks.balanced.connectivity import Connectivity
from event_ops_harness.networks.balanced.network import BalancedParameters
from event_ops_harness.networks.shared.blocks import OneDevice, PackedBlocks
from event_ops_harness.networks.shared.display import (
    EXCITATORY_COLOUR,
    INHIBITORY_COLOUR,
    saved_figure,
    with_backends,
)
from event_ops_harness.networks.shared.simulation import Recording
from event_ops_harness.networks.shared.statistics import binned_rate, interval_cv, mean_rate
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
    """Return two columns: quantity and value. Without explanations the step was one kernel."""
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


SHOWN_SECONDS = 1.0  # the last second
SHOWN_NEURONS = 500
BIN_MS = 2.0
SPIKE_TIP_MV = -30.0  # integrate-and-fire neurons have no spike shape: drawn up to here
COLOURS = {"excitatory": EXCITATORY_COLOUR, "inhibitory": INHIBITORY_COLOUR}
LINE_COLOUR = "#333333"


def save_figure(recording: Recording, excitatory: np.ndarray, model: BalancedParameters, path: Path) -> None:
    """Draw the last second into a PNG (or whatever matplotlib writes for this suffix)."""
    first = max(0, recording.steps - model.steps(SHOWN_SECONDS))
    with saved_figure(path, size=(10, 7.5), font_size=13) as figure:
        raster, rate, potential = figure.subplots(
            3, 1, sharex=True, gridspec_kw={"height_ratios": [3, 1, 1.2]}
        )
        draw_raster(raster, recording, excitatory, model, first)
        draw_rate(rate, recording, model, first)
        draw_potential(potential, recording, model, first)
        potential.set_xlabel("Time (ms)")
        potential.set_xlim(first * model.dt, recording.steps * model.dt)
        for axes, letter in ((raster, "a"), (rate, "b"), (potential, "c")):
            axes.set_title(letter, loc="left", x=-0.085, fontweight="bold")
        figure.align_ylabels()


def draw_raster(
    axes: Axes, recording: Recording, excitatory: np.ndarray, model: BalancedParameters, first: int
) -> None:
    """Draw one row per neuron, inhibitory ones on top; of many neurons a regular subset."""
    steps, ids, neurons = recording.times, recording.ids, excitatory.size
    recorded = np.arange(0, neurons, recording.recorder.stride)
    shown = recorded[:: -(-recorded.size // SHOWN_NEURONS)]
    shown = shown[np.argsort(~excitatory[shown], kind="stable")]
    row = np.full(neurons, -1)
    row[shown] = np.arange(shown.size)
    seen = (steps >= first) & (row[ids] >= 0)
    steps, ids = steps[seen], ids[seen]
    for label, kind in (("inhibitory", ~excitatory), ("excitatory", excitatory)):
        mine = kind[ids]
        colour = COLOURS[label]
        axes.plot(steps[mine] * model.dt, row[ids[mine]], ".", ms=3, mew=0, color=colour, label=label)
    subset = f" ({shown.size:,} of {neurons:,})"
    axes.set_ylabel("Neuron" + (subset if shown.size < neurons else ""))
    axes.set_ylim(-0.01 * shown.size, 1.01 * shown.size)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, markerscale=5, borderpad=0)


def draw_rate(axes: Axes, recording: Recording, model: BalancedParameters, first: int) -> None:
    """Draw the population rate in bins, and its mean over the whole simulation."""
    steps_per_bin = max(1, round(BIN_MS / model.dt))
    neurons = recording.recorder.neurons
    rate = binned_rate(recording.counts[first:], steps_per_bin, neurons, model.dt)
    edges = (first + steps_per_bin * np.arange(rate.size + 1)) * model.dt
    axes.stairs(rate, edges, baseline=None, color=LINE_COLOUR, linewidth=1.0)
    mean = mean_rate(recording.spikes, neurons, recording.steps * model.dt * 1e-3)
    draw_level(axes, mean, f"mean\n{mean:.1f} Hz")
    axes.set_ylabel("Rate (Hz)")
    axes.set_ylim(bottom=0)


def draw_potential(axes: Axes, recording: Recording, model: BalancedParameters, first: int) -> None:
    """Draw the traced neuron with the median number of spikes in view; a reset is drawn as a spike."""
    V_m = recording.traces[first:]
    fired = (V_m == np.float32(model.V_reset)) & (np.roll(V_m, 1, axis=0) > model.V_reset)
    fired[0] = False
    totals = fired.sum(axis=0)
    neuron = int(np.argsort(totals, kind="stable")[totals.size // 2])
    time = (first + np.arange(len(V_m))) * model.dt
    axes.plot(time, V_m[:, neuron], color=LINE_COLOUR, linewidth=1.0)
    axes.vlines(time[fired[:, neuron]], model.V_th, SPIKE_TIP_MV, color=LINE_COLOUR, linewidth=1.0)
    draw_level(axes, model.V_th, "$V_{th}$")
    axes.set_ylabel("$V_m$ (mV)")
    axes.set_ylim(top=SPIKE_TIP_MV + 2)


def draw_level(axes: Axes, level: float, label: str) -> None:
    """Draw a dashed line, named in the right margin, where it hides no data."""
    axes.axhline(level, color="0.6", linestyle="--", linewidth=1.0)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(label, (1.0, level), xytext=(4, 0), va="center", color="0.4", **place)
