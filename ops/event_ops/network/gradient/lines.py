"""The lines of a step backwards: of its adjoint, and of the transposes of what it delivers and records."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from event_ops.codegen.emit import tuple_of
from event_ops.network.gradient.adjoint import float_states, has_surrogate
from event_ops.network.gradient.source import KIND, each_state, hoisted, matrix
from event_ops.network.plan import Plan
from event_ops.network.step_source import variables


class Wanted(NamedTuple):
    """Hold the names of arrays whose derivatives are wanted, with whether each sample has one of its own."""

    names: tuple[tuple[str, bool], ...]

    def place(self, name: str) -> str:
        """Return the array to which a share adds the derivative in an array, or "" if none is wanted."""
        return next((f"d_{x}[{'b' if each else 'share'}]" for x, each in self.names if x == name), "")


def float_places(plan: Plan) -> list[tuple[int, int]]:
    """Return (population, place) of the states with derivatives."""
    return [(p, k) for p, part in enumerate(plan.populations) for k in float_states(part.neuron)]


def float_traces(plan: Plan) -> list[int]:
    """Return which records have derivatives."""
    floats, found = float_places(plan), []
    for r, (p, key) in enumerate(plan.recorded):
        states = plan.populations[p].states
        if key not in states or (p, states.index(key)) in floats:
            found.append(r)
    return found


def _ring(k: int) -> str:
    return f"ring{k}[c, s % ring{k}.shape[1]]"


@dataclass(frozen=True)
class Backwards:
    """Write the lines of a plan for the derivatives that are wanted."""

    plan: Plan
    wanted: Wanted

    @cached_property
    def live(self) -> frozenset[int]:
        """Return the populations that a wanted derivative passes: all others stand still."""
        plan, wanted = self.plan, self.wanted
        live = {
            p
            for p, part in enumerate(plan.populations)
            if any(wanted.place(f"init{p}_{k}") for k in range(len(part.states)))
            or any(wanted.place(f"given{p}_{k}") for k in range(len(part.variables)))
        }
        for sums in plan.sums:
            names = [f"values{m}" for m, _ in sums.inputs] + [f"matrix{q}_0" for q, _, _ in sums.projections]
            live |= {sums.population} if any(map(wanted.place, names)) else set()
        while True:
            more = {
                sums.population
                for sums in plan.sums
                for _, source, _ in sums.projections
                if source in live and self._is_smooth(source)
            }
            if more <= live:
                return frozenset(live)
            live |= more

    @property
    def states(self) -> list[tuple[int, int]]:
        """Return (population, place) of the states that are recomputed."""
        return [(p, k) for p, k in each_state(self.plan) if p in self.live]

    def _is_smooth(self, p: int) -> bool:
        return has_surrogate(self.plan.populations[p].neuron)

    def active(self, p: int) -> tuple[int, ...]:
        """Return which inputs of a step, behind its states, have derivatives: receptors, and wanted ones."""
        part = self.plan.populations[p]
        first = part.neuron.positional
        return tuple(
            first + k for k, x in enumerate(part.variables) if x or self.wanted.place(f"given{p}_{k}")
        )

    def hoisted(self) -> list[str]:
        """Return the lines in front of all loops."""
        return [line for p in range(len(self.plan.populations)) for line in hoisted(self.plan, p)]

    def scratch(self, p: int) -> list[str]:
        """Return the lines that make the arrays of a thread for a population."""
        part = self.plan.populations[p]
        given = [k for k, x in enumerate(part.variables) if not x and self.wanted.place(f"given{p}_{k}")]
        return [
            *(f"work{p}_{k} = np.empty(size{p}, kept{p}_{k}.dtype)" for k in range(len(part.states))),
            *(f"part{p}_{k} = np.empty(size{p}, kept{p}_0.dtype)" for k in given),
        ]

    def of_block(self, p: int) -> list[str]:
        """Return the lines that make the arrays of a block of samples for a population."""
        part = self.plan.populations[p]
        lines = [
            f"old{p}_{k} = np.empty((block, segment, size{p}), kept{p}_{k}.dtype)"
            for k in range(len(part.states))
        ]
        lines += [f"back{p}_{k} = c_state{p}_{k}[low:high].copy()" for k in float_states(part.neuron)]
        for k, sums in enumerate(self.plan.sums):
            if sums.population != p:
                continue
            ages = [f"ages{q}.max() + 1" for q, _, _ in sums.projections]
            rows = f"segment + max({', '.join(['0', *ages])})" if ages else "1"
            lines.append(
                f"ring{k} = in_lines(block * ({rows}) * size{p}, kept{p}_0).reshape((block, -1, size{p}))"
            )
            if not self.plan.is_state(sums):
                lines.append(
                    f"sums{k} = in_lines(block * segment * size{p}, kept{p}_0).reshape((block, -1, size{p}))"
                )
        if self._is_smooth(p):
            lines += [
                f"d_spikes{p} = np.empty((block, size{p}), kept{p}_0.dtype)",
                f"reached{p} = np.empty((block, size{p}), np.bool_)",
            ]
        return lines

    def recorded(self) -> list[str]:
        """Return the lines that begin with the cotangents of what is recorded behind a step."""
        lines = [f"d_spikes{p}[c] = 0" for p in sorted(self.live) if self._is_smooth(p)]
        for r in float_traces(self.plan):
            p, key = self.plan.recorded[r]
            states, row = self.plan.populations[p].states, f"chosen{r}, c_trace{r}[b, s // every])"
            if p in self.live and key in states:
                lines += ["if (s + 1) % every == 0:", f"    add_at(back{p}_{states.index(key)}[c], {row}"]
            elif p in self.live and self._is_smooth(p):
                lines.append(f"add_at(d_spikes{p}[c], {row}")
        return lines

    def arrived(self) -> list[str]:
        """Return the lines for what arrived in states, behind the step."""
        lines: list[str] = []
        for k, sums in enumerate(self.plan.sums):
            if self.plan.is_state(sums) and sums.population in self.live:
                place = self.plan.populations[sums.population].states.index(sums.receptor)
                lines += [f"{_ring(k)}[:] = back{sums.population}_{place}[c]", *self._values(k)]
        return lines

    def _values(self, k: int) -> list[str]:
        """Return the lines that add to the derivatives in values of inputs."""
        found = [(m, self.wanted.place(f"values{m}")) for m, _ in self.plan.sums[k].inputs]
        return [f"add_to({place}[s // hold{m}[0]], {_ring(k)})" for m, place in found if place]

    def _inputs(self, p: int) -> list[str]:
        """Return what the step took."""
        old = [f"old{p}_{k}[c, t]" for k in range(len(self.plan.populations[p].states))]
        return [*old, *variables(self.plan, p, lambda k: f"sums{k}[c, t]")]

    def reached(self, p: int) -> list[str]:
        """Return the line that finds the neurons through whose spikes derivatives pass, if that is asked."""
        sends = any(source == p for sums in self.plan.sums for _, source, _ in sums.projections)
        if not (sends and self._is_smooth(p)):
            return []
        return [f"reach{p}((stored_spikes(reached{p}[c]),), {tuple_of(self._inputs(p))}, 0, size{p})"]

    def adjoint(self, p: int) -> list[str]:
        """Return the lines of the adjoint of a step, and of what arrived in variables."""
        part = self.plan.populations[p]
        written = [f"back{p}_{k}[c]" for k in float_states(part.neuron)]
        after: list[str] = []
        for place in self.active(p):
            v = place - part.neuron.positional
            if part.variables[v]:
                k = [(x.population, x.receptor) for x in self.plan.sums].index((p, part.variables[v]))
                written.append(_ring(k))
                after += self._values(k)
            else:
                written.append(f"part{p}_{v}")
                after.append(f"add_to({self.wanted.place(f'given{p}_{v}')}, part{p}_{v})")
        taken = [*self._inputs(p), *([f"d_spikes{p}[c]"] if self._is_smooth(p) else [])]
        return [f"adjoint{p}({tuple_of(written)}, {tuple_of(taken)}, 0, size{p})", *after]

    def to_spikes(self) -> list[str]:
        """Return the lines that add what arrived through weights to the cotangents of spikes."""
        return [
            f"{KIND[count]}_to_spikes({matrix(q, count)}, ages{q}, s, ring{k}, count, reached{source}, "
            f"listed{source}, d_spikes{source})"
            for k, sums in enumerate(self.plan.sums)
            for q, source, count in sums.projections
            if {source, sums.population} <= self.live and self._is_smooth(source)
        ]

    def to_weights(self, p: int, first: str, span: str) -> list[str]:
        """Return the lines that add to derivatives in weights for the spikes of some steps of a population"""
        is_own = dict(self.wanted.names)
        found = [
            (k, q, count, is_own[f"matrix{q}_0"])
            for k, sums in enumerate(self.plan.sums)
            for q, source, count in sums.projections
            if source == p and f"matrix{q}_0" in is_own
        ]
        if not found:
            return []
        row = f"lead{p} + {first}"
        return [
            f"starts, places, chosen = by_neuron(bits{p}, low, block, {row}, {span}, listed{p}, size{p})",
            *(
                f"{KIND[count]}_to_weights({matrix(q, count)}, ages{q}, starts, places, chosen, {first}, "
                f"ring{k}.reshape((-1, ring{k}.shape[2])), ring{k}.shape[1], count, d_matrix{q}_0, "
                f"{'low, 1' if own else 'share, 0'})"
                for k, q, count, own in found
            ),
        ]
