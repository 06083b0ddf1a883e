"""The state of a simulation in a file, so that another run goes on from there, to the same spikes.

Random numbers are functions of seed and step, so that no generator has a state to be saved.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from event_ops_harness.networks.microcircuit.model import Microcircuit
from event_ops_harness.networks.microcircuit.network import State


class CheckpointError(ValueError):
    """This simulation cannot go on from a file; the message is one line for the user."""


def save_checkpoint(path: Path, state: State, model: Microcircuit, seed: int) -> None:
    """Write the state, with its model and seed, as an .npz file."""
    arrays: dict[str, Any] = {name: np.asarray(x) for name, x in state._asdict().items()}
    np.savez(path, belongs_to=description(model, seed), **arrays)


def load_checkpoint(path: Path, model: Microcircuit, seed: int, start: State) -> State:
    """Read a state. Raise CheckpointError unless it is of this model and seed, and like `start`."""
    try:
        with np.load(path) as stored:
            belongs_to = str(stored["belongs_to"])
            state = State(*(jnp.asarray(stored[name]) for name in State._fields))
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{path}: not a checkpoint of this program ({reason})") from error
    expected = description(model, seed)
    if belongs_to != expected:
        old, new = json.loads(belongs_to), json.loads(expected)
        differing = ", ".join(f"{k} {old.get(k)}, not {new[k]}" for k in new if old.get(k) != new[k])
        raise CheckpointError(f"{path}: a checkpoint of another simulation: {differing}")
    # Lists of spikes are integers, pending currents floats: see `delivery.py`.
    if state.pending.dtype != start.pending.dtype:
        raise CheckpointError(f"{path}: with --procedural, or without, as it was written: go on the same way")
    return state


def description(model: Microcircuit, seed: int) -> str:
    return json.dumps({**asdict(model), "seed": seed}, sort_keys=True)
