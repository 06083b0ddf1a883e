"""The lines that steps forwards and backwards have in common: names of arrays, and one step of a sample."""

from collections.abc import Callable, Sequence
from typing import Final

from event_ops.codegen.emit import tuple_of
from event_ops.network.gradient.adjoint import has_surrogate
from event_ops.network.plan import Plan, Sums
from event_ops.network.step_source import seen, value_lines, variables

KIND: Final = {1: "dense", 3: "entries"}  # by the number of arrays of a matrix


def each_state(plan: Plan) -> list[tuple[int, int]]:
    """Return (population, place) of all states."""
    return [(p, k) for p, part in enumerate(plan.populations) for k in range(len(part.states))]


def matrix(q: int, count: int) -> str:
    """Return the tuple of the arrays of a matrix."""
    return tuple_of([f"matrix{q}_{k}" for k in range(count)])


def hoisted(plan: Plan, p: int) -> list[str]:
    """Return the lines in front of all loops: the size of a population, and what is one for all of it."""
    part = plan.populations[p]
    return [
        f"size{p}, lead{p} = kept{p}_0.shape[2], bits{p}.shape[1] - count",
        f"listed{p} = np.empty(bits{p}.shape[2] * 32, np.uint32)",
        f"spikes{p} = np.empty(size{p}, {f'kept{p}_0.dtype' if has_surrogate(part.neuron) else 'np.bool_'})",
        *(f"{x} = np.empty(size{p}, kept{p}_0.dtype)" for x in seen(plan, p)),
        *value_lines(plan, p),
    ]


def step_lines(
    plan: Plan,
    populations: Sequence[int],
    state: Callable[[int, int], str],
    sums: Callable[[int], str],
    *,
    is_first: bool,
) -> list[str]:
    """Return the lines of step s of sample b, at time `now`, for some populations.

    is_first: their spikes are written as bits; else these are known.
    """
    lines: list[str] = []
    for k, each in enumerate(plan.sums):
        if each.population in populations and not plan.is_state(each):
            lines += [f"{sums(k)}[:] = 0", *_added(each, sums(k))]
    for p in populations:
        part = plan.populations[p]
        states = [state(p, k) for k in range(len(part.states))]
        written = tuple_of([*states, f"stored_spikes(spikes{p})", *seen(plan, p)])
        taken = variables(plan, p, sums)
        lines.append(f"step{p}({written}, {tuple_of(taken) if taken else '()'}, 0, size{p})")
        lines += [f"pack(spikes{p}, bits{p}[b, lead{p} + s])"] if is_first else []
    for each in plan.sums:
        if plan.is_state(each) and each.population in populations:
            place = plan.populations[each.population].states.index(each.receptor)
            lines += _added(each, state(each.population, place))
    return lines


def _added(sums: Sums, y: str) -> list[str]:
    values = [
        f"add_values(values{m}[min(b, values{m}.shape[0] - 1)], hold{m}[0], s, {y}, 0, size{sums.population})"
        for m, _ in sums.inputs
    ]
    return values + [
        f"deliver_{KIND[count]}({matrix(q, count)}, ages{q}, bits{source}[b], lead{source} + s, now, "
        f"listed{source}, size{source}, {y})"
        for q, source, count in sums.projections
    ]
