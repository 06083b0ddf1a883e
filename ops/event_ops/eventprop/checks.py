"""Check arguments of `lif` and `leaky_integrator`, and make the arrays that their operators take."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import (
    FLOATS,
    INDICES,
    as_array,
    check_dtype,
    check_positive,
    check_rank,
    check_same_dtype,
    check_shape,
    is_known,
)
from event_ops.sparse.csr import CSR

_STEPS_OF_TAU: Final = 4  # e**4 of the precision is lost in a step that goes back
_ORDER: Final = ("tau_m", "tau_syn", "t_ref")  # of constants behind dt and the rows of inputs


class Synapses(NamedTuple):
    """Weights and delays of all synapses, a row for each input and then, if recurrent, for each neuron.

    `structure`: indices and indptr of entries; empty where rows are dense and have one delay each.
    """

    weights: jax.Array
    delays: jax.Array
    structure: tuple[jax.Array, ...]
    input_rows: int
    neurons: int

    @classmethod
    def of(cls, weights: Any, delay: Any, recurrent: Any, recurrent_delay: Any, dt: float) -> "Synapses":
        """Return the synapses of inputs and between neurons together; raise where shapes do not fit."""
        given = [("weights", weights, "delay", delay)]
        if recurrent is not None:
            if recurrent_delay is None:
                raise ValueError("recurrent is given without recurrent_delay; expected a delay >= dt in ms")
            given.append(("recurrent", recurrent, "recurrent_delay", recurrent_delay))
        elif recurrent_delay is not None:
            raise ValueError("recurrent_delay is given without recurrent; expected both or none")
        parts = [_part(*names) for names in given]
        (rows, neurons), first = parts[0][0], parts[0][1]
        check_positive("delay", parts[0][2], zero=True)
        for shape, data, delays, _ in parts[1:]:
            if shape != (neurons, neurons):
                raise ValueError(
                    f"recurrent has shape {shape}; expected ({neurons}, {neurons}): neurons by neurons, as "
                    f"weights has shape {(rows, neurons)}"
                )
            check_same_dtype("recurrent", data, "weights", first)
            if is_known(delays) and not bool(np.all(np.asarray(delays) >= np.asarray(dt, delays.dtype))):
                raise ValueError(
                    f"recurrent_delay is or contains {np.asarray(delays).min()}; expected values >= dt = "
                    f"{dt}: spikes of a step arrive in a later one; take a smaller dt, or jnp.maximum of both"
                )
        if all(structure is None and delays.ndim == 1 for *_, delays, structure in parts):
            no_structure: Any = (np.zeros(0, np.int32), np.zeros(0, np.int32))
            return cls(
                _joined([x[1] for x in parts]), _joined([x[2] for x in parts]), no_structure, rows, neurons
            )
        entries = [entries_of(shape, *rest) for shape, *rest in parts]
        data, delays, indices = (_joined([x[k] for x in entries]) for k in range(3))
        ends, total = [jnp.zeros(1, jnp.int32)], 0
        for _, _, columns, indptr in entries:
            ends.append(indptr[1:] + total)
            total += columns.size
        return cls(data, delays, (indices, jnp.concatenate(ends)), rows, neurons)


def _joined(arrays: Sequence[jax.Array]) -> jax.Array:
    return arrays[0] if len(arrays) == 1 else jnp.concatenate(arrays)


def _part(name: str, weights: Any, delay_name: str, delay: Any) -> Any:
    """Return shape, weights, delays of rows or of entries, and the structure of sparse weights or None."""
    structure = None
    if isinstance(weights, CSR):
        if weights.transposed:
            raise ValueError(
                f"{name} is a transposed CSR; expected rows of presynaptic neurons: of A.T.todense(), say"
            )
        data = jnp.broadcast_to(weights.data, weights.indices.shape)
        shape, structure = weights.shape, (weights.indices, weights.indptr)
        allowed, whole = ((), data.shape), data.shape
    else:
        data = as_array(weights, name)
        check_rank(name, data, 2, "(presynaptic, postsynaptic), or a CSR")
        shape = data.shape
        allowed, whole = ((), shape[:1], shape), shape[:1]
    check_dtype(name, data, FLOATS)
    delays = (
        jnp.asarray(delay, data.dtype) if isinstance(delay, (int, float)) else as_array(delay, delay_name)
    )
    check_same_dtype(delay_name, delays, name, data)
    check_shape(delay_name, delays, *allowed, why="one delay for all, or one for each row or weight")
    return shape, data, jnp.broadcast_to(delays, whole) if delays.ndim == 0 else delays, structure


def entries_of(shape: Any, data: Any, delays: Any, structure: Any) -> Any:
    """Return data, delays, columns and ends of rows of all entries of a part."""
    rows, columns = shape
    if structure is not None:
        # What is out of range stays so in 32 bits.
        indices, ends = jnp.clip(structure[0], -1, columns), jnp.clip(structure[1], 0, data.size)
        return data, delays, indices.astype(jnp.int32), ends.astype(jnp.int32)
    each = delays if delays.ndim == 2 else jnp.broadcast_to(delays[:, None], shape)
    indices = jnp.tile(jnp.arange(columns, dtype=jnp.int32), rows)
    return data.reshape(-1), each.reshape(-1), indices, jnp.arange(rows + 1, dtype=jnp.int32) * columns


def input_spikes(times: Any, ids: Any, like: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return times and ids of spikes as arrays that fit."""
    when, who = as_array(times, "times"), as_array(ids, "ids")
    check_rank("times", when, 1, "a padded list of spikes")
    check_same_dtype("times", when, "weights", like)
    check_dtype("ids", who, INDICES)
    check_shape("ids", who, when.shape, why="one for each of times")
    # Of more bits than int32 has, ids out of range would come round to inputs.
    low = 0 if who.dtype.kind == "u" else -1
    return when, jnp.clip(who, low, np.iinfo(np.int32).max).astype(jnp.int32)


def constants(input_rows: int, dtype: Any, **neuron: Any) -> jax.Array:
    """Return the constants of all neurons as an array; raise unless they are numbers that make sense."""
    for name, x in neuron.items():
        if not isinstance(x, (int, float, np.number)) or isinstance(x, bool):
            raise TypeError(
                f"{name} is a {type(x).__name__}; expected a number: the times of neurons have no "
                "derivatives, as V_th, V_reset and E_L have"
            )
        with np.errstate(over="ignore"):
            check_positive(name, np.asarray(float(x)).astype(dtype), zero=name == "t_ref")
    shortest = min(neuron["tau_m"], neuron["tau_syn"])
    if neuron["dt"] > _STEPS_OF_TAU * shortest:
        raise ValueError(
            f"dt is {neuron['dt']}, and the shorter of tau_m and tau_syn {shortest}; expected at most "
            f"{_STEPS_OF_TAU} times that, since more decays in a step than can be undone: take more steps"
        )
    return of_run(neuron["dt"], input_rows, dtype, *(neuron[name] for name in _ORDER))


def of_run(dt: float, input_rows: int, dtype: Any, *others: float) -> Any:
    """Return dt, the number of input rows and other constants as an array; raise unless it holds them."""
    with np.errstate(over="ignore"):
        values: Any = np.array([dt, input_rows, *others], dtype)
    if int(values[1]) != input_rows:
        raise ValueError(
            f"weights has {input_rows} rows, a number that {values.dtype} does not have; expected at most "
            "2**24, or float64 weights"
        )
    return values


def potentials(
    V_th: Any, V_reset: Any, E_L: Any, V_m: Any, I_syn: Any, neurons: int, dtype: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return V_th and V_reset, first V and I, and E_L of all neurons; the first three counted from E_L.

    The first V is E_L and I is 0 unless given.
    """
    given = {"V_th": V_th, "V_reset": V_reset, "E_L": E_L, "V_m": E_L if V_m is None else V_m}
    given["I_syn"] = 0.0 if I_syn is None else I_syn
    th, reset, rest, first, current = (of_neurons(name, x, neurons, dtype) for name, x in given.items())
    known = {name: np.asarray(x) for name, x in given.items() if is_known(x)}
    levels = [known[name] for name in ("V_reset", "E_L") if name in known]
    is_below = "V_th" not in known or "V_reset" not in known or np.all(known["V_reset"] < known["V_th"])
    if not is_below or not all(np.all(np.isfinite(x)) for x in levels):
        raise ValueError(
            f"V_reset is {V_reset}, V_th {V_th} and E_L {E_L}; expected finite numbers, and V_reset < V_th"
        )
    if {"V_m", "V_th"} <= known.keys() and not np.all(known["V_m"] < known["V_th"]):
        raise ValueError(
            f"V_m, or E_L in its place, is or contains {known['V_m'].max()}; expected values < V_th = "
            f"{V_th}: a spike at the beginning has no derivative"
        )
    return jnp.stack([th - rest, reset - rest]), jnp.stack([first - rest, current]), rest


def of_neurons(name: str, x: Any, neurons: int, dtype: Any) -> jax.Array:
    """Return a number, or one for each neuron, as an array of all neurons; raise where it does not fit."""
    values = jnp.asarray(x, dtype) if isinstance(x, (int, float, np.number)) else as_array(x, name)
    check_shape(name, values, (), (neurons,), why="a number, or one for each neuron")
    if values.dtype != dtype:
        raise TypeError(f"{name} has dtype {values.dtype} and weights {dtype}; expected one dtype; cast one")
    return jnp.broadcast_to(values, neurons)
