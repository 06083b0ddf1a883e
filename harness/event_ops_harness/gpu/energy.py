"""Measure the energy of a synaptic event in the microcircuit, by the GPU's own counter of joules.

The counter is NVML's, of the board: without the host, its memory and the power supply; it moves every tenth
of a second or so. As the table of results of the network asks for, 10 s of model time count, after 0.5 s that
do not. An event is a spike that arrives at a synapse.
"""

import argparse
import ctypes
import json
import time
from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np

from event_ops.network import Record
from event_ops_harness.networks.microcircuit.connectivity import Synapses, recurrent_connectivity
from event_ops_harness.networks.microcircuit.declared import declared, first_state
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.rows import SLOTS

BEFORE, MEASURED, STRETCHES = 0.5, 10.0, 3  # seconds of model time, and how often these are measured
MOST_HZ: Final = 6.0  # that there is room for; the mean rate is 3.2
SEED = 1


def nvml_counter() -> Callable[[], float]:
    """Return the function for the joules that the machine's one GPU has used since its driver was loaded.

    Raise RuntimeError where NVML is missing, refuses, or sees several GPUs.
    """
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError as error:
        raise RuntimeError(f"energy is read by NVML, and this machine has none ({error})") from error

    def call(name: str, *arguments: Any) -> None:
        if status := getattr(nvml, name)(*arguments):
            raise RuntimeError(f"{name} failed with {status}")

    count, device, millijoules = ctypes.c_uint(), ctypes.c_void_p(), ctypes.c_ulonglong()
    call("nvmlInit_v2")
    call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    if count.value != 1:
        raise RuntimeError(f"NVML sees {count.value} GPUs; expected one, whose energy is that of the run")
    call("nvmlDeviceGetHandleByIndex_v2", 0, ctypes.byref(device))

    def joules() -> float:
        call("nvmlDeviceGetTotalEnergyConsumption", device, ctypes.byref(millijoules))
        return millijoules.value * 1e-3

    joules()
    return joules


def out_degrees(synapses: Synapses) -> np.ndarray:
    """Return the number of synapses that each neuron sends through."""
    ends = np.asarray(synapses.indptr)[:, ::SLOTS].astype(np.int64)
    return np.diff(ends, axis=1).sum(axis=0)


def measured(scale: float, joules: Callable[[], float]) -> dict[str, float]:
    """Run the network, and return its energy, events and power, of all stretches together."""
    model = Microcircuit(N_scaling=scale, K_scaling=scale)
    synapses = recurrent_connectivity(model, SEED)
    assert isinstance(synapses, Synapses)
    room = int(MOST_HZ * MEASURED * model.neurons)
    network = declared(model, synapses, Record(spikes=room))
    state = first_state(network, model, SEED)
    before, steps = model.steps(BEFORE), model.steps(MEASURED)
    state, _ = jax.jit(lambda network, state: network.run(state, before))(network, state)
    run = jax.jit(lambda network, state: network.run(state, steps), donate_argnums=1)
    program = run.lower(network, state).compile()
    each, events, used, took = out_degrees(synapses), 0, 0.0, 0.0
    for _ in range(STRETCHES):
        jax.block_until_ready(state)
        begin, started = joules(), time.perf_counter()
        state, recording = jax.block_until_ready(program(network, state))
        used, took = used + joules() - begin, took + time.perf_counter() - started
        count = int(recording.num_spikes)
        if count > room:
            raise RuntimeError(f"{count} spikes, and room for {room}; raise MOST_HZ")
        events += int(each[np.asarray(recording.spikes[1][:count])].sum())
    name = f"microcircuit {scale:g}"
    return {
        f"{name}, uJ a synaptic event": used / events * 1e6,
        f"{name}, synaptic events": events,
        f"{name}, W": used / took,
        f"{name}, times real time": took / STRETCHES / MEASURED,
    }


def main(argv: list[str] | None = None) -> None:
    """Print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    print(json.dumps(measured(parser.parse_args(argv).scale, nvml_counter())))


if __name__ == "__main__":
    main()
