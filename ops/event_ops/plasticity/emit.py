"""A rule as source of Python, which Numba compiles: what becomes of one synapse, and the kernel around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from event_ops.plasticity.primitives import EXPRESSIONS
from event_ops.plasticity.program import Operation, Program
from event_ops.plasticity.rule import ALL, OTHER, SPIKING, SYNAPSE, Rule


@dataclass(frozen=True)
class Storage:
    """How synapses are stored: what a kernel takes to find those of neurons that spiked.

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

_INDEX: Final = {SPIKING: "[spiking]", OTHER: "[other]", SYNAPSE: "[k]", ALL: ""}


def update_source(rule: Rule) -> str:
    """Return the function that changes synapse k, between the neuron that spiked and the other one."""
    arrays = [f"a{i}" for i in range(len(rule.places))]
    reads = [f"x{i} = a{i}{_INDEX[place]}" for i, place in enumerate(rule.places)]
    writes = [f"a{i}[k] = {result}" for i, result in enumerate(rule.program.results)]
    unpacked = [
        f"{_tuple(names)} = {source}"
        for names, source in ((arrays[: rule.count], "synapses"), (arrays[rule.count :], "variables"))
        if names
    ]
    body = [*unpacked, *reads, *assignments(rule.program), *writes]
    return _function("update", ["k", "spiking", "other", "synapses", "variables"], body)


def kernel_source(rule: Rule, storage: Storage) -> str:
    """Return the kernel, whose inputs and outputs are arrays: the outputs are the synapses' own memory."""
    olds, news = ([f"{letter}{i}" for i in range(rule.count)] for letter in "xy")
    variables = [f"x{i}" for i in range(rule.count, len(rule.places))]
    hoisted = _tuple([f"hoist({name})" for name in variables])
    call = f"visit({', '.join((_tuple(news), *storage.read, hoisted))})"
    return _function(storage.name, [*olds, *storage.structure, *variables, *news], [call])


def assignments(program: Program) -> list[str]:
    """Return a line for each operation; every result is cast, so that none is wider than JAX has it."""
    return [f"{operation.result} = {_expression(operation)}" for operation in program.operations]


def _expression(operation: Operation) -> str:
    cast = "np.bool_" if operation.dtype == "bool" else f"np.{operation.dtype}"
    template = EXPRESSIONS[operation.primitive]
    return f"{cast}({template.format(*operation.operands, cast=cast, one=f'{cast}(1)')})"


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _function(name: str, parameters: list[str], body: list[str]) -> str:
    return "\n    ".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"
