"""Run one of the processes of `bench devices` or `bench processes`; a request names its `program`.

There are the CUBA network, the network with static synapses, and all-gathers one after the other.
"""

import argparse
import hashlib
import statistics
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

from event_ops_harness.networks.balanced.cli import build, program_of
from event_ops_harness.networks.cuba import CUBA
from event_ops_harness.networks.hpc_benchmark import static
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.shared.blocks import AXIS, EqualBlocks, placed
from event_ops_harness.networks.shared.processes import mesh_of_options

AT_ONCE, LOOPS = 100, 5


def exchanged(devices: int, x: jax.Array) -> jax.Array:
    """Exchange messages, each of which depends on the exchange before it."""

    def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
        # Divided, so that nothing overflows; + 1, so that each exchange has other numbers.
        return jax.lax.all_gather(x, AXIS).sum(axis=0, dtype=x.dtype) // devices + 1, None

    return jax.lax.scan(step, x, length=AT_ONCE)[0]


def mesh_for(request: Mapping[str, Any], neurons: int) -> Any:
    """Return the devices that a request asks for, once its processes have met."""
    names = ("devices", "processes", "coordinator", "process-id")
    options = argparse.Namespace(**{x.replace("-", "_"): request.get(x) for x in names})
    return mesh_of_options(options, neurons)


def all_gathers(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the median time of an all-gather by the bytes that a device sends."""
    devices, medians = request["devices"], {}
    mesh = mesh_for(request, devices)
    each = jax.shard_map(partial(exchanged, devices), mesh=mesh, in_specs=P(AXIS), out_specs=P(AXIS))
    for size in request["bytes"]:
        x = placed(jnp.zeros(devices * size // 4, jnp.int32), mesh, P(AXIS))
        run, times = jax.jit(each).lower(x).compile(), []
        for _ in range(1 + LOOPS):
            begun = time.perf_counter()
            jax.block_until_ready(run(x))
            times.append((time.perf_counter() - begun) / AT_ONCE)
        medians[str(size)] = statistics.median(times[1:])
    return {"seconds": medians}


def cuba(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wall clock of the loop, without compiling and building, and how many spikes there were."""
    words = [word for name, value in request.items() for word in (f"--{name}", str(value))]
    simulation, connectivity = build(CUBA, program_of(CUBA).parser.parse_args(words))
    _, recording = simulation.run()
    return {"seconds": recording.seconds, "spikes": recording.spikes, "synapses": connectivity.synapses}


def static_network(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wall clock of stretches of `intervals` delays, after one that is not measured, and spikes.

    `spikes` counts those of all stretches, and `digest` is of who spiked in which step.
    """
    model, intervals = HpcBenchmark(scale=request["scale"]), request["intervals"]
    blocks = EqualBlocks(model.neurons, mesh_for(request, model.neurons))
    arguments = static.first_state(model, 1, blocks), static.connect(model, 1, blocks)
    run = static.compile_intervals(model, 1, blocks, arguments, intervals)
    (state, synapses), digest, seconds, spikes = jax.block_until_ready(arguments), hashlib.sha256(), [], 0
    for _ in range(1 + request["stretches"]):
        begun = time.perf_counter()
        state, lists = jax.block_until_ready(run(state, synapses))
        seconds.append((time.perf_counter() - begun) / (intervals * model.delay_steps))
        static.check_lists(lists)
        digest.update(np.asarray(lists.ids).tobytes())
        spikes += int(np.asarray(lists.counts).sum())
    return {"seconds": seconds[1:], "spikes": spikes, "digest": digest.hexdigest()}


PROGRAMS = {"all_gather": all_gathers, "cuba": cuba, "static_network": static_network}


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of the program that a request names."""
    return PROGRAMS[request.pop("program")](request)
