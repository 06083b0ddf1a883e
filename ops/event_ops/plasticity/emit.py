"""Rules as functions of Python, which Numba or Warp compiles: of one synapse, of a block, and kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from event_ops.codegen.emit import array_names, defined, function_lines, tuple_of
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.primitives import Target

# Where an input of a rule is read for an entry, if it is not one for all: at the neuron that spiked, at the
# one at the other end of the synapse, or at the synapse.
SPIKING, OTHER, SYNAPSE = "spiking", "other", "synapse"


@dataclass(frozen=True)
class Storage:
    """Say how synapses are stored: the arrays in which kernels find the synapses of neurons that spiked.

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
    reads = [f"a{i}{_INDEX.get(place, target.only)}" for i, place in enumerate(rule.places)]
    return function_lines(rule, target, reads, [f"a{i}[k]" for i in range(rule.count)])


def update(rule: Traced, target: Target, **outside: Any) -> Any:
    """Return the function that changes synapse k of the neuron that spiked."""
    parameters = ["k", "spiking", "other", "synapses", "variables"]
    return defined("update", parameters, [*_unpacked(rule), *changes(rule, target)], **outside)


def block_functions(
    rule: Traced, sources: Mapping[int, str], taken: Sequence[str], target: Target, **outside: Any
) -> tuple[Any, Any, Any]:
    """Return the functions that copy a synapse to place q of a block, change it there, and copy it back.

    A block has room for all that differs from synapse to synapse, in the dtype of the synapses; flags are
    numbers there. Inputs in other places are read at the neuron `shared`.

    sources: where each such input is, by its number; taken: the names from which these are computed.
    """
    at = {i: f"block[np.uintp({position}) * AT_ONCE + q]" for position, i in enumerate(sources)}
    reads = [
        f"{at[i]}{' != 0' * (dtype == 'bool')}" if i in at else f"a{i}{'[shared]' * (place != ALL)}"
        for i, (place, dtype) in enumerate(zip(rule.places, rule.dtypes, strict=True))
    ]
    loads = [f"{at[i]} = {source}" for i, source in sources.items()]
    stores = [f"a{i}[k] = {at[i]}" for i in range(rule.count)]
    change = function_lines(rule, target, reads, [at[i] for i in range(rule.count)])
    synapses, *variables = _unpacked(rule)
    names = ["q", *taken, "synapses", "variables", "block"]
    return (
        defined("load", names, [synapses, *variables, *loads], **outside),
        defined("change", ["q", "shared", "variables", "block"], [*variables, *change], **outside),
        defined("store", ["q", "k", "synapses", "block"], [synapses, *stores], **outside),
    )


def sources_in_rows(rule: Traced, varying: str) -> dict[int, str]:
    """Return the sources of a block of synapses k along a row, of which each has a neuron on one side.

    varying: this side, SPIKING or OTHER; they share the other.
    """
    index = {SYNAPSE: "[k]", varying: "[neuron]"}
    return {i: f"a{i}{index[place]}" for i, place in enumerate(rule.places) if place in index}


def kernel_function(rule: Traced, storage: Storage, *more: str, **outside: Any) -> Any:
    """Return the kernel, whose inputs and outputs are arrays: the outputs are the synapses' own memory.

    It has `more` parameters before the outputs, which are for what visits the synapses.
    """
    arrays, news = array_names(rule), [f"y{i}" for i in range(rule.count)]
    synapses, hoisted = (tuple_of([f"hoist({x})" for x in names]) for names in (news, arrays[rule.count :]))
    call = f"visit({', '.join((synapses, *storage.read, hoisted, *more))})"
    parameters = [*arrays[: rule.count], *storage.structure, *arrays[rule.count :], *more, *news]
    return defined(storage.name, parameters, [call], **outside)


def _unpacked(rule: Traced) -> list[str]:
    """Return the lines that name the arrays of synapses, and of variables, of which there may be none."""
    arrays = array_names(rule)
    variables = [f"{tuple_of(names)} = variables" for names in (arrays[rule.count :],) if names]
    return [f"{tuple_of(arrays[: rule.count])} = synapses", *variables]
