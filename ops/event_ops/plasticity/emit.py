"""A rule as source of Python, which Numba or Warp compiles: what becomes of a synapse, and kernels of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from event_ops.codegen.emit import array_names, assignments, function_source, spelled, tuple_of
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.primitives import NUMBA, Target

# Where an input of a rule is read for an entry, if it is not one for all: at the neuron that spiked, at the
# one at the other end of the synapse, or at the synapse.
SPIKING, OTHER, SYNAPSE = "spiking", "other", "synapse"


@dataclass(frozen=True)
class Storage:
    """Say how synapses are stored: what a kernel takes to find those of neurons that spiked.

    Args:
        name: of the kernel.
        reference: the function that builds it in pure JAX.
        structure: its parameters between the synapses and the variables.
        read: these, as the function gets them that visits the synapses.
    """

    name: str
    reference: str
    structure: tuple[str, ...]
    read: tuple[str, ...]


ROWS: Final = Storage(
    "plasticity_on_pre",
    "along_rows",
    ("ids", "indptr", "spikes", "limit"),
    ("ids", "indptr", "None", "spikes", "hoist(limit)"),
)
COLUMNS: Final = Storage(
    "plasticity_on_post",
    "along_columns",
    ("ids", "indptr", "permutation", "spikes", "limit"),
    ("ids", "indptr", "permutation", "spikes", "hoist(limit)"),
)
DENSE_ROWS: Final = Storage("plasticity_on_pre_dense", "along_dense_rows", ("spikes",), ("spikes",))
DENSE_COLUMNS: Final = Storage("plasticity_on_post_dense", "along_dense_columns", ("spikes",), ("spikes",))
STORAGES: Final = {x.name: x for x in (ROWS, COLUMNS, DENSE_ROWS, DENSE_COLUMNS)}

_INDEX: Final = {SPIKING: "[spiking]", OTHER: "[other]", SYNAPSE: "[k]"}


def changes(rule: Traced, target: Target) -> list[str]:
    """Return the lines that change synapse k of the arrays a0, a1, ... as the rule says."""
    reads = [f"x{i} = a{i}{_INDEX.get(place, target.only)}" for i, place in enumerate(rule.places)]
    writes = [f"a{i}[k] = {result}" for i, result in enumerate(rule.program.results)]
    return spelled([*reads, *assignments(rule.program.operations, target), *writes], target)


def update_source(rule: Traced, target: Target = NUMBA) -> str:
    """Return the function that changes synapse k, between the neuron that spiked and the other one."""
    parameters = ["k", "spiking", "other", "synapses", "variables"]
    synapses, variables = _unpacked(rule)
    return function_source("update", parameters, [*synapses, *variables, *changes(rule, target)])


def block_sources(rule: Traced, varying: str, target: Target = NUMBA) -> dict[str, str]:
    """Return the functions that copy synapse k to place q of a block, change it there, and copy it back.

    A block has room for all that is read of a synapse, in the dtype of the synapses; flags are numbers there.
    varying: which neuron differs from synapse to synapse of a block, SPIKING or OTHER; they share the other.
    """
    copied = [i for i, place in enumerate(rule.places) if place in (varying, SYNAPSE)]
    at = {i: f"block[np.uintp({position}) * AT_ONCE + q]" for position, i in enumerate(copied)}
    reads = [
        f"x{i} = {at[i]}{' != 0' * (dtype == 'bool')}"
        if i in at
        else f"x{i} = a{i}{'[shared]' * (place != ALL)}"
        for i, (place, dtype) in enumerate(zip(rule.places, rule.dtypes, strict=True))
    ]
    loads = [f"{at[i]} = a{i}[{'k' if rule.places[i] == SYNAPSE else 'neuron'}]" for i in copied]
    writes = [f"{at[i]} = {result}" for i, result in enumerate(rule.program.results)]
    stores = [f"a{i}[k] = {at[i]}" for i in range(rule.count)]
    synapses, variables = _unpacked(rule)
    bodies = {
        "load": ("q, k, neuron, synapses, variables, block", [*synapses, *variables, *loads]),
        "change": (
            "q, shared, variables, block",
            [*variables, *reads, *assignments(rule.program.operations, target), *writes],
        ),
        "store": ("q, k, synapses, block", [*synapses, *stores]),
    }
    return {name: function_source(name, [parameters], body) for name, (parameters, body) in bodies.items()}


def kernel_source(rule: Traced, storage: Storage, *more: str) -> str:
    """Return the kernel, whose inputs and outputs are arrays: the outputs are the synapses' own memory.

    It has `more` parameters before the outputs, which are for what visits the synapses.
    """
    arrays, news = array_names(rule), [f"y{i}" for i in range(rule.count)]
    synapses, hoisted = (tuple_of([f"hoist({x})" for x in names]) for names in (news, arrays[rule.count :]))
    call = f"visit({', '.join((synapses, *storage.read, hoisted, *more))})"
    parameters = [*arrays[: rule.count], *storage.structure, *arrays[rule.count :], *more, *news]
    return function_source(storage.name, parameters, [call])


def _unpacked(rule: Traced) -> tuple[list[str], list[str]]:
    """Return the lines that name the arrays of synapses, and of variables, of which there may be none."""
    arrays = array_names(rule)
    variables = [f"{tuple_of(names)} = variables" for names in (arrays[rule.count :],) if names]
    return [f"{tuple_of(arrays[: rule.count])} = synapses"], variables
