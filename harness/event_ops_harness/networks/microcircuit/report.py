"""The tables at the end of a simulation, and the figure: a raster by layer, rates and CVs by population."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from rich.table import Table

from event_ops_harness.networks.microcircuit.connectivity import Drawing
from event_ops_harness.networks.microcircuit.model import EXCITATORY, FULL_RATES, POPULATIONS, Microcircuit
from event_ops_harness.networks.microcircuit.network import Wiring
from event_ops_harness.networks.microcircuit.statistics import Spikes, distributions, neuron_cvs, neuron_rates
from event_ops_harness.networks.shared import figures
from event_ops_harness.networks.shared.display import quantities
from event_ops_harness.networks.shared.simulation import Recording
from event_ops_harness.networks.shared.worker import peak_memory
from ffi_bridge.operators import Explanation

# Hz, of one run of NEST 3.10 of 1 s at scale 0.1 with the Poisson drive.
TENTH_RATES = np.array([0.517, 2.12, 3.96, 5.01, 6.48, 7.82, 0.838, 7.01])


def populations_table(spikes: Spikes, model: Microcircuit) -> Table:
    """Return a row per population: neurons, rate beside the references, regularity."""
    table = Table(title=f"Microcircuit, {model.drive} drive", title_justify="left")
    table.add_column("population")
    for heading in ("neurons", "rate Hz", "NEST, full", "NEST, 0.1", "CV", "spiking"):
        table.add_column(heading, justify="right")
    rates, cvs = neuron_rates(spikes, model), neuron_cvs(spikes, model)
    for i, name in enumerate(POPULATIONS):
        members = slice(model.first[i], model.first[i + 1])
        regular = cvs[members][~np.isnan(cvs[members])]
        table.add_row(
            name,
            f"{model.sizes[i]:,}",
            f"{rates[members].mean():.3f}",
            f"{FULL_RATES[i]:.3f}",
            f"{TENTH_RATES[i]:.3f}",
            f"{regular.mean():.2f}" if regular.size else "too few spikes",
            f"{(rates[members] > 0).mean():.0%}",
        )
    return table


def costs_table(
    recording: Recording,
    drawn: Drawing,
    wiring: Wiring,
    model: Microcircuit,
    build_seconds: float,
    ran_on: list[Explanation] | str,
) -> Table:
    """Return two columns: quantity and value."""
    seconds, model_seconds = recording.seconds, recording.steps * model.dt * 1e-3
    stored = sum(x.nbytes for x in wiring.recurrent) / max(1, drawn.synapses)  # on all devices
    events = int(drawn.out_degrees[recording.ids].sum(dtype=np.int64)) / seconds
    rows = {
        "synapses": f"{drawn.synapses:,}, built in {build_seconds:.1f} s",
        "model time": f"{model_seconds:g} s in {seconds:.2f} s (compilation left out)",
        "real-time factor": f"{seconds / model_seconds:.3f} (wall clock / model time, recording included)",
        "synaptic events": f"{events / 1e6:,.1f} million per second",
        "memory": f"{stored:.2f} bytes per synapse; peak of the process {peak_memory() / 1e9:.2f} GB",
        "backends": ran_on
        if isinstance(ran_on, str)
        else ", ".join(f"{each.operator}: {each.backend}" for each in ran_on),
    }
    return quantities(rows)


SHOWN_SECONDS = 0.4  # the last ones
SHOWN_NEURONS = 8000
COLOURS = np.where(EXCITATORY, *figures.COLOURS.values())


def save_figure(spikes: Spikes, model: Microcircuit, path: Path) -> None:
    """Draw raster, rates and CVs into a PNG, or whatever Matplotlib writes for this suffix."""
    with figures.saved_figure(path, size=(12, 7), font_size=12) as figure:
        grid = figure.add_gridspec(2, 2, width_ratios=[1.7, 1])
        raster = figure.add_subplot(grid[:, 0])
        rates, cvs = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])
        draw_raster(raster, spikes, model)
        by_population = distributions(spikes, model)
        draw_boxes(rates, [by_population[name]["rate"] for name in POPULATIONS])
        rates.plot(
            FULL_RATES, range(len(POPULATIONS)), "D", ms=5, color="k", label="mean, NEST at full scale"
        )
        rates.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2, borderpad=0)
        rates.set_xlabel("Rate (Hz)")
        rates.set_xlim(left=0)
        draw_boxes(cvs, [by_population[name]["cv"] for name in POPULATIONS])
        cvs.set_xlabel("CV of intervals")
        cvs.set_xlim(0, 1.25)
        figures.name_panels(raster, rates, cvs)


def draw_raster(axes: Axes, spikes: Spikes, model: Microcircuit) -> None:
    """Draw one row per neuron, layer 2/3 on top; of many neurons the same part of each population."""
    seen = spikes.after(max(spikes.first, spikes.end - model.steps(SHOWN_SECONDS)))
    stride = -(-model.neurons // SHOWN_NEURONS)
    population = model.per_neuron(np.arange(len(POPULATIONS)))
    shown = seen.ids % stride == 0
    ids, times = seen.ids[shown], seen.times[shown] * model.dt
    for i, colour in enumerate(COLOURS):
        of_population = population[ids] == i
        axes.plot(times[of_population], ids[of_population], ".", ms=2.2, mew=0, color=colour, rasterized=True)
    for label, colour in figures.COLOURS.items():
        axes.plot([], [], ".", ms=10, mew=0, color=colour, label=label)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, handletextpad=0, borderpad=0)
    for edge in model.first[1:-1]:
        axes.axhline(edge, color="0.85", linewidth=0.7, zorder=0)
    axes.set_yticks((model.first[:-1] + model.first[1:]) / 2, POPULATIONS)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(model.neurons, 0)
    axes.set_xlim(seen.first * model.dt, seen.end * model.dt)
    axes.set_xlabel("Time (ms)")
    axes.set_ylabel(f"Neuron (one of {stride} shown)" if stride > 1 else "Neuron")


def draw_boxes(axes: Axes, values: Sequence[np.ndarray]) -> None:
    """Draw a box per population, from quartile to quartile, whiskers from 5 to 95 %."""
    drawn = axes.boxplot(
        values,
        positions=range(len(values)),
        orientation="horizontal",
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        widths=0.6,
        medianprops={"color": "white"},
    )
    for box, colour in zip(drawn["boxes"], COLOURS, strict=True):
        box.set(facecolor=colour, edgecolor=colour)
    axes.set_yticks(range(len(values)), POPULATIONS)
    axes.set_ylim(len(values) - 0.5, -0.5)
