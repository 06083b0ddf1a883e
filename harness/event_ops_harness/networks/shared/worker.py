"""Answer as a rival with a simulation of ours; the protocol is in ``rivals.py``.

Spikes are counted, not recorded, as other simulators do without a recorder.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.network import Network
from event_ops_harness.networks.shared.simulation import Step

Counted = tuple[Any, jax.Array]  # the state, and the spikes up to it


def counting(step: Step) -> Callable[[Counted, Any], Counted]:
    """Return the step that adds its spikes to the count."""

    def counted(carry: Counted, wiring: Any) -> Counted:
        state, spikes = step(carry[0], wiring)
        return state, carry[1] + spikes.count

    return counted


def counting_scan(
    step: Step, steps: int, state: Any, wiring: Any, **how: Any
) -> Callable[[Any, Any], Counted]:
    """Compile the scan over `steps` steps, with `how` for `jax.jit`; the state is updated in place."""
    move = counting(step)

    def run(state: Any, wiring: Any) -> Counted:
        carry = state, jnp.zeros((), jnp.int32)
        return jax.lax.scan(lambda carry, _: (move(carry, wiring), None), carry, length=steps)[0]

    return jax.jit(run, donate_argnums=0, **how).lower(state, wiring).compile()


def counting_run(steps: int, state: Any, network: Network, **how: Any) -> Callable[[Any, Network], Counted]:
    """Compile a run of a declared network, as `counting_scan` compiles a scan: the network is the wiring."""
    run = counting_stages(steps, state, {0: network}, **how)
    return lambda state, network: run(state, {0: network})


def counting_stages(
    steps: int, state: Any, stages: Mapping[int, Network], *, backend: str | None = None, **how: Any
) -> Callable[[Any, Mapping[int, Network]], Counted]:
    """Compile a run of networks that follow each other: the step from which on one runs -> this network.

    `backend` is that of `Network.run`.
    """
    starts = [*(start for start in stages if start < steps), steps]

    def run(state: Any, stages: Mapping[int, Network]) -> Counted:
        count = jnp.zeros((), jnp.int32)
        for start, end in pairwise(starts):
            state, recording = stages[start].run(state, end - start, backend=backend)
            count += recording.num_spikes
        return state, count

    return jax.jit(run, donate_argnums=0, **how).lower(state, stages).compile()


def timed(run: Callable[[Any, Any], Counted], state: Any, wiring: Any) -> tuple[Any, dict[str, float]]:
    """Run a scan; return the state, and the wall clock and the spikes of the scan."""
    jax.block_until_ready(state)
    start = time.perf_counter()
    state, count = run(state, wiring)
    # To read the number is to wait for the scan.
    spikes = int(count)
    return state, {"seconds": time.perf_counter() - start, "spikes": spikes}


def peak_memory() -> int:
    """Return the peak of this process's resident memory, in bytes."""
    # macOS counts bytes, Linux kilobytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def serve(simulate: Callable[[], dict[str, float]], **ready: Any) -> None:
    """Say that the network is built and compiled, then simulate once per line of stdin."""
    versions = {name: version(name) for name in ("jax", "jaxlib", "numba", "numpy")}
    print(json.dumps({"ready": {**versions, **ready}}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(simulate()), flush=True)
