"""Run one process of `bench processes`: all-gathers one after the other, in a loop of one program."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from event_ops_harness.networks.shared.blocks import AXIS, placed
from event_ops_harness.networks.shared.processes import mesh_asked

AT_ONCE, LOOPS = 100, 5


def exchanged(devices: int, x: jax.Array) -> jax.Array:
    """Exchange messages, of which none is known before those of the exchange before it."""

    def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jax.lax.all_gather(x, AXIS).sum(axis=0, dtype=x.dtype) // devices + 1, None

    return jax.lax.scan(step, x, length=AT_ONCE)[0]


def mesh_for(request: Mapping[str, Any], neurons: int) -> Any:
    """Return the devices that a request asks for, once its processes have met."""
    names = ("devices", "processes", "coordinator", "process-id")
    return mesh_asked(argparse.Namespace(**{x.replace("-", "_"): request.get(x) for x in names}), neurons)


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the median time of an all-gather by the bytes that a device sends."""
    devices, found = request["devices"], {}
    mesh = mesh_for(request, devices)
    each = jax.shard_map(partial(exchanged, devices), mesh=mesh, in_specs=P(AXIS), out_specs=P(AXIS))
    for size in request["bytes"]:
        x = placed(jnp.zeros(devices * size // 4, jnp.int32), mesh, P(AXIS))
        run, times = jax.jit(each).lower(x).compile(), []
        for _ in range(1 + LOOPS):
            begun = time.perf_counter()
            jax.block_until_ready(run(x))
            times.append((time.perf_counter() - begun) / AT_ONCE)
        found[str(size)] = statistics.median(times[1:])
    return {"seconds": found}


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
