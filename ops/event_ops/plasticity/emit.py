"""A rule as source of Python, which Numba or Warp compiles: what becomes of a synapse, and kernels of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from event_ops.scalar_functions.emit import array_names, assignments, function_source, spelled, tuple_of
from event_ops.scalar_functions.function import Traced
from event_ops.scalar_functions.primitives import NUMBA, Target

# Where an input of a rule is read for an entry, if it is not one for all: at the neuron that spiked, at the
# one at the other end of the synapse, or at the synapse.
SPIKING, OTHER, SYNAPSE = "spiking", "other", "synapse"


@dataclass(frozen=True)
class Storage:
    """Say how synapses are stored: what a kernel takes to find those of neurons that spiked.

    Args:
        name: of the kernel.
        structure: its parameters between the synapses and the variables.
        read: these, as the function gets them that visits the synapses.
    """

    name: str
    structure: tuple[str, ...]
    read: tuple[str, ...]


ROWS: Final = Storage(
    "plasticity_on_pre",
    ("ids", "indptr", "spikes", "limit"),
    ("ids", "indptr", "None", "spikes", "hoist(limit)"),
)
COLUMNS: Final = Storage(
    "plasticity_on_post",
    ("ids", "indptr", "permutation", "spikes", "limit"),
    ("ids", "indptr", "permutation", "spikes", "hoist(limit)"),
)
DENSE_ROWS: Final = Storage("plasticity_on_pre_dense", ("spikes",), ("spikes",))
DENSE_COLUMNS: Final = Storage("plasticity_on_post_dense", ("spikes",), ("spikes",))
STORAGES: Final = {x.name: x for x in (ROWS, COLUMNS, DENSE_ROWS, DENSE_COLUMNS)}

_INDEX: Final = {SPIKING: "[spiking]", OTHER: "[other]", SYNAPSE: "[k]"}


def changes(rule: Traced, target: Target) -> list[str]:
    """Return the lines that change synapse k of the arrays a0, a1, ... as the rule says."""
    reads = [f"x{i} = a{i}{_INDEX.get(place, target.only)}" for i, place in enumerate(rule.places)]
    writes = [f"a{i}[k] = {result}" for i, result in enumerate(rule.program.results)]
    return spelled([*reads, *assignments(rule.program.operations, target), *writes], target)


def update_source(rule: Traced, target: Target = NUMBA) -> str:
    """Return the function that changes synapse k, between the neuron that spiked and the other one."""
    arrays = array_names(rule)
    unpacked = [
        f"{tuple_of(names)} = {source}"
        for names, source in ((arrays[: rule.count], "synapses"), (arrays[rule.count :], "variables"))
        if names
    ]
    parameters = ["k", "spiking", "other", "synapses", "variables"]
    return function_source("update", parameters, [*unpacked, *changes(rule, target)])


def kernel_source(rule: Traced, storage: Storage, *more: str) -> str:
    """Return the kernel, whose inputs and outputs are arrays: the outputs are the synapses' own memory.

    It has `more` parameters before the outputs, which are for what visits the synapses.
    """
    arrays, news = array_names(rule), [f"y{i}" for i in range(rule.count)]
    hoisted = tuple_of([f"hoist({name})" for name in arrays[rule.count :]])
    call = f"visit({', '.join((tuple_of(news), *storage.read, hoisted, *more))})"
    parameters = [*arrays[: rule.count], *storage.structure, *arrays[rule.count :], *more, *news]
    return function_source(storage.name, parameters, [call])
