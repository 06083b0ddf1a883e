"""The source of a step on the CPU, of a run with a gradient or without: what a population's step takes."""

from collections.abc import Callable

from event_ops.codegen.function import ALL
from event_ops.network.plan import Plan


def seen(plan: Plan, p: int) -> list[str]:
    """Return the names of the arrays of observed values, which a run makes and does not return."""
    neuron = plan.populations[p].neuron
    return [f"seen{p}_{k}" for k in range(neuron.count - neuron.positional - 1)]


def value_lines(plan: Plan, p: int) -> list[str]:
    """Return the lines in front of all loops that name the values of parameters."""
    part = plan.populations[p]
    places = part.neuron.places[part.neuron.positional :]
    return [
        f"value{p}_{k} = {f'hoist(given{p}_{k})' if place == ALL else f'given{p}_{k}'}"
        for k, (receptor, place) in enumerate(zip(part.variables, places, strict=False))  # without noise
        if not receptor
    ]


def variables(plan: Plan, p: int, sums: Callable[[int], str]) -> list[str]:
    """Return the variables of a step but for noise: values of parameters, and `sums(k)` of receptors."""
    part = plan.populations[p]
    names = [f"value{p}_{k}" for k in range(len(part.variables))]
    for k, each in enumerate(plan.sums):
        if each.population == p and each.receptor in part.variables:
            names[part.variables.index(each.receptor)] = sums(k)
    return names
