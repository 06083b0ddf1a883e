"""The state of a simulation in a file, so that another run goes on from there, to the same spikes.

Random numbers are functions of seed and step, so that no generator has a state to be saved.
"""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import pack_events, spike_compact, unpack_events
from event_ops.network import State as NetworkState
from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import CORTEX, THALAMUS, State
from event_ops_harness.networks.microcircuit.rows import SLOTS

Arrays = dict[str, Any]


class CheckpointError(ValueError):
    """This simulation cannot go on from a file; the message is one line for the user."""


def save_checkpoint(path: Path, state: State | NetworkState, model: Microcircuit, seed: int) -> None:
    """Write the state, with its model and seed, as an .npz file."""
    arrays = arrays_of(state, model)
    np.savez(path, belongs_to=description(model, seed), **jax.tree.map(np.asarray, arrays))


def load_checkpoint(path: Path, model: Microcircuit, seed: int, *, procedural: bool) -> Arrays:
    """Read the arrays of a state. Raise CheckpointError unless it is of this model, seed, and kind."""
    try:
        with np.load(path) as stored:
            belongs_to = str(stored["belongs_to"])
            arrays = {name: stored[name] for name in State._fields}
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{path}: not a checkpoint of this program ({reason})") from error
    expected = description(model, seed)
    if belongs_to != expected:
        old, new = json.loads(belongs_to), json.loads(expected)
        differing = ", ".join(f"{k} {old.get(k)}, not {new[k]}" for k in new if old.get(k) != new[k])
        raise CheckpointError(f"{path}: a checkpoint of another simulation: {differing}")
    # Spikes that are under way are flags, pending currents floats: see `delivery.py`.
    ways = {"bool": False, "float32": True}
    if (written := ways.get(str(arrays["pending"].dtype))) is None:
        raise CheckpointError(f"{path}: a checkpoint of an older version of this program: begin anew")
    if written != procedural:
        raise CheckpointError(f"{path}: with --procedural, or without, as it was written: go on the same way")
    return arrays


def arrays_of(state: State | NetworkState, model: Microcircuit) -> Arrays:
    """Return the arrays of a checkpoint, the same however the network runs: spikes under way are flags."""
    if isinstance(state, State):
        # On the host: with several processes no other arrays could take part.
        arrays = jax.tree.map(np.asarray, state._asdict())
        arrays["thalamic"] = arrays["thalamic"] > 0
        if arrays["pending"].dtype == np.int32:
            flags = np.zeros((SLOTS, model.neurons + 1), bool)  # the last are the padding's
            np.put_along_axis(flags, arrays["pending"], True, axis=1)
            arrays["pending"] = flags[:, :-1]
        return arrays
    several = isinstance(state.history, dict)
    neurons = state.neurons[CORTEX] if several else state.neurons
    history = state.history if several else {CORTEX: state.history}
    sizes = {CORTEX: model.neurons, THALAMUS: model.thalamic_neurons}
    none = jnp.zeros((SLOTS, model.thalamic_neurons), bool)
    flags = {x: jax.vmap(partial(unpack_events, n=sizes[x]))(bits) for x, bits in history.items()}
    return {**neurons, "pending": flags[CORTEX], "thalamic": flags.get(THALAMUS, none), "t": state.step}


def resumed(start: Any, arrays: Arrays) -> Any:
    """Return the state of these arrays, of the kind of `start`: of a run in one call, or of the steps."""
    arrays = jax.tree.map(jnp.asarray, arrays)
    if isinstance(start, NetworkState):
        neurons = {name: arrays[name] for name in ("V_m", "refractory", "I_syn")}
        history, thalamic = (jax.vmap(pack_events)(arrays[name]) for name in ("pending", "thalamic"))
        if isinstance(start.history, dict):
            neurons = start.neurons | {CORTEX: neurons}
            history = {CORTEX: history, THALAMUS: thalamic}
        return start._replace(neurons=neurons, history=history, step=arrays["t"])
    arrays["thalamic"] = arrays["thalamic"].astype(jnp.float32)
    if start.pending.dtype == jnp.int32:
        room = start.pending.shape[1]
        arrays["pending"], counts = jax.vmap(partial(spike_compact, capacity=room))(arrays["pending"])
        if counts.max() > room:
            raise CheckpointError(f"a step has {counts.max()} spikes, and room for {room}: use one device")
    return State(**arrays)


def description(model: Microcircuit, seed: int) -> str:
    return json.dumps({**asdict(model), "seed": seed}, sort_keys=True)
