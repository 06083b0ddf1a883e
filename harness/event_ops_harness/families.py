"""Operators by family: one belongs to the first whose tags it has one of."""

from __future__ import annotations

from collections.abc import Iterable

from event_ops.discover import Operator

FAMILIES = {
    "Neurons and synapses": ("neuron", "synapse"),
    "Traces and plasticity": ("trace", "plasticity"),
    "Spikes, and products with them": ("event-driven",),
    "Sparse matrices": ("sparse", "structure"),
    "Scatter and segments": ("scatter", "segment"),
}
OTHERS = "Others"


def by_family(operators: Iterable[Operator]) -> dict[str, list[Operator]]:
    """Family -> its operators; families without any are left out."""
    found: dict[str, list[Operator]] = {family: [] for family in (*FAMILIES, OTHERS)}
    for operator in operators:
        found[_family_of(operator)].append(operator)
    return {family: members for family, members in found.items() if members}


def _family_of(operator: Operator) -> str:
    return next((family for family, tags in FAMILIES.items() if operator.kernel.tags & set(tags)), OTHERS)
