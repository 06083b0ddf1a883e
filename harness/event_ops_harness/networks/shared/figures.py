"""Draw the panels that figures of networks share: rasters, rates, weights, levels."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from event_ops_harness.networks.shared.simulation import Recording
from event_ops_harness.networks.shared.statistics import binned_rate

COLOURS = {"excitatory": "#2166ac", "inhibitory": "#b2182b"}
DOTS_PER_INCH = 160
WEIGHT_BINS = 60
STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 1.0,
    "legend.frameon": False,
}


@contextmanager
def saved_figure(path: Path, size: tuple[float, float], font_size: float) -> Iterator[Figure]:
    """Yield a figure, then save it as a PNG, or whatever Matplotlib writes for this suffix."""
    with mpl.rc_context({**STYLE, "font.size": font_size}):
        # Without pyplot, which would keep the figure and choose a window system.
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        figure.savefig(path, dpi=DOTS_PER_INCH)


def name_panels(*panels: Axes, x: float = 0.0) -> None:
    """Name the panels a, b, c and so on, at their upper left corners."""
    for axes, letter in zip(panels, "abcdefgh", strict=False):
        axes.set_title(letter, loc="left", x=x, fontweight="bold")


def draw_raster(
    axes: Axes, recording: Recording, excitatory: np.ndarray, dt: float, steps: range, shown: int = 500
) -> None:
    """Draw one row per neuron, inhibitory ones on top; of many neurons a regular subset.

    excitatory: (neurons,), bool. dt: of a step, in ms, the unit of the axis. steps: of the recording.
    """
    neurons = excitatory.size
    recorded = np.arange(0, neurons, recording.recorder.stride)
    chosen = recorded[:: -(-recorded.size // shown)]
    # A matrix from a file may mix both kinds.
    chosen = chosen[np.argsort(~excitatory[chosen], kind="stable")]
    row = np.full(neurons, -1)
    row[chosen] = np.arange(chosen.size)
    times, ids = recording.times, recording.ids
    seen = (times >= steps.start) & (times < steps.stop) & (row[ids] >= 0)
    times, ids = times[seen] * dt, ids[seen]
    for name, kind in kinds_of(excitatory).items():
        of_kind = kind[ids]
        axes.plot(times[of_kind], row[ids[of_kind]], ".", ms=3, mew=0, color=COLOURS[name], label=name)
    axes.set_xlim(steps.start * dt, steps.stop * dt)
    axes.set_ylim(-0.01 * chosen.size, 1.01 * chosen.size)
    axes.set_ylabel("Neuron" + (f" ({chosen.size:,} of {neurons:,})" if chosen.size < neurons else ""))


def kinds_of(excitatory: np.ndarray) -> dict[str, np.ndarray]:
    """Return which neurons are excitatory, and which inhibitory."""
    return {"excitatory": excitatory, "inhibitory": ~excitatory}


def draw_rate(
    axes: Axes, counts: np.ndarray, neurons: int, dt: float, bin_ms: float, first: int = 0, **style: Any
) -> None:
    """Draw the rate of a population in bins, from its spikes in each step from `first` on.

    dt: of a step, in ms, the unit of the axis.
    """
    per_bin = max(1, round(bin_ms / dt))
    rate = binned_rate(counts, per_bin, neurons, dt)
    edges = (first + per_bin * np.arange(rate.size + 1)) * dt
    axes.stairs(rate, edges, baseline=None, **style)
    axes.set_ylabel("Rate (Hz)")


def draw_rates(axes: Axes, recording: Recording, excitatory: np.ndarray, dt: float, bin_ms: float) -> None:
    """Draw the rates of excitatory and of inhibitory neurons, as `draw_rate` does."""
    for name, kind in kinds_of(excitatory).items():
        counts = np.bincount(recording.times[kind[recording.ids]], minlength=recording.steps)
        draw_rate(axes, counts, int(kind.sum()), dt, bin_ms, color=COLOURS[name], label=name)
    axes.legend()


def draw_weights(axes: Axes, weights: np.ndarray, kind: str, label: str) -> None:
    """Draw how many synapses have which weight."""
    axes.hist(weights, WEIGHT_BINS, color=COLOURS[kind])
    axes.set(xlabel=label, ylabel="Synapses", yscale="log")


def draw_level(axes: Axes, level: float, label: str) -> None:
    """Draw a dashed line, named in the right margin, where it hides no data."""
    axes.axhline(level, color="0.6", linestyle="--", linewidth=1.0)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(label, (1.0, level), xytext=(4, 0), va="center", color="0.4", **place)
