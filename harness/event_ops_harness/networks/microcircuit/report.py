"""The table at the end of a simulation."""

from dataclasses import dataclass

import numpy as np
from rich.table import Table

from event_ops_harness.networks.microcircuit.connectivity import Drawing
from event_ops_harness.networks.microcircuit.model import FULL_RATES, POPULATIONS, Microcircuit
from event_ops_harness.networks.microcircuit.network import Wiring
from event_ops_harness.networks.microcircuit.statistics import Spikes, neuron_cvs, neuron_rates
from event_ops_harness.networks.shared.display import quantities
from event_ops_harness.networks.shared.simulation import Recording
from event_ops_harness.networks.shared.worker import peak_memory
from ffi_bridge.operators import Explanation

# Hz, of one run of NEST 3.10 of 1 s at scale 0.1 with the Poisson drive.
TENTH_RATES = np.array([0.517, 2.12, 3.96, 5.01, 6.48, 7.82, 0.838, 7.01])


@dataclass(frozen=True)
class Costs:
    """Hold what a run took."""

    model_seconds: float
    seconds: float  # wall clock of the loop
    build_seconds: float
    synapses: int
    stored_bytes: int  # of the synapses, on all devices
    synaptic_events: int

    @classmethod
    def of(
        cls, recording: Recording, drawn: Drawing, wiring: Wiring, model: Microcircuit, build_seconds: float
    ) -> "Costs":
        return cls(
            model_seconds=recording.steps * model.dt * 1e-3,
            seconds=recording.seconds,
            build_seconds=build_seconds,
            synapses=drawn.synapses,
            stored_bytes=sum(x.nbytes for x in wiring.recurrent),
            synaptic_events=int(drawn.out_degrees[recording.ids].sum(dtype=np.int64)),
        )


def populations_table(spikes: Spikes, model: Microcircuit) -> Table:
    """Return a row per population: neurons, rate beside the references, regularity."""
    table = Table(title=f"Microcircuit, {model.drive} drive", title_justify="left")
    table.add_column("population")
    for heading in ("neurons", "rate Hz", "NEST, full", "NEST, 0.1", "CV", "spiking"):
        table.add_column(heading, justify="right")
    rates, cvs = neuron_rates(spikes, model), neuron_cvs(spikes, model)
    for i, name in enumerate(POPULATIONS):
        own = slice(model.first[i], model.first[i + 1])
        regular = cvs[own][~np.isnan(cvs[own])]
        table.add_row(
            name,
            f"{model.sizes[i]:,}",
            f"{rates[own].mean():.3f}",
            f"{FULL_RATES[i]:.3f}",
            f"{TENTH_RATES[i]:.3f}",
            f"{regular.mean():.2f}" if regular.size else "too few spikes",
            f"{(rates[own] > 0).mean():.0%}",
        )
    return table


def costs_table(costs: Costs, ran_on: list[Explanation]) -> Table:
    """Return two columns: quantity and value."""
    per_synapse = costs.stored_bytes / max(1, costs.synapses)
    ratio = costs.seconds / costs.model_seconds
    rows = {
        "synapses": f"{costs.synapses:,}, built in {costs.build_seconds:.1f} s",
        "model time": f"{costs.model_seconds:g} s in {costs.seconds:.2f} s (compilation left out)",
        "real-time factor": f"{ratio:.3f} (wall clock / model time, recording included)",
        "synaptic events": f"{costs.synaptic_events / costs.seconds / 1e6:,.1f} million per second",
        "memory": f"{per_synapse:.2f} bytes per synapse; peak of the process {peak_memory() / 1e9:.2f} GB",
        "backends": ", ".join(f"{each.operator}: {each.backend}" for each in ran_on),
    }
    return quantities(rows)
