"""A rule as source of Python, which Numba or Warp compiles: what becomes of a synapse, and kernels of it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from event_ops.scalar_functions.function import OTHER, SPIKING, SYNAPSE, Rule
from event_ops.scalar_functions.primitives import NUMBA, Target
from event_ops.scalar_functions.program import Operation, Program


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


def changes(rule: Rule, target: Target) -> list[str]:
    """Return the lines that change synapse k of the arrays a0, a1, ... as the rule says."""
    reads = [f"x{i} = a{i}{_INDEX.get(place, target.only)}" for i, place in enumerate(rule.places)]
    writes = [f"a{i}[k] = {result}" for i, result in enumerate(rule.program.results)]
    lines = [*reads, *assignments(rule.program, target), *writes]
    # Dtypes are of NumPy in the program, and called the same elsewhere.
    return [line.replace("np.", f"{target.module}.") for line in lines]


def update_source(rule: Rule, target: Target = NUMBA) -> str:
    """Return the function that changes synapse k, between the neuron that spiked and the other one."""
    arrays = array_names(rule)
    unpacked = [
        f"{_tuple(names)} = {source}"
        for names, source in ((arrays[: rule.count], "synapses"), (arrays[rule.count :], "variables"))
        if names
    ]
    parameters = ["k", "spiking", "other", "synapses", "variables"]
    return function_source("update", parameters, [*unpacked, *changes(rule, target)])


def kernel_source(rule: Rule, storage: Storage, *more: str) -> str:
    """Return the kernel, whose inputs and outputs are arrays: the outputs are the synapses' own memory.

    It has `more` parameters before the outputs, which are for what visits the synapses.
    """
    arrays, news = array_names(rule), [f"y{i}" for i in range(rule.count)]
    hoisted = _tuple([f"hoist({name})" for name in arrays[rule.count :]])
    call = f"visit({', '.join((_tuple(news), *storage.read, hoisted, *more))})"
    parameters = [*arrays[: rule.count], *storage.structure, *arrays[rule.count :], *more, *news]
    return function_source(storage.name, parameters, [call])


def array_names(rule: Rule) -> list[str]:
    """Return the names of the arrays that the inputs of a rule are read from."""
    return [f"a{i}" for i in range(len(rule.places))]


def assignments(program: Program, target: Target) -> list[str]:
    """Return a line for each operation; every result is cast, so that none is wider than JAX has it."""
    return [f"{operation.result} = {_expression(operation, target)}" for operation in program.operations]


def _expression(operation: Operation, target: Target) -> str:
    dtype = operation.dtype
    cast = target.flag if dtype == "bool" else f"np.{dtype}"
    suffix = "f" * (dtype == "float32")
    named = {"cast": cast, "one": f"{cast}(1)", "f": suffix, "unsigned": f"np.u{dtype.removeprefix('u')}"}
    expression = target.expression_of(operation.primitive, dtype).format(*operation.operands, **named)
    return f"{cast}({expression})"


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def function_source(name: str, parameters: list[str], body: list[str]) -> str:
    """Return the source of a function."""
    return "\n    ".join([f"def {name}({', '.join(parameters)}):", *body]) + "\n"


def defined(source: str, name: str, **outside: Any) -> Any:
    """Return the function of a source, which calls what is `outside` by these names."""
    namespace = {"__name__": __name__, **outside}
    exec(compile(source, f"<{name} {sha256(source.encode()).hexdigest()[:16]}>", "exec"), namespace)
    return namespace[name]
